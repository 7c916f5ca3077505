package recall_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/recall"
	"github.com/throughline/throughline/internal/testing/check"
)

// screens has the summaries of one user: two of the designer, one of the log, one of the coach.
func screens(t *testing.T) *fixture {
	s := newFixture(t)
	s.add("ann", "program_designer", "old", 40*time.Hour, "knees")
	s.summarise("ann", "program_designer", "old", "The user asked for a plan that is kind to their knees.", false)
	s.add("ann", "program_designer", "new", 2*time.Hour, "bridges")
	s.summarise("ann", "program_designer", "new", "The user wanted to swap hip thrusts for glute bridges.", false)
	s.add("ann", "workout_log", "log", 3*time.Hour, "squats")
	s.summarise("ann", "workout_log", "log", "The user logged squats, five by 100 kg.", false)
	s.add("ann", "coach_conversation", "chat", time.Hour, "hello")
	s.summarise("ann", "coach_conversation", "chat", "The user asked about squats.", false)
	return s
}

func TestQueryWithoutATextReturnsTheNewest(t *testing.T) {
	t.Parallel()
	s := screens(t)
	got := s.query("ann", recall.ContextQuery{Context: "coach_conversation", SessionID: "chat"})
	check.Same(t, []string{"new", "log", "old"}, sessions(got), "the result")
	at := s.now.Add(-2 * time.Hour)
	want := recall.SummaryHit{
		RecordType: "program_designer_summary", Context: "program_designer", SessionID: "new", CoachID: "coach",
		Text:   "The user wanted to swap hip thrusts for glute bridges.",
		Fields: map[string]any{"sessionId": "new"}, OccurredAt: conversation.FormatTime(at),
		AgeLabel: conversation.Age(at, s.now, time.UTC), Score: got.Summaries[0].Score, InProgress: true,
	}
	check.Same(t, want, got.Summaries[0], "the result")
	if n := s.embed.calls.Load(); n != 4 || len(s.index.queries) != 0 {
		t.Errorf("%d embeddings and %d queries, want only the four of the summaries", n, len(s.index.queries))
	}
}

func TestQueryIsScoped(t *testing.T) {
	t.Parallel()
	s := screens(t)
	for name, tt := range map[string]struct {
		q    recall.ContextQuery
		want []string
	}{
		"what the designer reads": {recall.ContextQuery{Context: "program_designer"}, []string{"chat"}},
		"what the log reads":      {recall.ContextQuery{Context: "workout_log"}, []string{"chat"}},
		"record types of one's own": {recall.ContextQuery{
			Context: "coach_conversation", RecordTypes: []string{"workout_summary", "conversation_summary"}, SessionID: "chat",
		}, []string{"log"}},
		"within":        {recall.ContextQuery{Context: "coach_conversation", Within: "150m"}, []string{"new"}},
		"within days":   {recall.ContextQuery{Context: "coach_conversation", Within: "2d"}, []string{"new", "log", "old"}},
		"within a day":  {recall.ContextQuery{Context: "coach_conversation", Within: "1d30m"}, []string{"new", "log"}},
		"limit":         {recall.ContextQuery{Context: "coach_conversation", Limit: new(1)}, []string{"new"}},
		"another coach": {recall.ContextQuery{Context: "coach_conversation", CoachID: "other"}, []string{}},
		"this coach": {
			recall.ContextQuery{Context: "coach_conversation", CoachID: "coach"}, []string{"new", "log", "old"},
		},
	} {
		for _, words := range []string{"", "bridges"} {
			t.Run(name+words, func(t *testing.T) {
				tt.q.Query = words
				check.Same(t, sorted(tt.want), sorted(sessions(s.query("ann", tt.q))), "the result")
			})
		}
	}
}

func TestQueryFindsTheMostRelevant(t *testing.T) {
	t.Parallel()
	s := screens(t)
	for words, want := range map[string]string{"sore knees": "old", "hip thrust swap": "new", "100 kg squats": "log"} {
		got := s.query("ann", recall.ContextQuery{Context: "coach_conversation", Query: words, Limit: new(1)})
		check.Same(t, []string{want}, sessions(got), "%s", words)
	}
}

