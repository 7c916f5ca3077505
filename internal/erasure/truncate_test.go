package erasure_test

import (
	"testing"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/erasure"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/testing/check"
)

// TestTruncateTakesWhatDerives replaces messages of which there are vectors, a summary, a memory and a prompt. The
// ledger fails first: then the sweep has the entries of all of them.
func TestTruncateTakesWhatDerives(t *testing.T) {
	s := newFixture(t)
	l, entries := withLedger(t, s)
	m := s.addMessages(ann, "s", "1", "2", "3")
	s.summarize(ann, "s")
	s.remember(longterm.Extracted, m[2])
	s.remember(longterm.Extracted, m[0])
	s.savePrompt("s")
	l.fail = errTable
	last := 2
	in := conversation.Truncation{SessionID: "s", LastN: &last}
	if _, err := s.Truncate(t.Context(), ann, in); err == nil {
		t.Error("messages are deleted without entries of the ledger")
	}
	l.fail = nil
	s.Advance(time.Minute)
	check.Got(s.sweep())(t)
	got := map[string]bool{}
	for _, e := range entries() {
		got[e.SessionID+" "+e.MessageID] = true
	}
	check.Same(t, map[string]bool{"s " + m[1].ID: true, "s " + m[2].ID: true}, got, "entries")
	session, left := s.read("s")
	if len(left) != 1 || session.MessageCount != 1 || session.LastSeq != 3 || session.Summary != nil {
		t.Errorf("left are %v of %+v", left, session)
	}
	vectors := s.vectors(ann, 0)
	if vectors[m[1].ID] || vectors[m[2].ID] || !vectors[m[0].ID] {
		t.Errorf("vectors %v", vectors)
	}
	if keys := s.keys(ann); count(keys, "summary#")+count(keys, "prompt#") != 0 || count(keys, "ltm#memory#") != 1 {
		t.Errorf("left are %v", keys)
	}
}

// TestClearTakesWhatDerives empties a session of which there are vectors, a summary, a memory and a prompt. What a late
// worker makes of the messages finds no session.
func TestClearTakesWhatDerives(t *testing.T) {
	s := newFixture(t)
	_, entries := withLedger(t, s)
	m := s.addMessages(ann, "s", "1", "2")
	s.addMessages(ann, "t", "3")
	s.summarize(ann, "s")
	s.remember(longterm.Extracted, m...)
	s.savePrompt("s")
	before := check.Got(s.store.Sessions.Session(t.Context(), ann, "s"))(t)
	if n, err := s.ClearSession(t.Context(), ann, "s"); err != nil || n != 2 {
		t.Fatalf("cleared %d, %v", n, err)
	}
	session, left := s.read("s")
	if len(left) != 0 || session.MessageCount != 0 || session.Summary != nil || session.IsSame(before) {
		t.Errorf("left are %v of %+v", left, session)
	}
	vectors := s.vectors(ann, 0)
	if vectors[m[0].ID] || vectors[m[1].ID] {
		t.Errorf("vectors %v", vectors)
	}
	if keys := s.keys(ann); count(keys, "summary#")+count(keys, "prompt#")+count(keys, "ltm#memory#") != 0 {
		t.Errorf("left are %v", keys)
	}
	late := s.summaryOf(before)
	if err := s.store.Summaries.SaveSummary(t.Context(), ann, before, late); err == nil {
		t.Error("a summary of deleted messages is saved")
	}
	want := erasure.Erased{User: ann, SessionID: "s", CreatedAt: before.CreatedAt.UTC()}
	found := false
	for _, e := range entries() {
		e.At = time.Time{}
		found = found || e == want
	}
	if !found {
		t.Errorf("no entry %+v in the ledger", want)
	}
}
