package recall_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/recall"
	"github.com/throughline/throughline/internal/testing/check"
)

// facts stores facts of a user.
func (s *fixture) facts(all ...longterm.Memory) {
	s.t.Helper()
	for _, m := range all {
		if m.Type == "" {
			m.Type = longterm.ProfileMemory
		}
		if m.Source == "" {
			m.Source = longterm.Seeded
		}
		s.remember("ann", m)
	}
}

// found returns the contents of the facts that a search finds, best first.
func (s *fixture) found(q recall.MemoryQuery) []string {
	s.t.Helper()
	got, err := s.Memories(s.t.Context(), "ann", q)
	check.OK(s.t, err)
	var contents []string
	for _, m := range got.Records {
		contents = append(contents, m.Memory.Content)
	}
	return contents
}

// TestMemories finds facts by types, at times, and while the index does not answer.
func TestMemories(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	before := s.now.Add(-30 * 24 * time.Hour)
	const (
		oslo, bergen = "The user works in Oslo.", "The user works in Bergen."
		sister       = "The user's sister Ana lives in Porto."
		race         = "The user trains for the Bergen City Marathon."
		visit        = "Ana visits the user."
		bread        = "The user bakes bread."
		rye          = "The user bakes rye bread."
	)
	s.facts(
		longterm.Memory{Content: oslo, CreatedAt: before, ValidUntil: s.now.Add(-10 * 24 * time.Hour), SaidAt: before},
		longterm.Memory{Content: bergen, CreatedAt: s.now.Add(-10 * 24 * time.Hour), Source: longterm.Extracted},
		longterm.Memory{Content: sister, Type: longterm.PeopleMemory, CreatedAt: before},
		longterm.Memory{Content: race, Type: longterm.ProjectMemory, CreatedAt: before},
		longterm.Memory{
			Content: visit, Type: longterm.PeopleMemory, CreatedAt: before,
			Until: longterm.Moment{Day: "2020-01-01"},
		},
		longterm.Memory{Content: bread, CreatedAt: before},
		longterm.Memory{Content: rye, CreatedAt: before, Status: longterm.Waiting},
	)
	one, work := 1, "Where does the user work?"
	tests := map[string]struct {
		q    recall.MemoryQuery
		want []string // the best, in order, and the others that must not be there
		not  []string
	}{
		"now": {recall.MemoryQuery{Query: work}, []string{bergen}, []string{oslo, visit}},
		"as of then": {
			recall.MemoryQuery{Query: work, AsOf: s.now.Add(-20 * 24 * time.Hour)}, []string{oslo}, []string{bergen},
		},
		"of a type": {
			recall.MemoryQuery{Query: "Bergen", Types: []string{"PROJECT"}}, []string{race}, []string{bergen, sister},
		},
		"limited":    {recall.MemoryQuery{Query: work, Limit: &one}, []string{bergen}, []string{bread, race}},
		"a sister":   {recall.MemoryQuery{Query: "Where does Ana live?"}, []string{sister}, []string{visit}},
		"with ended": {recall.MemoryQuery{Query: "Ana visits", IncludeEnded: true}, []string{visit}, nil},
		"before all": {
			recall.MemoryQuery{Query: work, AsOf: before.Add(-time.Hour), IncludeEnded: true}, nil, []string{oslo},
		},
		"another matter": {recall.MemoryQuery{Query: "bread"}, []string{bread}, []string{rye}},
		"not reviewed":   {recall.MemoryQuery{Query: "rye bread", IncludeEnded: true}, nil, []string{rye}},
	}
	check := func(t *testing.T) {
		t.Helper()
		for name, tt := range tests {
			got := s.found(tt.q)
			if len(got) < len(tt.want) || !slices.Equal(got[:len(tt.want)], tt.want) {
				t.Errorf("%s: found %q, want %q first", name, got, tt.want)
			}
			for _, no := range tt.not {
				if slices.Contains(got, no) {
					t.Errorf("%s: found %q", name, no)
				}
			}
		}
	}
	check(t)
	s.index.fault = func(context.Context) error { return errors.New("down") }
	check(t)
	got, err := s.Memories(t.Context(), "ann", recall.MemoryQuery{Query: work})
	if err != nil || len(got.Degraded) != 1 || got.Records[0].Score <= got.Records[len(got.Records)-1].Score {
		t.Errorf("without the index: %+v, %v", got, err)
	}
	s.prefer("ann", func(p *preferences) { p.Memory = false })
	if got := s.found(recall.MemoryQuery{Query: work}); slices.Contains(got, bergen) || !slices.Contains(got, bread) {
		t.Errorf("without memory: %q", got)
	}
}