// TestAnIndexThatLagsHidesNothing has a summary that the table has and the index has not.
func TestAnIndexThatLagsHidesNothing(t *testing.T) {
	t.Parallel()
	s := screens(t)
	s.add("ann", "program_designer", "fresh", time.Minute, "ankles")
	s.summarise("ann", "program_designer", "fresh", "The user has new shoes.", true)
	got := s.query("ann", recall.ContextQuery{Context: "coach_conversation", Query: "squats", Limit: new(2)})
	check.Same(t, []string{"log", "fresh"}, sessions(got), "the result")
}

func TestQueryFollowsPreferences(t *testing.T) {
	t.Parallel()
	s := screens(t)
	for _, words := range []string{"", "squats"} {
		q := recall.ContextQuery{Context: "coach_conversation", SessionID: "chat", Query: words}
		s.prefer("ann", func(p *preferences) { p.Unshared = map[string]bool{"program_designer": true} })
		check.Same(t, []string{"log"}, sessions(s.query("ann", q)), "the designer is not shared")
		s.prefer("ann", func(p *preferences) { p.CrossContext = false })
		if got := sessions(s.query("ann", q)); len(got) != 0 {
			t.Errorf("without sharing there is %v", got)
		}
	}
}

func TestQueryDegrades(t *testing.T) {
	t.Parallel()
	s := screens(t)
	s.index.fault = func(context.Context) error { return errors.New("down") }
	got := s.query("ann", recall.ContextQuery{Context: "coach_conversation", Query: "hip thrusts", Limit: new(2)})
	if found := sessions(got); len(found) != 2 || found[0] != "new" {
		t.Errorf("found %v", found)
	}
	check.Same(t, []string{"pinecone: is not available at the moment"}, sources(got.Degraded), "degraded")
}

func TestQueryFromASessionThatIsNotTheUsers(t *testing.T) {
	t.Parallel()
	s := screens(t)
	s.add("bob", "coach_conversation", "bobs", time.Hour, "hello")
	s.add("ann", "workout_log", "elsewhere", time.Hour, "hello")
	for _, id := range []string{"bobs", "none", "elsewhere"} {
		for _, words := range []string{"", "squats"} {
			q := recall.ContextQuery{Context: "coach_conversation", SessionID: id, Query: words}
			got, err := s.Query(t.Context(), "ann", q)
			if !fault.Is(err, fault.NotFound) || len(got.Summaries) > 0 {
				t.Errorf("session %s, query %q: %v, %v", id, words, got, err)
			}
		}
	}
}

// TestLimitsCountWhatIsLeftAfterFilters has the sessions that are asked for after more others than one page has: of
// another coach, of another context, without the field, and older ones of the same program.
func TestLimitsCountWhatIsLeftAfterFilters(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.attributes = map[string]any{"discipline": "rowing"}
	s.add("ann", "workout_log", "wanted", 20*time.Hour, "hello")
	s.summarise("ann", "workout_log", "wanted", "The user rowed.", true)
	for i := range 55 {
		id := fmt.Sprint(i)
		s.coach, s.attributes = "coach", map[string]any{"programId": "p"}
		s.add("ann", "training_program", "program-"+id, 10*time.Hour, "hello")
		s.summarise("ann", "training_program", "program-"+id, "The user trained.", true)
		if i >= 40 {
			continue
		}
		s.coach, s.attributes = "other", map[string]any{"discipline": "running"}
		s.add("ann", "workout_log", "run-"+id, 9*time.Hour, "hello")
		s.summarise("ann", "workout_log", "run-"+id, "The user ran.", true)
	}
	s.coach, s.attributes = "", nil
	for name, q := range map[string]recall.ContextQuery{
		"by context": {RecordTypes: []string{"workout_summary"}, CoachID: "coach"},
		"by coach":   {CoachID: "coach", RecordTypes: []string{"workout_summary", "conversation_summary"}},
		"by a field": {Filter: map[string]any{"discipline": "rowing"}},
		"by context, with a text that the index does not know": {
			RecordTypes: []string{"workout_summary"}, CoachID: "coach", Query: "rowed",
		},
		"by all": {Filter: map[string]any{"discipline": []any{"rowing", "swimming"}}, CoachID: "coach"},
	} {
		q.Context = "coach_conversation"
		if got := s.query("ann", q); cmp.Diff([]string{"wanted"}, sessions(got)) != "" || len(got.Degraded) > 0 {
			t.Errorf("%s: %v, degraded %v", name, sessions(got), got.Degraded)
		}
	}
}

// endlessStore has empty pages after the first one, and more of them.
type unmovedStore struct{ recall.Store }

