package dynamo_test

import (
	"context"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/erasure"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/prompt"
	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/testing/dynamotest"
)

// noReindexer indexes nothing. The tests are of the part that the store has in a deletion.
type noReindexer struct{}

func (noReindexer) ReindexNext(context.Context, conversation.UserID, conversation.Message) error {
	return nil
}

// sweeper returns the service that deletes from the store.
func (s *fixture) sweeper() *erasure.Sweeper {
	return erasure.NewSweeper(s.Erasure(dynamotest.NoIndex{}, s.clock), noReindexer{})
}

// extractMemory stores a memory that was extracted from messages, and returns its id.
func (s *fixture) extractMemory(t *testing.T, messages ...conversation.Message) string {
	t.Helper()
	m := longterm.Memory{Content: "fact", Source: longterm.Extracted, CreatedAt: s.clock(), UpdatedAt: s.clock()}
	for _, x := range messages {
		m.MessageIDs = append(m.MessageIDs, x.ID)
	}
	stored := create(t, s.Memories, m)
	return stored.ID
}

func seqs(messages []conversation.Message) []int {
	var out []int
	for _, m := range messages {
		out = append(out, m.Seq)
	}
	return out
}

// checkSeqs reads a session in both directions and compares the seq numbers of its messages.
func checkSeqs(t *testing.T, s *fixture, id string, want ...int) {
	t.Helper()
	for _, limit := range []int{1, 50} {
		got := allMessages(t, s, alice, id, conversation.Page{Limit: limit})
		check.Same(t, want, seqs(got), "%s, pages of %d", id, limit)
	}
	if x := readSession(t, s, id); x.MessageCount != len(want) {
		t.Errorf("%s counts %d messages, want %d", id, x.MessageCount, len(want))
	}
}

func testMessageByID(t *testing.T, s *fixture) {
	_, m := newSession(t, s, coach, "a", "1")
	got, err := s.Deletion.Message(t.Context(), alice, "a", m[0].ID)
	check.OK(t, err)
	sameMessages(t, m[0], got, "a message by its id")
	for name, err := range map[string]error{
		"another session": errorOf(s.Deletion.Message(t.Context(), alice, "b", m[0].ID)),
		"another user":    errorOf(s.Deletion.Message(t.Context(), bob, "a", m[0].ID)),
		"no id":           errorOf(s.Deletion.Message(t.Context(), alice, "a", "msg")),
	} {
		checkFault(t, err, fault.NotFound, "%s", name)
	}
}

func TestSessionsOfMessages(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	sa, a := newSession(t, s, coach, "a", "1", "2")
	sb, b := newSession(t, s, "workout_log", "b", "3")
	check.Got(s.Deletion.DeleteMessage(t.Context(), alice, a[1], nil, start))(t)
	ids := []string{a[0].ID, a[1].ID, b[0].ID, "none", a[0].ID}
	got, err := s.Deletion.SessionsOf(t.Context(), alice, ids)
	want := map[string]erasure.Source{
		a[0].ID: {SessionID: "a", CreatedAt: sa.CreatedAt}, b[0].ID: {SessionID: "b", CreatedAt: sb.CreatedAt},
	}
	check.OK(t, err)
	check.Same(t, want, got, "sessions of messages")
	if got, err := s.Deletion.SessionsOf(t.Context(), bob, ids); err != nil || len(got) != 0 {
		t.Errorf("of another user's messages: %v, %v", got, err)
	}
}

// TestForgetPrompts checks that ForgetPrompts deletes the prompts that one session got in a period, and the text of all
// other prompts of that period.
func TestForgetPrompts(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	var saved []prompt.StoredPrompt
	for _, session := range []string{"a", "b", "a", "b", "a", "b"} {
		s.advance(time.Minute)
		k := s.savePrompt(t, session)
		k.Text = []byte("quoted")
		check.OK(t, s.Prompts.SavePrompt(t.Context(), alice, k))
		saved = append(saved, k)
	}
	for range 2 {
		to := saved[3].CreatedAt.Add(time.Second)
		span := erasure.PromptSpan{SessionID: "a", From: saved[1].CreatedAt, To: to, DeletedAt: to}
		check.OK(t, s.Prompts.DeletePrompts(t.Context(), alice, span))
	}
	saved[1].Text, saved[3].Text = nil, nil
	want := []prompt.StoredPrompt{saved[5], saved[4], saved[3], saved[1], saved[0]}
	check.Same(t, want, listPrompts(t, s, "", 50), "saved prompts")
}

// TestPromptsAfterADeletion deletes a message of a session that stays. The prompts of the session that were built since
// then stay, without their text, and so do the prompts that are kept for turns since then.
func TestPromptsAfterADeletion(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	createSession(t, s, alice, coach, "t")
	keeper := s.Turns.(conversation.TurnKeeper)
	save := func(key string) (prompt.StoredPrompt, conversation.Turn) {
		s.advance(time.Minute)
		turn := check.Got(s.Turns.BeginTurn(t.Context(), alice, turnWithKey(key), time.Minute))(t)
		saved := s.savePrompt(t, "t")
		saved.Text = []byte("quoted")
		check.OK(t, s.Prompts.SavePrompt(t.Context(), alice, saved))
		check.Got(keeper.KeepPrompt(t.Context(), alice, turn, conversation.KeptPrompt{
			PromptID: saved.ID, Data: saved.Text, Until: s.clock().Add(time.Hour),
		}))(t)
		return saved, turn
	}
	before, quoting := save("before")
	s.advance(time.Millisecond)
	span := erasure.PromptSpan{
		SessionID: "t", Stays: true, From: before.CreatedAt, To: s.clock().Add(time.Hour), DeletedAt: s.clock(),
	}
	after, later := save("after")
	for range 2 {
		check.OK(t, s.Prompts.DeletePrompts(t.Context(), alice, span))
	}
	after.Text = nil
	check.Same(t, []prompt.StoredPrompt{after}, listPrompts(t, s, "", 50), "saved prompts")
	checkFault(t, errorOf(keeper.KeptPrompt(t.Context(), alice, quoting)), fault.NotFound, "a kept prompt that may quote")
	check.Got(keeper.KeptPrompt(t.Context(), alice, later))(t)
}

// TestDeletingEnds deletes the first, the last and then the only message of a session.
func TestDeletingEnds(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	_, m := newSession(t, s, coach, "a", "1", "2", "3")
	for _, step := range []struct{ delete, last int }{{0, 2}, {2, 1}} {
		check.OK(t, s.sweeper().DeleteMessage(t.Context(), alice, "a", m[step.delete].ID))
		x := readSession(t, s, "a")
		if !x.StartedAt.Equal(m[1].Timestamp) || !x.LastMessageAt.Equal(m[step.last].Timestamp) {
			t.Errorf("without %d the session goes from %v to %v", step.delete+1, x.StartedAt, x.LastMessageAt)
		}
	}
	check.OK(t, s.sweeper().DeleteMessage(t.Context(), alice, "a", m[1].ID))
	x := readSession(t, s, "a")
	if x.MessageCount != 0 || !x.StartedAt.IsZero() || !x.LastMessageAt.IsZero() || x.Summarized.Seq != x.LastSeq {
		t.Errorf("without any message the session is %+v", x)
	}
	appendMessages(t, s, alice, "a", userMessages("more")...)
	checkSeqs(t, s, "a", 4)
}
