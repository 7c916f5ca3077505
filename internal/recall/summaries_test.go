package recall_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/recall"
)

// screens has the summaries of one user: two of the designer, one of the log, one of the coach.
func screens(t *testing.T) *fixture {
	s := newFixture(t)
	s.write("ann", "program_designer", "old", 40*time.Hour, "knees")
	s.summarise("ann", "program_designer", "old", "The user asked for a plan that is kind to their knees.", false)
	s.write("ann", "program_designer", "new", 2*time.Hour, "bridges")
	s.summarise("ann", "program_designer", "new", "The user wanted to swap hip thrusts for glute bridges.", false)
	s.write("ann", "workout_log", "log", 3*time.Hour, "squats")
	s.summarise("ann", "workout_log", "log", "The user logged squats, five by 100 kg.", false)
	s.write("ann", "coach_conversation", "chat", time.Hour, "hello")
	s.summarise("ann", "coach_conversation", "chat", "The user asked about squats.", false)
	return s
}

func TestQueryWithoutATextReturnsTheNewest(t *testing.T) {
	t.Parallel()
	s := screens(t)
	got := s.query("ann", recall.ContextQuery{Context: "coach_conversation", SessionID: "chat"})
	if diff := cmp.Diff([]string{"new", "log", "old"}, sessions(got)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	at := s.now.Add(-2 * time.Hour)
	want := recall.SummaryHit{
		RecordType: "program_designer_summary", Context: "program_designer", SessionID: "new", CoachID: "coach",
		Text:   "The user wanted to swap hip thrusts for glute bridges.",
		Fields: map[string]any{"sessionId": "new"}, OccurredAt: conversation.FormatTime(at),
		AgeLabel: conversation.Age(at, s.now, time.UTC), Score: got.Summaries[0].Score, InProgress: true,
	}
	if diff := cmp.Diff(want, got.Summaries[0]); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if s.embed.calls != 4 || len(s.index.queries) != 0 {
		t.Errorf("%d embeddings and %d queries, want only the four of the summaries", s.embed.calls, len(s.index.queries))
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
				if diff := cmp.Diff(sorted(tt.want), sorted(sessions(s.query("ann", tt.q)))); diff != "" {
					t.Errorf("(-want +got)\n%s", diff)
				}
			})
		}
	}
}

func TestQueryFindsTheMostRelevant(t *testing.T) {
	t.Parallel()
	s := screens(t)
	for words, want := range map[string]string{"sore knees": "old", "hip thrust swap": "new", "100 kg squats": "log"} {
		got := s.query("ann", recall.ContextQuery{Context: "coach_conversation", Query: words, Limit: new(1)})
		if diff := cmp.Diff([]string{want}, sessions(got)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", words, diff)
		}
	}
}