func (u unmovedStore) Access(ctx context.Context, user conversation.UserID) (longterm.Access, error) {
	access, err := u.Store.Access(ctx, user)
	access.NotMigrated = true
	return access, err
}

// TestNotMigratedIsNamed asks for a user whose history the shared store does not have yet.
func TestNotMigratedIsNamed(t *testing.T) {
	t.Parallel()
	s := screens(t)
	service := recall.New(unmovedStore{s.store.Recall}, s.embed, s.index, recall.Options{
		Now: func() time.Time { return s.now },
	})
	messages, err := service.Messages(t.Context(), "ann", recall.MessageQuery{Query: "squats"})
	unmoved := []recall.Degradation{recall.NotMigrated}
	if err != nil || !slices.Equal(messages.Degraded, unmoved) {
		t.Errorf("recall: %+v, %v", messages, err)
	}
	for _, query := range []string{"", "squats"} {
		q := recall.ContextQuery{Context: "coach_conversation", Query: query}
		got, err := service.Query(t.Context(), "ann", q)
		if err != nil || !slices.Equal(got.Degraded, unmoved) {
			t.Errorf("query %q: degraded %v, %v", query, got.Degraded, err)
		}
	}
}

type endlessStore struct {
	recall.Store
	pages int
}

func (e *endlessStore) RecentSessions(
	ctx context.Context, user conversation.UserID, recent conversation.RecentSessions, page conversation.Page,
) ([]conversation.Session, conversation.Position, error) {
	e.pages++
	if page.After != "" {
		return nil, "more", nil
	}
	sessions, _, err := e.Store.RecentSessions(ctx, user, recent, page)
	return sessions, "more", err
}

// TestABoundOfReadingIsReported has more sessions than a query reads.
func TestABoundOfReadingIsReported(t *testing.T) {
	t.Parallel()
	s := screens(t)
	store := &endlessStore{Store: s.store.Recall}
	service := recall.New(store, s.embed, s.index, recall.Options{Now: func() time.Time { return s.now }})
	q := recall.ContextQuery{Context: "coach_conversation", Limit: new(10)}
	got, err := service.Query(t.Context(), "ann", q)
	if err != nil || store.pages != 10 || len(got.Summaries) != 3 ||
		cmp.Diff([]string{"sessions: has more sessions than one query reads"}, sources(got.Degraded)) != "" {
		t.Errorf("%d pages, degraded %v, %v", store.pages, got.Degraded, err)
	}
	s.index.fault = func(context.Context) error { return errors.New("down") }
	q.Query = "squats"
	found, err := service.Query(t.Context(), "ann", q)
	want := []string{"pinecone: is not available at the moment", "sessions: has more sessions than one query reads"}
	if diff := cmp.Diff(want, sources(found.Degraded)); diff != "" || err != nil {
		t.Errorf("without the index: %v, degraded (-want +got)\n%s", err, diff)
	}
	store.pages, q.Limit, q.Query = 0, new(2), ""
	got, err = service.Query(t.Context(), "ann", q)
	if err != nil || store.pages != 1 || len(got.Degraded) > 0 || len(got.Summaries) != 2 {
		t.Errorf("with enough in the first page: %d pages, degraded %v, %v", store.pages, got.Degraded, err)
	}
}

// waitingStore blocks reads of a session until a channel is closed.
type waitingStore struct {
	recall.Store
	until <-chan struct{}
}

func (w waitingStore) Session(ctx context.Context, user conversation.UserID, id string) (conversation.Session, error) {
	select {
	case <-w.until:
		return w.Store.Session(ctx, user, id)
	case <-ctx.Done():
		return conversation.Session{}, ctx.Err()
	}
}

func TestQueryReadsItsSessionWhileItSearches(t *testing.T) {
	t.Parallel()
	s := screens(t)
	asked := make(chan struct{})
	s.embed.fault = func(context.Context) error {
		close(asked)
		return errors.New("down")
	}
	options := recall.Options{Now: func() time.Time { return s.now }}
	service := recall.New(waitingStore{s.store.Recall, asked}, s.embed, s.index, options)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	q := recall.ContextQuery{Context: "coach_conversation", SessionID: "chat", Query: "squats"}
	if got, err := service.Query(ctx, "ann", q); err != nil || len(got.Summaries) != 3 {
		t.Errorf("%v, %v", got, err)
	}
}
