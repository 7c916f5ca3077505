package dynamo_test

import (
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/testing/dynamotest"
)

// largestMemory is as large as the HTTP API accepts.
func largestMemory() longterm.Memory {
	return longterm.Memory{
		Type: longterm.ProfileMemory, Content: strings.Repeat("😀", 8000), Source: longterm.Seeded,
		MessageIDs: []string{strings.Repeat("x", 16<<10)}, SupersededBy: "",
	}
}

// TestLiveMemoriesAreBoundedInBytes writes and enlarges memories until no more fit. What a prompt reads stays bounded,
// and the safety fact stays among it.
func TestLiveMemoriesAreBoundedInBytes(t *testing.T) {
	t.Parallel()
	s := dynamotest.New(t)
	create := func(m longterm.Memory) (longterm.Memory, error) {
		stored, _, err := s.Memories.Create(t.Context(), alice, m, noKey)
		return stored, err
	}
	safety, err := create(longterm.Memory{Content: "allergic to nuts", Pinned: true})
	check.OK(t, err)
	isBounded := func() {
		t.Helper()
		snap := check.Got(s.PromptSource.LongTerm(t.Context(), alice))(t)
		bytes, safe := 0, false
		for _, m := range snap.Memories {
			bytes += len(m.Content) + len(strings.Join(m.MessageIDs, ""))
			safe = safe || m.ID == safety.ID
		}
		if bytes > 256<<10 || len(snap.Memories) < 2 || !safe {
			t.Fatalf("%d live memories take %d bytes, the safety fact among them: %v", len(snap.Memories), bytes, safe)
		}
	}
	for range 6 {
		check.Got(create(largestMemory()))(t)
		isBounded()
	}
	for range 6 {
		small, err := create(longterm.Memory{Content: "x", Source: longterm.Seeded})
		check.OK(t, err)
		_, err = s.Memories.Update(t.Context(), alice, small.ID, func(m *longterm.Memory) error {
			m.Content = largestMemory().Content
			return nil
		})
		check.OK(t, err)
		isBounded()
	}
	pinned := largestMemory()
	pinned.Pinned = true
	for range 12 {
		if _, err = create(pinned); err != nil {
			break
		}
	}
	checkFault(t, err, fault.Conflict, "more pinned memories than can be live")
	isBounded()
}

// TestLargeRecordsBecomePastInSteps writes a memory beside 25 large ones that are no longer valid, as they could be
// stored before their size was bounded. They do not fit in one transaction.
func TestLargeRecordsBecomePastInSteps(t *testing.T) {
	t.Parallel()
	table := dynamotest.Table(t)
	s := dynamotest.Open(t, table, dynamotest.FixedClock())
	text := func(v string) types.AttributeValue { return &types.AttributeValueMemberS{Value: v} }
	number := func(v string) types.AttributeValue { return &types.AttributeValueMemberN{Value: v} }
	for i := range 25 {
		id := conversation.NewID("memory", start, strings.NewReader(strings.Repeat(string(rune('a'+i)), 10)))
		dynamotest.Put(t, table, alice, "ltm#memory#"+id, map[string]types.AttributeValue{
			"content": text(strings.Repeat("😀", 55_000)), "version": number("1"), "generation": number("0"),
			"validUntil": text(conversation.FormatTime(start.Add(-time.Hour))), "type": text("PROFILE"),
		})
	}
	for range 10 {
		if _, _, err := s.Memories.Create(t.Context(), alice, longterm.Memory{Content: "new"}, noKey); err != nil {
			t.Fatal(err)
		}
	}
	live := 0
	for _, sk := range dynamotest.Keys(t, table, alice) {
		if strings.HasPrefix(sk, "ltm#memory#") {
			live++
		}
	}
	if live != 10 {
		t.Errorf("%d records are live, want the 10 new ones", live)
	}
}

// TestCoachesAreBoundedInBytes stores large personas until no more fit.
func TestCoachesAreBoundedInBytes(t *testing.T) {
	t.Parallel()
	s := dynamotest.New(t)
	persona := strings.Repeat("😀", 32_000)
	for _, id := range []string{"a", "b", "c", "d", "a"} {
		check.Got(s.Coaches.PutCoach(t.Context(), alice, longterm.Coach{ID: id, Persona: persona}))(t)
	}
	err := errorOf(s.Coaches.PutCoach(t.Context(), alice, longterm.Coach{ID: "e", Persona: persona}))
	checkFault(t, err, fault.Conflict, "a coach that does not fit")
	if err := errorOf(s.Coaches.PutCoach(t.Context(), alice, longterm.Coach{ID: "e", Name: "Mia"})); err != nil {
		t.Errorf("a small coach: %v", err)
	}
}