// TestAnIndexThatLagsHidesNothing has a summary that the table has and the index has not.
func TestAnIndexThatLagsHidesNothing(t *testing.T) {
	t.Parallel()
	s := screens(t)
	s.write("ann", "program_designer", "fresh", time.Minute, "ankles")
	s.summarise("ann", "program_designer", "fresh", "The user has new shoes.", true)
	got := s.query("ann", recall.ContextQuery{Context: "coach_conversation", Query: "squats", Limit: new(2)})
	if diff := cmp.Diff([]string{"log", "fresh"}, sessions(got)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestQueryFollowsPreferences(t *testing.T) {
	t.Parallel()
	s := screens(t)
	for _, words := range []string{"", "squats"} {
		q := recall.ContextQuery{Context: "coach_conversation", SessionID: "chat", Query: words}
		s.prefer("ann", func(p *preferences) { p.Unshared = map[string]bool{"program_designer": true} })
		if diff := cmp.Diff([]string{"log"}, sessions(s.query("ann", q))); diff != "" {
			t.Errorf("the designer is not shared (-want +got)\n%s", diff)
		}
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
	if diff := cmp.Diff([]string{"pinecone: is not available at the moment"}, sources(got.Degraded)); diff != "" {
		t.Errorf("degraded (-want +got)\n%s", diff)
	}
}

func TestQueryRejectsInvalidInput(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	_, err := s.Query(t.Context(), "ann", recall.ContextQuery{
		Context: "kitchen", RecordTypes: []string{"recipe"}, Within: "-3h", Limit: new(11), CoachID: "a b", SessionID: "#",
		Filter: map[string]any{
			"sourceId": "x", "discipline": nil, "totalDays": map[string]any{"$gte": "3"}, "metrics.x": []any{"a", 1},
			"programName": map[string]any{}, "workoutName": []any{}, "confidence": map[string]any{"$regex": 1},
			"adherenceRate": 0.5, "metrics.": 1, "hasGoals.x": true, "metricsx": 1,
		},
	})
	var fields []string
	for _, f := range fault.From(err).Fields {
		fields = append(fields, f.Field)
	}
	want := []string{
		"context", "recordTypes", "within", "limit", "coachId", "sessionId",
		"filter.confidence", "filter.discipline", "filter.hasGoals.x", "filter.metrics.", "filter.metrics.x",
		"filter.metricsx", "filter.programName", "filter.sourceId", "filter.totalDays", "filter.workoutName",
	}
	if diff := cmp.Diff(want, fields); diff != "" || !fault.Is(err, fault.Invalid) {
		t.Errorf("%v: fields (-want +got)\n%s", err, diff)
	}
	got := s.query("nobody", recall.ContextQuery{Context: "workout_log", Query: "x"})
	if got.Summaries == nil || got.Degraded == nil {
		t.Errorf("an empty answer has null lists: %+v", got)
	}
}

func TestQueryRejectsInvalidSpans(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	for _, within := range []string{
		"0d", "d", "-1d", "1.5d", "36526d", "99999999999999999999d", "2days", "1d-1h", "0s", "2", "h",
	} {
		_, err := s.Query(t.Context(), "ann", recall.ContextQuery{Context: "workout_log", Within: within})
		if !fault.Is(err, fault.Invalid) || len(fault.From(err).Fields) != 1 || fault.From(err).Fields[0].Field != "within" {
			t.Errorf("%q: %v", within, err)
		}
	}
}

func TestQueryFromASessionThatIsNotTheUsers(t *testing.T) {
	t.Parallel()
	s := screens(t)
	s.write("bob", "coach_conversation", "bobs", time.Hour, "hello")
	s.write("ann", "workout_log", "elsewhere", time.Hour, "hello")
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

// TestLimitsCountWhatIsLeftAfterFilters has the sessions that are asked for behind more others than one page has: of
// another coach, of another context, without the field, and older ones of the same program.
func TestLimitsCountWhatIsLeftAfterFilters(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.attributes = map[string]any{"discipline": "rowing"}
	s.write("ann", "workout_log", "wanted", 20*time.Hour, "hello")
	s.summarise("ann", "workout_log", "wanted", "The user rowed.", true)
	for i := range 55 {
		id := fmt.Sprint(i)
		s.coach, s.attributes = "coach", map[string]any{"programId": "p"}
		s.write("ann", "training_program", "program-"+id, 10*time.Hour, "hello")
		s.summarise("ann", "training_program", "program-"+id, "The user trained.", true)
		if i >= 40 {
			continue
		}
		s.coach, s.attributes = "other", map[string]any{"discipline": "running"}
		s.write("ann", "workout_log", "run-"+id, 9*time.Hour, "hello")
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

// TestABoundOfReadingIsTold has more sessions than a query reads.
func TestABoundOfReadingIsTold(t *testing.T) {
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
	store.pages, q.Limit = 0, new(2)
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

// workouts has two workout sessions and two sessions of one program, with the attributes of their record types.
func workouts(t *testing.T) *fixture {
	s := newFixture(t)
	for _, w := range []struct {
		context, session string
		age              time.Duration
		attributes       map[string]any
	}{
		{"workout_log", "fran", 3 * time.Hour, map[string]any{
			"workoutId": "w1", "discipline": "crossfit", "metrics": map[string]any{"timeSeconds": 245.0, "rx": true},
			"prAchievements": []any{map[string]any{"exercise": "Thruster", "weight": 43.0}},
		}},
		{"workout_log", "run", 2 * time.Hour, map[string]any{
			"workoutId": "w2", "discipline": "running", "workoutName": strings.Repeat("long run ", 40),
			"metrics":      map[string]any{"distanceKm": 10.0, "splits": []any{300.0, 310.0, 290.0}, "flags": []any{true}},
			"metrics.pace": "easy",
		}},
		{"training_program", "week 1", 30 * time.Hour, map[string]any{"programId": "p", "adherenceRate": 0.6}},
		{"training_program", "week 2", time.Hour, map[string]any{"programId": "p", "adherenceRate": 0.9}},
	} {
		id := strings.ReplaceAll(w.session, " ", "-")
		s.attributes = w.attributes
		s.write("ann", w.context, id, w.age, "hello")
		s.summarise("ann", w.context, id, "The user trained: "+w.session+".", false)
	}
	return s
}

// indexOnly is a store without a list of sessions.
type indexOnly struct{ recall.Store }

func (indexOnly) RecentSessions(
	context.Context, conversation.UserID, conversation.RecentSessions, conversation.Page,
) ([]conversation.Session, conversation.Position, error) {
	return nil, "", nil
}

// TestQueryFilters filters summaries by their own fields: in the table, in both, and in the index alone.
func TestQueryFilters(t *testing.T) {
	t.Parallel()
	s := workouts(t)
	index := recall.New(indexOnly{s.store.Recall}, s.embed, s.index, recall.Options{
		EmbedTimeout: 20 * time.Second, IndexTimeout: 20 * time.Second, Now: func() time.Time { return s.now },
	})
	type object = map[string]any
	long := strings.Repeat("long run ", 40)
	for name, tt := range map[string]struct {
		filter object
		want   []string
	}{
		"none":              {nil, []string{"fran", "run", "week-2"}},
		"a string":          {object{"discipline": "running"}, []string{"run"}},
		"a list of strings": {object{"discipline": []any{"running", "crossfit"}}, []string{"fran", "run"}},
		"a long string":     {object{"workoutName": long}, []string{"run"}},
		"a longer string":   {object{"workoutName": long + "x"}, []string{}},
		"long strings":      {object{"workoutName": []any{"x", long}}, []string{"run"}},
		"a nested number":   {object{"metrics.distanceKm": 10}, []string{"run"}},
		"a number as text":  {object{"metrics.distanceKm": "10"}, []string{}},
		"a nested flag":     {object{"metrics.rx": true}, []string{"fran"}},
		"a dotted name":     {object{"metrics.pace": "easy"}, []string{"run"}},
		"an item of a list": {object{"prAchievements.exercise": "Thruster"}, []string{"fran"}},
		"a number in a list of objects": {
			object{"prAchievements.weight": object{"$gte": 43}}, []string{"fran"},
		},
		"a greater number in a list": {object{"metrics.splits": object{"$gt": 309}}, []string{"run"}},
		"none so great in a list":    {object{"metrics.splits": object{"$gt": 310}}, []string{}},
		"a lesser number in a list":  {object{"metrics.splits": object{"$lte": 290}}, []string{"run"}},
		"none so little in a list":   {object{"metrics.splits": object{"$lt": 290}}, []string{}},
		"a number of a list":         {object{"metrics.splits": 310}, []string{"run"}},
		"no number of a list":        {object{"metrics.splits": 305}, []string{}},
		"between numbers of a list":  {object{"metrics.splits": object{"$gt": 300, "$lt": 310}}, []string{}},
		"a flag of a list":           {object{"metrics.flags": true}, []string{"run"}},
		"no flag of a list":          {object{"metrics.flags": false}, []string{}},
		"an object":                  {object{"metrics": "easy"}, []string{}},
		"a comparison":               {object{"adherenceRate": object{"$gte": 0.8}}, []string{"week-2"}},
		"a span":                     {object{"metrics.timeSeconds": object{"$gt": 245, "$lt": 300}}, []string{}},
		"two fields":                 {object{"discipline": "crossfit", "workoutId": "w2"}, []string{}},
	} {
		q := recall.ContextQuery{
			Context: "coach_conversation", RecordTypes: []string{"workout_summary", "program_summary"},
			Filter: tt.filter, Limit: new(10),
		}
		check := func(source string, got recall.Summaries) {
			if diff := cmp.Diff(sorted(tt.want), sorted(sessions(got))); diff != "" || len(got.Degraded) > 0 {
				t.Errorf("%s, from %s: degraded %v (-want +got)\n%s", name, source, got.Degraded, diff)
			}
		}
		check("the table", s.query("ann", q))
		q.Query = "training"
		check("both", s.query("ann", q))
		found, err := index.Query(t.Context(), "ann", q)
		if err != nil {
			t.Fatal(err)
		}
		check("the index", found)
	}
	old := recall.ContextQuery{
		Context: "coach_conversation", RecordTypes: []string{"program_summary"},
		Filter: object{"adherenceRate": object{"$lte": 0.6}},
	}
	for _, text := range []string{"", "training"} {
		old.Query = text
		if got := sessions(s.query("ann", old)); len(got) > 0 {
			t.Errorf("query %q: an older summary of the program passes the filter: %v", text, got)
		}
	}
}

// TestQueryReturnsTheNewestOfASubject has two sessions of one program, in the index and only in the table.
func TestQueryReturnsTheNewestOfASubject(t *testing.T) {
	t.Parallel()
	s := workouts(t)
	for _, text := range []string{"", "week 1"} {
		q := recall.ContextQuery{Context: "workout_log", RecordTypes: []string{"program_summary"}, Query: text}
		got := s.query("ann", q)
		if diff := cmp.Diff([]string{"week-2"}, sessions(got)); diff != "" {
			t.Errorf("query %q (-want +got)\n%s", text, diff)
		}
		want := map[string]any{"programId": "p", "adherenceRate": 0.9}
		if diff := cmp.Diff(want, got.Summaries[0].Fields); diff != "" {
			t.Errorf("query %q: fields (-want +got)\n%s", text, diff)
		}
		q.Context, q.SessionID = "training_program", "week-2"
		if diff := cmp.Diff([]string{"week-1"}, sessions(s.query("ann", q))); diff != "" {
			t.Errorf("query %q from the newest session (-want +got)\n%s", text, diff)
		}
	}
	s.attributes = map[string]any{"programId": "p"}
	s.write("ann", "training_program", "week-3", time.Minute, "hello")
	s.summarise("ann", "training_program", "week-3", "The user began week 3.", true)
	q := recall.ContextQuery{Context: "workout_log", RecordTypes: []string{"program_summary"}, Query: "week 1"}
	if diff := cmp.Diff([]string{"week-3"}, sessions(s.query("ann", q))); diff != "" {
		t.Errorf("one that is not indexed (-want +got)\n%s", diff)
	}
}
