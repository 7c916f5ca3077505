package erasure_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/testing/check"
)

func TestDeleteMessage(t *testing.T) {
	s := newFixture(t)
	m := s.addMessages(ann, "s", "1", "2", "3")
	s.summarize(ann, "s")
	fact := s.remember(longterm.Extracted, m[1])
	s.savePrompt("s")
	check.Fault(t, s.DeleteMessage(t.Context(), ann, "other", m[1].ID), fault.NotFound, "delete it from another session")
	check.Fault(t, s.DeleteMessage(t.Context(), bob, "s", m[1].ID), fault.NotFound, "delete another user's")
	before := check.Got(s.store.Sessions.Session(t.Context(), ann, "s"))(t)
	check.OK(t, s.DeleteMessage(t.Context(), ann, "s", m[1].ID))
	check.Fault(t, s.DeleteMessage(t.Context(), ann, "s", m[1].ID), fault.NotFound, "delete it again")
	session, messages := s.read("s")
	if session.MessageCount != 2 || session.LastSeq != 3 || session.Summary != nil || session.Summarized.Seq != 0 ||
		session.DueAt.After(s.Time()) {
		t.Errorf("session after: %+v", session)
	}
	s.checkFirstSweep(m)
	if len(messages) != 2 || messages[1].Seq != 3 {
		t.Errorf("messages after: %v", messages)
	}
	if diff := cmp.Diff(map[string]bool{m[0].ID: true, m[2].ID: true}, s.vectors(ann, 0)); diff != "" {
		t.Errorf("vectors (-want +got), without %s:\n%s", fact.ID, diff)
	}
	if keys := s.keys(ann); count(keys, "summary#")+count(keys, "prompt#")+count(keys, "ltm#memory#") != 0 {
		t.Errorf("left are %v", keys)
	}
	// A summary is saved late: it was made from the message before it was deleted.
	late := s.summaryOf(before)
	check.Fault(t, s.store.Summaries.SaveSummary(t.Context(), ann, before, late), fault.Conflict,
		"save a summary made of a deleted message")
	checkTombstoneSweeps(t, s, m[1].ID)
}

// checkFirstSweep checks that the first sweep indexes the message after the deleted one again, without its words.
func (s *fixture) checkFirstSweep(m []conversation.Message) {
	s.t.Helper()
	if n, err := s.sweep(); err != nil || n != 1 {
		s.t.Errorf("the first sweep worked off %d, %v", n, err)
	}
	said := s.embedded.texts
	if len(said) != 1 || !strings.HasSuffix(said[0], ": "+m[2].Content) {
		s.t.Errorf("indexed anew: %q", said)
	}
}

// TestStoredPromptsLoseDeletedTexts deletes a message or a session. Only the prompts that were stored before it was
// written, or well after the deletion, keep their texts. In a session that stays, a prompt of after the deletion stays.
func TestStoredPromptsLoseDeletedTexts(t *testing.T) {
	for name, remove := range map[string]func(s *fixture, m conversation.Message) error{
		"message": func(s *fixture, m conversation.Message) error { return s.DeleteMessage(t.Context(), ann, "s", m.ID) },
		"session": func(s *fixture, _ conversation.Message) error { return s.DeleteSession(t.Context(), ann, "s") },
	} {
		t.Run(name, func(t *testing.T) {
			s := newFixture(t)
			s.addMessages(ann, "other", "before")
			early := s.savePrompt("other")
			s.Advance(3 * time.Hour)
			m := s.addMessages(ann, "s", "secret")
			own, after := s.savePrompt("s"), s.savePrompt("other")
			check.OK(t, remove(s, m[0]))
			check.Fault(t, check.ErrorOf(s.store.Prompts.StoredPrompt(t.Context(), ann, own)), fault.NotFound,
				"the session's own prompt")
			if !s.quotes(early) || s.quotes(after) {
				t.Errorf("the earlier prompt has its text: %v, the later one: %v", s.quotes(early), s.quotes(after))
			}
			late, again := s.savePrompt("other"), s.savePrompt("s") // they were being built at the time
			s.Advance(20 * time.Minute)
			fresh := s.savePrompt("other")
			check.Got(s.sweep())(t)
			if s.quotes(late) || !s.quotes(fresh) {
				t.Errorf("the prompt that came late has its text: %v, a later one: %v", s.quotes(late), s.quotes(fresh))
			}
			if name == "message" && s.quotes(again) {
				t.Error("the session's prompt that came late has its text")
			}
		})
	}
}

func (s *fixture) read(id string) (conversation.Session, []conversation.Message) {
	s.t.Helper()
	session, err := s.store.Sessions.Session(s.t.Context(), ann, id)
	check.OK(s.t, err)
	messages, _, err := s.store.Messages.Messages(s.t.Context(), ann, id, conversation.Page{Limit: 200})
	check.OK(s.t, err)
	return session, messages
}

func TestDeleteMessagesWhileAppending(t *testing.T) {
	s := newFixture(t)
	m := s.addMessages(ann, "s", "1", "2", "3", "4", "5", "6", "7", "8")
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			if err := s.DeleteMessage(t.Context(), ann, "s", m[i].ID); err != nil {
				t.Errorf("delete %d: %v", i, err)
			}
		})
		wg.Go(func() { s.addMessages(ann, "s", fmt.Sprint("more", i)) })
	}
	wg.Wait()
	session, messages := s.read("s")
	if session.MessageCount != 8 || session.LastSeq != 16 || len(messages) != 8 || len(session.Deleted) != 1 {
		t.Errorf("%d messages, session %+v", len(messages), session)
	}
}

// TestQuotesOfADeletedMessage deletes a message that answers of its own and of another session repeat. They are named,
// also by a call that deletes the message alone, and deleted with it where that is asked for.
func TestQuotesOfADeletedMessage(t *testing.T) {
	const told = "My daughter Mia has a severe peanut allergy."
	s := newFixture(t)
	early := s.addMessages(ann, "before", "Does my daughter Mia have a severe peanut allergy?")
	s.Advance(time.Second)
	m := s.addMessages(ann, "s", told, "Noted: your daughter Mia has a severe peanut allergy.", "What shall we cook?")
	s.Advance(time.Second)
	other := s.addMessages(ann, "other", "No nuts, because daughter Mia has a severe peanut allergy.", "I like rice.")
	s.addMessages(bob, "his", told)
	quotes, err := s.Quotes(t.Context(), ann, "s", m[0].ID)
	if err != nil || !quotes.Complete {
		t.Fatalf("quotes: %+v, %v", quotes, err)
	}
	check.Same(t, []string{m[1].ID, other[0].ID}, idsOf(quotes.Messages), "quotes")
	check.Fault(t, check.ErrorOf(s.Quotes(t.Context(), bob, "s", m[0].ID)), fault.NotFound,
		"quotes of another user's message")
	check.Got(s.DeleteWithQuotes(t.Context(), ann, "s", m[0].ID))(t)
	left, _, err := s.store.Messages.Timeline(t.Context(), ann, conversation.Range{}, conversation.Page{Limit: 10})
	check.OK(t, err)
	check.Same(t, []string{early[0].ID, m[2].ID, other[1].ID}, idsOf(left), "left")
	check.Fault(t, check.ErrorOf(s.DeleteWithQuotes(t.Context(), ann, "s", m[0].ID)), fault.NotFound, "delete it again")
}

func idsOf(messages []conversation.Message) []string {
	ids := make([]string, len(messages))
	for i, m := range messages {
		ids[i] = m.ID
	}
	return ids
}
