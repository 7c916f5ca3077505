package recall_test

import (
	"context"
	"fmt"
	"maps"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/recall"
	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/vector"
)

// checkIn stores and indexes a check-in.
func (s *fixture) checkIn(user conversation.UserID, c longterm.CheckIn) longterm.CheckIn {
	s.t.Helper()
	stored, _, err := s.store.CheckIns.Create(s.t.Context(), user, c, conversation.Idempotency{})
	check.OK(s.t, err)
	check.OK(s.t, s.indexer.IndexHits(s.t.Context(), user, 0, []recall.Hit{{CheckIn: &stored}}))
	return stored
}

// remember stores and indexes a memory.
func (s *fixture) remember(user conversation.UserID, m longterm.Memory) longterm.Memory {
	s.t.Helper()
	stored, _, err := s.store.Memories.Create(s.t.Context(), user, m, conversation.Idempotency{})
	check.OK(s.t, err)
	check.OK(s.t, s.indexer.IndexHits(s.t.Context(), user, 0, []recall.Hit{{Memory: &stored}}))
	return stored
}

func (s *fixture) search(user conversation.UserID, q recall.Search) recall.Found {
	s.t.Helper()
	found, err := s.Search(s.t.Context(), user, q)
	check.OK(s.t, err)
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
		"recalled":         {recall.Search{Context: "workout_log", Recalls: []string{"coach_conversation"}}, nil, all},
		"not recalled":     {recall.Search{Context: "workout_log", Recalls: []string{"program_designer"}}, nil, userLevel},
		"recalls no other": {recall.Search{Context: "workout_log", Recalls: []string{}}, nil, userLevel},
		"recalls itself":   {recall.Search{Context: "coach_conversation", Recalls: []string{"workout_log"}}, nil, all},
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

// TestAGreetingBringsNothing has a long history that begins each day with a greeting.
func TestAGreetingBringsNothing(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	for day := range 2 {
		texts := []string{"Good morning coach!", "Good morning! How are you?"}
		for i := range 20 {
			texts = append(texts, fmt.Sprintf("I did %d squats with %d kg, and my knee was fine.", i+3, 10*day+i),
				"Great, thanks for telling me. Rest well.")
		}
		s.addIndexed("ann", "coach_conversation", fmt.Sprint("day", day), time.Duration(day+1)*24*time.Hour, texts...)
	}
	for _, query := range []string{
		"hi", "thanks!", "Good morning coach", "ok great, see you later", "你好", "Привет, как дела?", "Hoi", "k",
	} {
		if got := contents(s.recall("ann", recall.MessageQuery{Query: query})); len(got) > 0 && got[0] != query {
			t.Errorf("%q brings %d messages, first %q", query, len(got), got[0])
		}
		ranked := recall.Search{Text: query, Limit: 80, Ranked: true}
		for _, h := range s.search("ann", ranked).Hits {
			if h.Message != nil && !h.Irrelevant {
				t.Errorf("a prompt for %q has %q", query, h.Message.Content)
			}
		}
	}
	if got := s.recall("ann", recall.MessageQuery{Query: "How many squats did I do?"}); len(got.Records) != 10 {
		t.Errorf("a question brings %d messages", len(got.Records))
	}
}

// TestRecordsOfAPrompt checks how many records the search of a prompt reads: one batch read has room for them.
func TestRecordsOfAPrompt(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	for session := range 2 {
		texts := make([]string, 45)
		for i := range texts {
			texts[i] = fmt.Sprintf("I ran %d km on my blue shoes.", session*45+i)
		}
		s.addIndexed("ann", "coach_conversation", fmt.Sprint("s", session), time.Hour, texts...)
	}
	for i := range 12 {
		s.remember("ann", longterm.Memory{
			Type: longterm.ProfileMemory, Source: longterm.Seeded, Content: fmt.Sprintf("The user has %d blue shoes.", i),
		})
	}
	q := recall.Search{Text: "How far did I run on my blue shoes?", Limit: recall.OneRead, Ranked: true}
	got := kinds(s.search("ann", q))
	if want := (map[string]int{"message": 74, "memory seeded": 10}); !maps.Equal(got, want) {
		t.Errorf("found %v, want %v", got, want)
	}
}

// TestARankIsTheSumOfItsFeatures checks what the manifest of a prompt says about a hit, and that only a bounded number
// of records is read for a large pool.
func TestARankIsTheSumOfItsFeatures(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	for session := range 3 {
		texts := make([]string, 50)
		for i := range texts {
			texts[i] = fmt.Sprintf("I ran %d km on my blue shoes.", session*50+i)
		}
		s.addIndexed("ann", "coach_conversation", fmt.Sprint("s", session), time.Hour, texts...)
	}
	found := s.search("ann", recall.Search{Text: "How far did I run on the shoes?", Limit: 80, Ranked: true})
	if len(found.Hits) != 80 || s.index.queries[0].TopK != 400 {
		t.Errorf("%d hits of a pool of %d", len(found.Hits), s.index.queries[0].TopK)
	}
	for _, h := range found.Hits {
		sum := 0.0
		for _, part := range h.Contributions {
			sum += part
		}
		if odds := math.Log(h.Rank / (1 - h.Rank)); math.Abs(sum-odds) > 1e-9 || h.Value() != h.Rank {
			t.Errorf("rank %v, the features %v", h.Rank, h.Contributions)
		}
	}
}
