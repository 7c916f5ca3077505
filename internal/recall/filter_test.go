package recall_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/recall"
	"github.com/throughline/throughline/internal/testing/check"
)

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
		"0d", "d", "-1d", "1.5d", "36501d", "99999999999999999999d", "2days", "1d-1h", "0s", "2", "h", "1m1h", "500ms",
	} {
		_, err := s.Query(t.Context(), "ann", recall.ContextQuery{Context: "workout_log", Within: within})
		if !fault.Is(err, fault.Invalid) || len(fault.From(err).Fields) != 1 || fault.From(err).Fields[0].Field != "within" {
			t.Errorf("%q: %v", within, err)
		}
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
		s.add("ann", w.context, id, w.age, "hello")
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
		finds := func(source string, got recall.Summaries) {
			if diff := cmp.Diff(sorted(tt.want), sorted(sessions(got))); diff != "" || len(got.Degraded) > 0 {
				t.Errorf("%s, from %s: degraded %v (-want +got)\n%s", name, source, got.Degraded, diff)
			}
		}
		finds("the table", s.query("ann", q))
		q.Query = "training"
		finds("both", s.query("ann", q))
		found, err := index.Query(t.Context(), "ann", q)
		check.OK(t, err)
		finds("the index", found)
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
		check.Same(t, []string{"week-2"}, sessions(got), "query %q", text)
		want := map[string]any{"programId": "p", "adherenceRate": 0.9}
		check.Same(t, want, got.Summaries[0].Fields, "query %q: fields", text)
		q.Context, q.SessionID = "training_program", "week-2"
		check.Same(t, []string{"week-1"}, sessions(s.query("ann", q)), "query %q from the newest session", text)
	}
	s.attributes = map[string]any{"programId": "p"}
	s.add("ann", "training_program", "week-3", time.Minute, "hello")
	s.summarise("ann", "training_program", "week-3", "The user began week 3.", true)
	q := recall.ContextQuery{Context: "workout_log", RecordTypes: []string{"program_summary"}, Query: "week 1"}
	check.Same(t, []string{"week-3"}, sessions(s.query("ann", q)), "one that is not indexed")
}
