package recall_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/indexing"
	"github.com/throughline/throughline/internal/recall"
	"github.com/throughline/throughline/internal/summary"
)

// words counts tokens as words.
type words struct{}

func (words) Count(text string) int { return len(strings.Fields(text)) }

// noMemories remembers nothing of what is said.
type noMemories struct{}

func (noMemories) IsOverdue(conversation.Session) bool { return false }

func (noMemories) ExtractNext(context.Context, conversation.UserID, string, string) (conversation.Watermark, error) {
	return conversation.Watermark{Seq: 1 << 20}, nil
}

func (noMemories) Extract(context.Context, conversation.UserID, string, string) (conversation.Watermark, error) {
	return conversation.Watermark{Seq: 1 << 20}, nil
}

// TestTheStory is the example of unified-conversation-context: the user swaps an exercise in the program designer, then
// talks to the coach. After the stream's changes alone, the coach's context has the swap and recall finds the words.
func TestTheStory(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	remember := indexing.New(s.store.Indexing, s.indexer, time.Now)
	summarise := summary.New(summary.Deps{
		Store: s.store.Summaries, Model: embedder(t), Quota: s.store.Quota,
		Index: s.indexer, Messages: remember, Memories: noMemories{}, Tokens: words{}, Now: time.Now,
		Report:        func(_ context.Context, op string, err error) { t.Errorf("%s: %v", op, err) },
		EveryMessages: 20, Idle: 15 * time.Minute, Timeout: 20 * time.Second, Background: true,
	})
	deliver := func(appContext, session string, texts ...string) {
		before, err := s.store.Summaries.SessionIn(t.Context(), "ann", appContext, session)
		known := err == nil
		stored := s.add("ann", appContext, session, time.Minute, texts...)
		after, err := s.store.Summaries.SessionIn(t.Context(), "ann", appContext, session)
		if err != nil {
			t.Fatal(err)
		}
		changes := []conversation.Change{{User: "ann", After: &after}}
		if known {
			changes[0].Before = &before
		}
		for _, m := range stored {
			changes = append(changes, conversation.Change{User: "ann", Message: &m})
		}
		for _, consumer := range []interface {
			Consume(ctx context.Context, changes []conversation.Change) (int, error)
		}{summarise, remember} {
			if done, err := consumer.Consume(t.Context(), changes); err != nil || done != len(changes) {
				t.Fatalf("%d of %d done: %v", done, len(changes), err)
			}
		}
	}
	deliver("program_designer", "design", bridges, "Then banded glute bridges it is. Shall I save that?")
	deliver("coach_conversation", "chat", "What about tomorrow's session?")

	for _, query := range []string{"", "What about tomorrow's session?"} {
		got := s.query("ann", recall.ContextQuery{Context: "coach_conversation", SessionID: "chat", Query: query})
		if len(got.Summaries) != 1 || len(got.Degraded) != 0 {
			t.Fatalf("query %q brought %+v", query, got)
		}
		hit := got.Summaries[0]
		if hit.SessionID != "design" || !hit.InProgress || !strings.Contains(hit.Text, "glute bridges") {
			t.Errorf("query %q brought %+v", query, hit)
		}
	}
	found := contents(s.recall("ann", recall.MessageQuery{
		Query: "Which exercise did I swap?", SessionID: "chat", Limit: new(1),
	}))
	if len(found) != 1 || !strings.Contains(found[0], "glute bridges") {
		t.Errorf("recall brought %v", found)
	}
	session, err := s.store.Summaries.SessionIn(t.Context(), "ann", "program_designer", "design")
	if err != nil || min(session.Summarized.Seq, session.Indexed.Seq) < 2 || session.Summary.Kind != conversation.ByModel {
		t.Errorf("the designer's session is %+v, %v", session, err)
	}
	got := s.query("ann", recall.ContextQuery{Context: "program_designer", SessionID: "design"})
	if len(got.Summaries) != 0 {
		t.Errorf("the coach's session is not summarised yet, but there is %+v", got.Summaries)
	}
}
