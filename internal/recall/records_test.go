package recall_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/recall"
	"github.com/throughline/throughline/internal/testing/check"
)

// records returns what a search of all kinds finds, each as its kind and its text, best first.
func (s *fixture) records(q recall.RecordQuery) []string {
	s.t.Helper()
	got, err := s.Records(s.t.Context(), "ann", q)
	check.OK(s.t, err)
	var found []string
	for i, r := range got.Records {
		switch {
		case r.Message != nil:
			found = append(found, "message "+r.Message.Content)
		case r.Summary != nil:
			found = append(found, "summary "+r.Summary.Text)
		case r.Memory != nil:
			found = append(found, "memory "+r.Memory.Content)
		}
		if r.Score <= 0 || r.Score > 1 || i > 0 && r.Score > got.Records[i-1].Score || len(r.Contributions) == 0 {
			s.t.Errorf("%s has the score %g with %d contributions", found[i], r.Score, len(r.Contributions))
		}
	}
	return found
}

// about asks for what is about a text, of some kinds.
func about(query string, kinds ...string) recall.RecordQuery {
	return recall.RecordQuery{MessageQuery: recall.MessageQuery{Query: query}, Kinds: kinds}
}

const (
	kneeMessage = "message My knee hurts when I squat deep."
	kneeSummary = "summary The user's knee pain was treated with lighter squats."
	kneeFact    = "memory The user's left knee was operated on."
	breadFact   = "memory The user bakes bread."
)

// kneeHistory is a user of whom a message, a summary and a fact are about the knee, and more about other matters.
func kneeHistory(t *testing.T) *fixture {
	s := newFixture(t)
	s.addIndexed("ann", "coach_conversation", "s1", 24*time.Hour, "My knee hurts when I squat deep.", "Noted.",
		"And I like the new gym.", "Good to hear.")
	s.addIndexed("ann", "workout_log", "s2", 48*time.Hour, "Five sets of squats.", "Logged.")
	s.summarise("ann", "workout_log", "s2", "The user's knee pain was treated with lighter squats.", false)
	s.addIndexed("bea", "coach_conversation", "s3", time.Hour, "My knee hurts, too.", "Noted.")
	s.facts(longterm.Memory{Content: "The user's left knee was operated on."},
		longterm.Memory{Content: "The user bakes bread.", Source: longterm.Extracted})
	return s
}

// TestRecords finds messages, summaries and facts in one order, limited by kinds, contexts, times and preferences.
func TestRecords(t *testing.T) {
	t.Parallel()
	s := kneeHistory(t)
	all := s.records(about("knee"))
	for _, want := range []string{kneeMessage, kneeSummary, kneeFact} {
		if i := slices.Index(all, want); i < 0 || i > 2 {
			t.Errorf("%q is not among the first three of %q", want, all)
		}
	}
	if slices.ContainsFunc(all, func(text string) bool { return strings.Contains(text, "too") }) {
		t.Errorf("found another user's message: %q", all)
	}
	if got := s.records(about("hello")); len(got) > 0 {
		t.Errorf("a greeting finds %q", got)
	}
	one := 1
	for name, tt := range map[string]struct {
		q    recall.RecordQuery
		want []string // all that begin with these are found, and nothing else
	}{
		"messages":  {recall.RecordQuery{Kinds: []string{recall.MessageKind}}, []string{"message "}},
		"summaries": {recall.RecordQuery{Kinds: []string{recall.SummaryKind}}, []string{kneeSummary}},
		"facts":     {recall.RecordQuery{Kinds: []string{recall.MemoryKind}}, []string{kneeFact, breadFact}},
		"summaries and facts": {
			recall.RecordQuery{Kinds: []string{recall.SummaryKind, recall.MemoryKind}},
			[]string{kneeSummary, kneeFact, breadFact},
		},
		"of a context": {
			recall.RecordQuery{MessageQuery: recall.MessageQuery{Contexts: []string{"workout_log"}}},
			[]string{kneeSummary, "message Five sets", "message Logged"},
		},
		"of a time": {
			recall.RecordQuery{
				MessageQuery: recall.MessageQuery{From: s.now.Add(-30 * time.Hour), To: s.now.Add(-time.Hour)},
				Kinds:        []string{recall.MessageKind},
			},
			[]string{kneeMessage, "message And I like", "message Good"}, // "Noted." says nothing and has no vector
		},
		"one": {recall.RecordQuery{MessageQuery: recall.MessageQuery{Limit: &one}}, all[:1]},
	} {
		tt.q.Query = "knee"
		got := s.records(tt.q)
		for _, want := range tt.want {
			if !slices.ContainsFunc(got, func(text string) bool { return strings.HasPrefix(text, want) }) {
				t.Errorf("%s: %q is missing in %q", name, want, got)
			}
		}
		for _, text := range got {
			if !slices.ContainsFunc(tt.want, func(want string) bool { return strings.HasPrefix(text, want) }) {
				t.Errorf("%s: found %q", name, text)
			}
		}
	}
	tokens := 12
	got := s.records(recall.RecordQuery{MessageQuery: recall.MessageQuery{Query: "knee", Tokens: &tokens}})
	if len(got) == 0 || len(got) >= len(all) {
		t.Errorf("within %d tokens: %q", tokens, got)
	}
	s.prefer("ann", func(p *preferences) { p.Memory = false })
	got = s.records(about("knee"))
	if slices.Contains(got, breadFact) || !slices.Contains(got, kneeFact) {
		t.Errorf("without memory: %q", got)
	}
}

// TestRecordsWithoutTheIndex finds facts that have no vector, and, while the index does not answer, the newest messages
// by their words, too.
func TestRecordsWithoutTheIndex(t *testing.T) {
	t.Parallel()
	s := kneeHistory(t)
	best := func() recall.Record {
		facts := about("knee", recall.MemoryKind)
		answer, err := s.Records(t.Context(), "ann", facts)
		if err != nil || "memory "+answer.Records[0].Memory.Content != kneeFact {
			t.Fatalf("found %+v, %v", answer.Records, err)
		}
		return answer.Records[0]
	}
	near := best()
	s.index.fault = func(context.Context) error { return errors.New("down") }
	if near.Score == best().Score {
		t.Errorf("a fact has the score %g with the index and without", near.Score)
	}
	got := s.records(about("knee"))
	if !slices.Contains(got, kneeMessage) || !slices.Contains(got, kneeFact) {
		t.Errorf("found %q", got)
	}
	answer, err := s.Records(t.Context(), "ann", about("knee"))
	if err != nil || len(answer.Degraded) != 1 {
		t.Errorf("degraded: %+v, %v", answer.Degraded, err)
	}
	for _, wrong := range []recall.MessageQuery{{Query: " "}, {Query: "x", Contexts: []string{"nowhere"}}} {
		check.Fault(t, check.ErrorOf(s.Records(t.Context(), "ann", recall.RecordQuery{MessageQuery: wrong})), fault.Invalid,
			"%+v", wrong)
	}
}

// TestRecordsHaveTheNewestOfEachSubject finds one summary of a program that two sessions were about.
func TestRecordsHaveTheNewestOfEachSubject(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.attributes = map[string]any{"programId": "p"}
	for i, text := range []string{"The program has squats at 80%.", "The program has squats at 90%."} {
		session := []string{"first", "second"}[i]
		s.addIndexed("ann", "training_program", session, time.Duration(48-24*i)*time.Hour, "More squats, please.")
		s.summarise("ann", "training_program", session, text, false)
	}
	got := s.records(about("squats in the program", recall.SummaryKind))
	check.Same(t, []string{"summary The program has squats at 90%."}, got, "found")
}
