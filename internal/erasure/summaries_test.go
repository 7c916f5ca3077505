package erasure_test

import (
	"testing"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/erasure"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/testing/check"
)

// TestForgetInSummaries forgets a memory in each way. Summaries of other sessions that say it are gone, with their
// vectors and prompts, and are due anew without the assistant's lines about it. Others stay, as does what was said
// later.
func TestForgetInSummaries(t *testing.T) {
	for name, forget := range waysToForget {
		t.Run(name, func(t *testing.T) {
			s := newFixture(t)
			said := s.say("old", "I got a phoenix tattoo on my hip.")
			s.say("said", "> How is the phoenix on your hip healing?", "It itches.", "> How is the weather?", "Sunny.")
			s.say("unsaid", "> How is the weather?", "A phoenix is a bird.")
			of := s.summarizeAs(ann, "said", "They spoke about the phoenix tattoo healing.")
			other := s.summarizeAs(ann, "unsaid", "They spoke about the weather, and a bird.")
			prompt := s.savePrompt("unsaid")
			fact, _, err := s.store.Memories.Create(t.Context(), ann, longterm.Memory{
				Type: longterm.ProfileMemory, Source: longterm.Extracted, MessageIDs: said,
				Content: "The user has a phoenix tattoo on the hip.",
			}, conversation.Idempotency{})
			check.OK(t, err)
			asked := s.say("new", "Forget the tattoo.")
			s.Advance(time.Second)
			forget(s, fact, asked[0])
			s.Advance(time.Second)
			s.say("later", "My phoenix tattoo is new.")
			later := s.summarizeAs(ann, "later", "The user has a new phoenix tattoo.")
			check.Got(s.sweep())(t)
			s.checkSaid("said", "F...", true)
			s.checkSaid("unsaid", "..", false)
			session, _ := s.read("said")
			if session.Summarized.Seq != 0 || session.DueAt.After(s.Time()) || session.DueAt.IsZero() {
				t.Errorf("the session is due at %v, summarised through %d", session.DueAt, session.Summarized.Seq)
			}
			vectors := s.vectors(ann, 0)
			if vectors[of.ID()] || !vectors[other.ID()] || !vectors[later.ID()] {
				t.Errorf("the vectors are %v", vectors)
			}
			for _, id := range []string{"unsaid", "later"} {
				if kept, _ := s.read(id); kept.Summary == nil {
					t.Errorf("%s has lost its summary", id)
				}
			}
			if s.quotes(prompt) {
				t.Error("a prompt has the summary")
			}
		})
	}
}

// TestForgetInSummariesAlone forgets what a summary says and no message does.
func TestForgetInSummariesAlone(t *testing.T) {
	s := newFixture(t)
	said := s.say("old", "I got a phoenix tattoo on my hip.")
	s.say("said", "> How is your hip?", "It itches.")
	of := s.summarizeAs(ann, "said", "They spoke about the phoenix tattoo healing.")
	prompt := s.savePrompt("other")
	fact, _, err := s.store.Memories.Create(t.Context(), ann, longterm.Memory{
		Type: longterm.ProfileMemory, Source: longterm.Extracted, MessageIDs: said,
		Content: "The user has a phoenix tattoo on the hip.",
	}, conversation.Idempotency{})
	check.OK(t, err)
	s.Advance(time.Second)
	check.OK(t, erasure.NewMemories(s.store.Memories, s.Service).Delete(t.Context(), ann, fact.ID))
	s.checkSaid("said", "..", true)
	if session, _ := s.read("said"); session.Summarized.Seq != 0 || session.DueAt.After(s.Time()) {
		t.Errorf("the session is due at %v, summarised through %d", session.DueAt, session.Summarized.Seq)
	}
	if s.vectors(ann, 0)[of.ID()] || s.quotes(prompt) {
		t.Error("the summary is in the index or in a prompt")
	}
}
