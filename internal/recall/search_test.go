package recall_test

import (
	"context"
	"maps"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/recall"
	"github.com/throughline/throughline/internal/vector"
)

// checkIn stores and indexes a check-in.
func (s *fixture) checkIn(user conversation.UserID, c longterm.CheckIn) longterm.CheckIn {
	s.t.Helper()
	stored, _, err := s.store.CheckIns.Create(s.t.Context(), user, c, conversation.Idempotency{})
	if err != nil {
		s.t.Fatal(err)
	}
	if err := s.indexer.IndexCheckIn(s.t.Context(), user, 0, stored); err != nil {
		s.t.Fatal(err)
	}
	return stored
}

// remember stores and indexes a memory.
func (s *fixture) remember(user conversation.UserID, m longterm.Memory) longterm.Memory {
	s.t.Helper()
	stored, _, err := s.store.Memories.Create(s.t.Context(), user, m, conversation.Idempotency{})
	if err != nil {
		s.t.Fatal(err)
	}
	if err := s.indexer.IndexMemory(s.t.Context(), user, 0, stored); err != nil {
		s.t.Fatal(err)
	}
	return stored
}

func (s *fixture) search(user conversation.UserID, q recall.Search) recall.Found {
	s.t.Helper()
	found, err := s.Search(s.t.Context(), user, q)
	if err != nil {
		s.t.Fatal(err)
	}
	return found
}

// kinds counts the hits of each kind.
func kinds(found recall.Found) map[string]int {
	out := map[string]int{}
	for _, h := range found.Hits {
		switch {
		case h.Message != nil:
			out["message"]++
		case h.Summary != nil:
			out["summary"]++
		case h.Memory != nil:
			out["memory "+string(h.Memory.Source)]++
		case h.CheckIn != nil:
			out["check-in"]++
		}
	}
	return out
}

func TestSearchFindsEveryKind(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.addIndexed("ann", "coach_conversation", "chat", time.Hour, "My knees hurt.")
	s.summarise("ann", "coach_conversation", "chat", "The user's knees hurt.", false)
	for _, source := range []longterm.MemorySource{longterm.Seeded, longterm.Extracted} {
		content := "Bad knees, " + string(source)
		s.remember("ann", longterm.Memory{Type: longterm.ProfileMemory, Content: content, Source: source})
	}
	s.remember("ann", longterm.Memory{
		Type: longterm.ProfileMemory, Content: "Had bad knees", Source: longterm.Seeded, ValidUntil: s.now.Add(-time.Hour),
	})
	s.checkIn("ann", longterm.CheckIn{Timestamp: s.now.Add(-time.Hour), Note: "Knees better today"})
	all := map[string]int{"message": 1, "summary": 1, "memory seeded": 1, "memory extracted": 1, "check-in": 1}
	userLevel := map[string]int{"memory seeded": 1, "memory extracted": 1, "check-in": 1}
	off, unshared := defaults(), defaults()
	off.CrossContext, off.Memory = false, false
	unshared.Unshared = map[string]bool{"coach_conversation": true}
	memories := map[string]int{"memory seeded": 1, "memory extracted": 1}
	noSummary := maps.Clone(all)
	delete(noSummary, "summary")
	for name, tt := range map[string]struct {
		q      recall.Search
		access func(context.Context) (longterm.Access, error)
		want   map[string]int
	}{
		"everything":       {recall.Search{}, nil, all},
		"from a session":   {recall.Search{Context: "workout_log", SessionID: "log"}, nil, all},
		"unshared context": {recall.Search{Context: "workout_log"}, given(unshared), userLevel},
		"all switched off": {
			recall.Search{Context: "workout_log", SessionID: "log"},
			given(off),
			map[string]int{"memory seeded": 1, "check-in": 1},
		},
		"another coach's":  {recall.Search{CoachID: "other"}, nil, noSummary},
		"some kinds":       {recall.Search{RecordTypes: []string{vector.MemoryRecord}}, nil, memories},
		"not this session": {recall.Search{ExcludeSessionID: "chat"}, nil, userLevel},
		"one context": {
			recall.Search{Contexts: []string{"coach_conversation"}}, nil, map[string]int{"message": 1, "summary": 1},
		},
	} {
		t.Run(name, func(t *testing.T) {
			tt.q.Text, tt.q.Limit, tt.q.Access = "bad knees hurt", 10, tt.access
			found := s.search("ann", tt.q)
			if diff := cmp.Diff(tt.want, kinds(found)); diff != "" || len(found.Degraded) > 0 {
				t.Errorf("degraded %v (-want +got)\n%s", found.Degraded, diff)
			}
		})
	}
}

// given returns the access of a caller that has read the preferences already.
func given(p longterm.Preferences) func(context.Context) (longterm.Access, error) {
	return func(context.Context) (longterm.Access, error) { return longterm.Access{Preferences: p}, nil }
}

// TestTheFilterLeavesOutWhatMayNotBeSeen has more hidden records than the search asks the index for. Only with the
// right filter does it find the visible one.
func TestTheFilterLeavesOutWhatMayNotBeSeen(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	for _, session := range []string{"a", "b", "c"} {
		texts := make([]string, 40)
		for i := range texts {
			texts[i] = "knees knees knees"
		}
		s.addIndexed("ann", "program_designer", session, time.Hour, texts...)
	}
	s.addIndexed("ann", "coach_conversation", "chat", 2*time.Hour, "I once spoke of knees, of ankles and of much else")
	hidden := defaults()
	hidden.Unshared = map[string]bool{"program_designer": true}
	for name, q := range map[string]recall.Search{
		"by preference": {Context: "coach_conversation", SessionID: "other", Access: given(hidden)},
		"by context":    {Contexts: []string{"coach_conversation"}},
		"by time":       {To: s.now.Add(-time.Hour - 41*time.Minute)},
	} {
		q.Text, q.Limit = "knees", 1
		if found := s.search("ann", q); len(found.Hits) != 1 || found.Hits[0].Message.SessionID != "chat" {
			t.Errorf("%s: found %v", name, kinds(found))
		}
	}
}

func TestRelevanceFallsWithAge(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.addIndexed("ann", "coach_conversation", "old", 30*24*time.Hour, "Squats with 100 kg")
	s.addIndexed("ann", "coach_conversation", "new", time.Hour, "Some squats, light ones, with the bar")
	q := recall.Search{Text: "squats 100 kg", Limit: 2}
	if found := s.search("ann", q); found.Hits[0].Message.SessionID != "old" {
		t.Errorf("without ageing the best match is %s", found.Hits[0].Message.SessionID)
	}
	q.HalfLife = 7 * 24 * time.Hour
	found := s.search("ann", q)
	if found.Hits[0].Message.SessionID != "new" {
		t.Errorf("with ageing the best match is %s", found.Hits[0].Message.SessionID)
	}
	for _, source := range []string{"embedding", "pinecone", "records"} {
		if found.Timings[source] <= 0 {
			t.Errorf("no time of %s in %v", source, found.Timings)
		}
	}
}
