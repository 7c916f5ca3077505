package dynamo_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/erasure"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/prompt"
	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/testing/dynamotest"
)

// stored is what a user has before a write of TestWrites.
type stored struct {
	session  conversation.Session
	covered  conversation.Session // all of it is summarised, indexed and read for memories
	messages []conversation.Message
	turn     conversation.Turn
	lapsed   conversation.Append // begins a turn whose lease has expired
	goal     longterm.Goal
	memory   longterm.Memory
	prompt   prompt.StoredPrompt
	erasing  conversation.UserID // a user who is being erased
	progress erasure.Progress
}

// firstUser is the user whose records the others of TestWrites have copies of.
const firstUser = conversation.UserID("the-first-user")

// of is what another user has who has a copy of the first user's records. The user is part of the messages' ids.
func (f stored) of(user conversation.UserID) stored {
	rename := func(id *string) { *id = strings.Replace(*id, string(firstUser), string(user), 1) }
	f.messages = slices.Clone(f.messages)
	for i := range f.messages {
		rename(&f.messages[i].ID)
	}
	rename(&f.turn.Message.ID)
	rename(&f.turn.AnswerID)
	return f
}

func store(t *testing.T, s dynamotest.Stores, user conversation.UserID) stored {
	t.Helper()
	ctx := t.Context()
	var f stored
	var err error
	dynamotest.NewSession(t, s, user, "coach_conversation", "a", "x", "y")
	f.messages, _, err = s.Messages.Messages(ctx, user, "a", conversation.Page{Limit: 10})
	check.OK(t, err)
	f.turn = check.Got(s.Turns.BeginTurn(ctx, user, withKey(dynamotest.OneMessage("a", "question"), "turn"),
		time.Minute))(t)
	f.lapsed = withKey(dynamotest.OneMessage("a", "lapsed"), "lapsed")
	check.Got(s.Turns.BeginTurn(ctx, user, f.lapsed, 0))(t)
	f.goal, _, err = s.Goals.Create(ctx, user, longterm.Goal{Title: "g", Status: longterm.GoalActive}, noKey)
	check.OK(t, err)
	f.memory, _, err = s.Memories.Create(ctx, user, longterm.Memory{Content: "m", Source: longterm.Seeded}, noKey)
	check.OK(t, err)
	check.Got(s.Coaches.PutCoach(ctx, user, longterm.Coach{ID: "c", Name: "n"}))(t)
	f.prompt = prompt.StoredPrompt{
		ID: "prompt_1738000000000_x", SessionID: "b", CreatedAt: start, Text: []byte("text"),
		ExpiresAt: start.Add(time.Hour),
	}
	check.OK(t, s.Prompts.SavePrompt(ctx, user, f.prompt))
	f.session = check.Got(s.Sessions.Session(ctx, user, "a"))(t)
	return f
}

// cover adds a session of which nothing is left to do.
func (f *stored) cover(t *testing.T, s dynamotest.Stores, user conversation.UserID) {
	t.Helper()
	ctx := t.Context()
	session := dynamotest.NewSession(t, s, user, "coach_conversation", "covered", "x")
	read := func() conversation.Session { return check.Got(s.Sessions.Session(ctx, user, "covered"))(t) }
	err := s.Summaries.SaveSummary(ctx, user, session, summaryOf(session, 1))
	if err == nil {
		err = s.Indexing.MarkIndexed(ctx, user, session, conversation.Watermark{Seq: 1})
	}
	if err == nil {
		err = s.Extraction.SkipExtraction(ctx, user, read())
	}
	check.OK(t, err)
	f.covered = read()
}

// erase adds a user whose erasure has begun.
func (f *stored) erase(t *testing.T, s dynamotest.Stores, user conversation.UserID) {
	t.Helper()
	f.erasing = user + "-erasing"
	_, err := s.Profiles.Put(t.Context(), f.erasing, longterm.Profile{Name: "n"})
	if err == nil {
		f.progress, _, err = s.Erasures.BeginErasure(t.Context(), f.erasing, start.Add(-time.Hour))
	}
	check.OK(t, err)
}

func withKey(in conversation.Append, key string) conversation.Append {
	in.Idempotency = conversation.Idempotency{Scope: "s", Key: key, BodyHash: "h"}
	return in
}
