package dynamo_test

import (
	"slices"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/chat"
	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/testing/check"
)

// TestMemoryHistory replaces a memory twice, takes the last end back, and forgets: the history has all three in order
// with their messages, the restored one holds alone, and what is forgotten is a Conflict.
func TestMemoryHistory(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	history := s.Corrector
	createSession(t, s, alice, "coach_conversation", "s")
	said, err := s.Messages.Append(t.Context(), alice, newAppend("s", "I live in Oslo"))
	check.OK(t, err)
	ids := map[string]string{}
	for i, city := range []string{"Bergen", "Oslo", "Rome"} {
		m, _, err := s.Memories.Create(t.Context(), alice, longterm.Memory{
			Type: longterm.ProfileMemory, Content: "Lives in " + city, Source: longterm.Extracted,
			SaidAt: start.Add(time.Duration(i) * time.Hour), MessageIDs: []string{said.Messages[0].ID, "gone"},
		}, noKey)
		check.OK(t, err)
		ids[city] = m.ID
	}
	for old, by := range map[string]string{"Bergen": "Oslo", "Oslo": "Rome"} {
		_, err := s.Memories.Update(t.Context(), alice, ids[old], func(m *longterm.Memory) error {
			*m = m.EndedAs(longterm.EndedReplaced, ids[by], start)
			return nil
		})
		check.OK(t, err)
	}
	past, err := history.History(t.Context(), alice, ids["Oslo"])
	check.OK(t, err)
	if len(past) != 3 || past[0].Memory.ID != ids["Bergen"] || past[2].Memory.ID != ids["Rome"] {
		t.Fatalf("history %+v", past)
	}
	check.Same(t, []longterm.Evidence{{
		MessageID: said.Messages[0].ID, SessionID: "s", Timestamp: said.Messages[0].Timestamp,
	}}, past[1].Messages, "the evidence that is still there")

	for range 2 { // a repeat changes nothing
		restored, err := history.Restore(t.Context(), alice, ids["Oslo"])
		check.OK(t, err)
		if !restored.Valid(start) || restored.EndedReason != "" {
			t.Errorf("restored: %+v", restored)
		}
	}
	rome, err := s.Memories.Get(t.Context(), alice, ids["Rome"])
	check.OK(t, err)
	if rome.Valid(s.clock()) || rome.EndedReason != longterm.EndedFalse {
		t.Errorf("its successor: %+v", rome)
	}
	snapshot, err := s.PromptSource.LongTerm(t.Context(), alice)
	check.OK(t, err)
	if !slices.ContainsFunc(snapshot.Memories, func(m longterm.Memory) bool {
		return m.ID == ids["Rome"] && m.EndedReason == longterm.EndedFalse
	}) {
		t.Errorf("prompts do not know that its successor is false: %+v", snapshot.Memories)
	}
	if past, err := history.History(t.Context(), alice, ids["Oslo"]); err != nil || len(past) != 3 {
		t.Errorf("history after it: %+v, %v", past, err)
	}

	check.OK(t, s.Memories.Delete(t.Context(), alice, ids["Oslo"]))
	for name, call := range map[string]func(user conversation.UserID) error{
		"history": func(u conversation.UserID) error {
			_, err := history.History(t.Context(), u, ids["Oslo"])
			return err
		},
		"restore": func(u conversation.UserID) error {
			_, err := history.Restore(t.Context(), u, ids["Oslo"])
			return err
		},
	} {
		checkFault(t, call(alice), fault.Conflict, "%s after forgetting", name)
		checkFault(t, call(bob), fault.NotFound, "%s of another user", name)
	}
}

// TestReview confirms a memory that waits, which takes the place of another then, and rejects one, which leaves a trace
// that covers the same words whenever they come.
func TestReview(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	history := s.Corrector
	create := func(m longterm.Memory) string {
		m.Type, m.Source = longterm.ProfileMemory, longterm.Extracted
		stored, _, err := s.Memories.Create(t.Context(), alice, m, noKey)
		check.OK(t, err)
		return stored.ID
	}
	old := create(longterm.Memory{Content: "Lives in Oslo"})
	wait := create(longterm.Memory{
		Content: "Lives in Rome", Status: longterm.Waiting, WaitingAs: longterm.Reported, Supersedes: []string{old, "gone"},
	})
	get := func(id string) longterm.Memory {
		m, err := s.Memories.Get(t.Context(), alice, id)
		check.OK(t, err)
		return m
	}
	if get(wait).Valid(s.clock()) || !get(old).Valid(s.clock()) {
		t.Error("the memory does not wait")
	}
	for range 2 {
		confirmed, err := history.Confirm(t.Context(), alice, wait)
		if err != nil || confirmed.Status != longterm.Reported || !confirmed.Valid(s.clock()) {
			t.Errorf("confirmed: %+v, %v", confirmed, err)
		}
	}
	if m := get(old); m.Valid(s.clock()) || m.SupersededBy != wait || m.EndedReason != longterm.EndedReplaced {
		t.Errorf("what it replaces: %+v", m)
	}
	_, err := history.Reject(t.Context(), alice, wait)
	checkFault(t, err, fault.Conflict, "reject one that does not wait")

	wrong := create(longterm.Memory{Content: "Is a pilot", Status: longterm.Waiting})
	rejected, err := history.Reject(t.Context(), alice, wrong)
	if err != nil || rejected.EndedReason != longterm.EndedFalse {
		t.Errorf("rejected: %+v, %v", rejected, err)
	}
	_, err = history.Reject(t.Context(), alice, wrong)
	checkFault(t, err, fault.Conflict, "reject it again")
	session := createSession(t, s, alice, "coach_conversation", "s")
	hidden := create(longterm.Memory{Content: "Has a boat", Status: longterm.Waiting})
	n, err := s.Extraction.(chat.Forgetter).Forget(t.Context(), alice, "a message",
		func(held []longterm.Memory) []longterm.Memory {
			return slices.DeleteFunc(held, func(m longterm.Memory) bool { return m.ID != hidden })
		})
	if err != nil || n != 1 {
		t.Errorf("what waits is not forgotten: %d, %v", n, err)
	}
	known, err := s.Extraction.Known(t.Context(), alice, session.Generation, false)
	check.OK(t, err)
	again := longterm.Memory{Content: "Is a pilot", SaidAt: s.clock().AddDate(1, 0, 0)}
	if !slices.ContainsFunc(known.Forgotten, func(f longterm.Forgotten) bool { return f.Covers(again) }) {
		t.Errorf("what was rejected comes back: %+v", known.Forgotten)
	}
}