// TestFactsOfAnUnsharedContext has facts that were drawn from a context which keeps to itself, from another one, and
// from both.
func TestFactsOfAnUnsharedContext(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	shared := s.add("ann", "coach_conversation", "a", time.Hour, "I bake bread")[0].ID
	diary := s.add("ann", "workout_log", "b", time.Hour, "My bread is my secret")[0].ID
	const heard, secret, both = "Bakes bread.", "Hides bread.", "Eats bread."
	const allergy, own = "Bread is dangerous.", "No bread."
	said := s.now.Add(-time.Hour)
	drawn := func(content string, isPinned bool, from ...string) longterm.Memory {
		return longterm.Memory{
			Content: content, Source: longterm.Extracted, Pinned: isPinned, MessageIDs: from, CreatedAt: said,
		}
	}
	s.facts(drawn(heard, false, shared), drawn(secret, false, diary), drawn(both, false, shared, diary),
		drawn(allergy, true, shared, diary), longterm.Memory{Content: own, CreatedAt: said})
	for name, want := range map[string][]string{
		"":            {heard, secret, both, allergy, own},
		"workout_log": {heard, allergy, own},
	} {
		s.prefer("ann", func(p *preferences) { p.Unshared = map[string]bool{name: name != ""} })
		check.Same(t, sorted(want), sorted(s.found(recall.MemoryQuery{Query: "bread"})), "without %q", name)
		got := s.records(recall.RecordQuery{
			MessageQuery: recall.MessageQuery{Query: "bread"}, Kinds: []string{recall.MemoryKind},
		})
		if len(got) != len(want) {
			t.Errorf("without %q: %q", name, got)
		}
	}
}

// TestFactsPastTheBound has more facts than are live. Those that still hold are found, and those that have ended are
// not, as among the live ones.
func TestFactsPastTheBound(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	diary := s.add("ann", "workout_log", "b", time.Hour, "My cello is my secret")[0].ID
	const cello, sold, secret = "Plays the cello.", "Owns a cello.", "Hides the cello."
	old := s.now.Add(-time.Hour)
	s.facts(
		longterm.Memory{Content: cello, CreatedAt: old},
		longterm.Memory{Content: sold, CreatedAt: old, ValidUntil: old.Add(time.Minute)},
		longterm.Memory{Content: secret, CreatedAt: old, Source: longterm.Extracted, MessageIDs: []string{diary}},
	)
	const bound = 200
	for i := range bound {
		m := longterm.Memory{Type: longterm.ProfileMemory, Source: longterm.Seeded, Content: fmt.Sprint("Likes dish ", i)}
		if _, _, err := s.store.Memories.Create(t.Context(), "ann", m, conversation.Idempotency{}); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string][]string{"": {cello, secret}, "workout_log": {cello}} {
		s.prefer("ann", func(p *preferences) { p.Unshared = map[string]bool{name: name != ""} })
		two := 2
		facts := s.found(recall.MemoryQuery{Query: "cello", Limit: &two})
		records := s.records(recall.RecordQuery{
			MessageQuery: recall.MessageQuery{Query: "cello", Limit: &two}, Kinds: []string{recall.MemoryKind},
		})
		for _, got := range [][]string{facts, records} {
			got = slices.DeleteFunc(got, func(fact string) bool { return !strings.Contains(fact, "cello") })
			for i := range got {
				got[i] = strings.TrimPrefix(got[i], "memory ")
			}
			check.Same(t, sorted(want), sorted(got), "without %q", name)
		}
	}
}

// TestMemoriesOfNothing refuses a search for nothing, and finds nothing for a user without facts.
func TestMemoriesOfNothing(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	check.Fault(t, check.ErrorOf(s.Memories(t.Context(), "ann", recall.MemoryQuery{Query: " "})), fault.Invalid,
		"a blank text")
	if got := s.found(recall.MemoryQuery{Query: "bread"}); len(got) != 0 {
		t.Errorf("found %q", got)
	}
}
