package dynamo_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/erasure"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/prompt"
	"github.com/throughline/throughline/internal/sweep"
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

func (s *fixture) checkMemories(t *testing.T, want ...string) {
	t.Helper()
	got := map[string]bool{}
	for _, m := range snapshot(t, s).Memories {
		got[m.ID] = true
	}
	if len(got) != len(want) {
		t.Errorf("%d memories are left, want %d", len(got), len(want))
	}
	for _, id := range want {
		if !got[id] {
			t.Errorf("memory %s is gone", id)
		}
	}
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

func TestDeleteMessage(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	session, m := newSession(t, s, coach, "a", "1", "2", "3", "4")
	sum := saveSummary(t, s, session)
	_, other := newSession(t, s, "workout_log", "b", "x")
	s.extractMemory(t, m[1])
	both := s.extractMemory(t, m[1], other[0])
	s.savePrompt(t, "a")
	saved := s.savePrompt(t, "b")
	for name, at := range map[string]struct {
		user    conversation.UserID
		session string
	}{"another session": {alice, "b"}, "another user": {bob, "a"}} {
		checkFault(t, s.sweeper().DeleteMessage(t.Context(), at.user, at.session, m[1].ID), fault.NotFound, "from %s",
			name)
	}
	check.OK(t, s.sweeper().DeleteMessage(t.Context(), alice, "a", m[1].ID))
	checkFault(t, s.sweeper().DeleteMessage(t.Context(), alice, "a", m[1].ID), fault.NotFound, "again")
	checkSeqs(t, s, "a", 1, 3, 4)
	s.checkMemories(t, both)
	if got := listPrompts(t, s, "", 50); cmp.Diff([]string{saved.ID}, promptIDs(got)) != "" {
		t.Errorf("saved prompts are %v", promptIDs(got))
	}
	x := readSession(t, s, "a")
	if x.Summary != nil || x.Summarized.Seq != 0 || x.LastSeq != 4 || x.DueAt.After(s.clock()) {
		t.Errorf("the session is %+v", x)
	}
	hits, err := s.PromptSource.Resolve(t.Context(), alice, 0, []string{sum.ID(), m[1].ID})
	if err != nil || len(hits) != 0 {
		t.Errorf("resolved %v, %v", hits, err)
	}
	checkDeletingEnds(t, s, m)
}

// checkDeletingEnds deletes the first, the last and then the only message of a session that has messages 1, 3 and 4.
func checkDeletingEnds(t *testing.T, s *fixture, m []conversation.Message) {
	t.Helper()
	for _, step := range []struct{ delete, first, last int }{{0, 2, 3}, {3, 2, 2}} {
		check.OK(t, s.sweeper().DeleteMessage(t.Context(), alice, "a", m[step.delete].ID))
		x := readSession(t, s, "a")
		if !x.StartedAt.Equal(m[step.first].Timestamp) || !x.LastMessageAt.Equal(m[step.last].Timestamp) {
			t.Errorf("without %d the session goes from %v to %v", step.delete+1, x.StartedAt, x.LastMessageAt)
		}
	}
	check.OK(t, s.sweeper().DeleteMessage(t.Context(), alice, "a", m[2].ID))
	x := readSession(t, s, "a")
	if x.MessageCount != 0 || !x.StartedAt.IsZero() || !x.LastMessageAt.IsZero() || x.Summarized.Seq != x.LastSeq {
		t.Errorf("without any message the session is %+v", x)
	}
	appendMessages(t, s, alice, "a", userMessages("more")...)
	checkSeqs(t, s, "a", 5)
}

func testMessageByID(t *testing.T, s *fixture) {
	_, m := newSession(t, s, coach, "a", "1")
	got, err := s.Deletion.Message(t.Context(), alice, "a", m[0].ID)
	check.OK(t, err)
	check.Same(t, m[0], got, "a message by its id")
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

func TestDeleteSession(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	gone, m := newSession(t, s, "training_program", "gone", "1", "2")
	kept, other := newSession(t, s, "training_program", "kept", "x")
	own, others := newSummary(gone, 2, conversation.ByModel, true), newSummary(kept, 1, conversation.ByModel, true)
	own.RecordType, others.RecordType = conversation.ProgramSummary, conversation.ProgramSummary
	own.SubjectID, others.SubjectID = "p", "p" // two sessions of one program
	check.OK(t, s.Summaries.SaveSummary(t.Context(), alice, kept, others))
	check.OK(t, s.Summaries.SaveSummary(t.Context(), alice, gone, own))
	s.extractMemory(t, m...)
	both := s.extractMemory(t, m[0], other[0])
	s.savePrompt(t, "gone")
	s.savePrompt(t, "kept")
	checkFault(t, s.sweeper().DeleteSession(t.Context(), bob, "gone"), fault.NotFound, "another user's")
	check.OK(t, s.sweeper().DeleteSession(t.Context(), alice, "gone"))
	checkFault(t, s.sweeper().DeleteSession(t.Context(), alice, "gone"), fault.NotFound, "again")
	checkDeleted(t, s, "gone", m)
	s.checkMemories(t, both)
	checkSeqs(t, s, "kept", 1)
	if got := listPrompts(t, s, "", 50); len(got) != 1 || got[0].SessionID != "kept" {
		t.Errorf("saved prompts are %v", promptIDs(got))
	}
	hits, err := s.PromptSource.Resolve(t.Context(), alice, 0, []string{own.ID(), others.ID()})
	if err != nil || len(hits) != 1 || hits[0].ID != others.ID() {
		t.Errorf("summaries resolve to %v, %v", hits, err)
	}
	again, _ := newSession(t, s, coach, "gone", "new")
	if again.LastSeq != 1 || again.Context != coach {
		t.Errorf("a session of the same id is %+v", again)
	}
}

// checkDeleted checks that no read or write finds a deleted session or its messages.
func checkDeleted(t *testing.T, s *fixture, id string, messages []conversation.Message) {
	t.Helper()
	completed := conversation.Completed
	for op, err := range map[string]error{
		"read":     errorOf(s.Sessions.Session(t.Context(), alice, id)),
		"append":   errorOf(s.Messages.Append(t.Context(), alice, newAppend(id, "late"))),
		"turn":     errorOf(s.Turns.BeginTurn(t.Context(), alice, newAppend(id, "late"), time.Minute)),
		"change":   errorOf(s.Sessions.UpdateSession(t.Context(), alice, id, conversation.SessionChange{Status: &completed})),
		"leave":    s.Sessions.LeaveSession(t.Context(), alice, id, start),
		"messages": errorOf3(s.Messages.Messages(t.Context(), alice, id, conversation.Page{Limit: 10})),
	} {
		checkFault(t, err, fault.NotFound, "%s a deleted session", op)
	}
	for _, x := range listIDs(t, s, conversation.SessionFilter{}, 10) {
		if x == id {
			t.Errorf("%s is listed", id)
		}
	}
	ids := idsOfMessages(messages)
	if hits, err := s.PromptSource.Resolve(t.Context(), alice, 0, ids); err != nil || len(hits) != 0 {
		t.Errorf("its messages resolve to %v, %v", hits, err)
	}
	for _, m := range timeline(t, s, conversation.Range{}, conversation.Page{Limit: 50}) {
		if m.SessionID == id {
			t.Errorf("the timeline has message %d", m.Seq)
		}
	}
}

// TestDeletionResumes saves a session's tombstone and stops, as an interrupted deletion does. A new session then takes
// the same id. The sweep deletes the messages of the old session only.
func TestDeletionResumes(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	_, old := newSession(t, s, coach, "a", "1", "2")
	due := start.Add(time.Hour)
	deleted, err := s.Deletion.DeleteSession(t.Context(), alice, "a", due)
	check.OK(t, err)
	checkFault(t, errorOf(s.Messages.Append(t.Context(), alice, newAppend("a", "late"))), fault.NotFound,
		"append to a deleted session")
	again, err := s.Deletion.DeleteSession(t.Context(), alice, "a", due)
	if err != nil || again.ID != deleted.ID || again.Session == nil {
		t.Errorf("delete it again: %+v, %v", again, err)
	}
	messages := func(p conversation.Page) ([]conversation.Message, conversation.Position, error) {
		return s.Deletion.RemainingMessages(t.Context(), again, p)
	}
	left := allPages(t, conversation.Page{Limit: 1}, messages)
	check.Same(t, old, left, "messages of the deleted session")
	s.advance(time.Millisecond)
	_, fresh := newSession(t, s, coach, "a", "new")
	s.advance(2 * time.Hour)
	if n, err := s.Sweep(t.Context(), sweep.Deletions, s.sweeper(), s.clock); err != nil || n != 1 {
		t.Errorf("swept %d, %v", n, err)
	}
	remaining := timeline(t, s, conversation.Range{}, conversation.Page{Limit: 10})
	check.Same(t, fresh, remaining, "the timeline after the sweep")
	checkSeqs(t, s, "a", 1)
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
