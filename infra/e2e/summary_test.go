package e2e_test

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/throughline/throughline/infra/client"
)

type object = map[string]any

// ownFields are attributes of each context that are fields of its summary, as in unified-conversation-context,
// "Existing Pinecone Summary Inventory".
var ownFields = map[string]object{
	"coach_conversation": {},
	"coach_creator": {
		"coachName": "Jo", "selectedPersonality": "warm", "selectedMethodology": "conjugate", "experienceLevel": "novice",
		"trainingFrequency": 3.0,
	},
	"program_designer": {
		"programId": "p1", "programName": "Deadlift Prep", "conversationTurns": 4.0,
		"trainingGoals": []any{"strength", "speed"}, "equipmentConstraints": []any{"bands only"},
	},
	"training_program": {
		"programId": "p1", "programName": "Deadlift Prep", "totalDays": 28.0, "phaseNames": []any{"base", "peak"},
		"trainingGoals": []any{"strength"}, "adherenceRate": 0.85,
	},
	"workout_log": {
		"workoutId": "w1", "discipline": "crossfit", "workoutName": "Fran", "completedAt": "2026-02-05T18:30:00Z",
		"prAchievements": []any{object{"exercise": "Thruster", "weight": 43.0}, object{"exercise": "Pull-up", "reps": 15.0}},
		"metrics":        object{"timeSeconds": 245.0, "rx": true, "splits": []any{80.0, 85.0}},
	},
}

// summaryHit is a summary in the answer to a context query.
type summaryHit struct {
	RecordType, SessionID, Text string
	Fields                      object
	InProgress                  bool
}

// querySummaries asks for summaries of all record types from the coach's context.
func querySummaries(t *testing.T, api *client.Client, text string, filter object) []summaryHit {
	t.Helper()
	var found struct {
		Summaries []summaryHit
		Degraded  []any
	}
	do(t, api, http.MethodPost, "/v1/context/query", object{
		"context": "coach_conversation", "within": "3650d", "limit": 10, "query": text, "filter": filter,
		"recordTypes": []string{
			"conversation_summary", "coach_creator_summary", "program_designer_summary", "program_summary", "workout_summary",
		},
	}, &found)
	if len(found.Degraded) > 0 {
		t.Errorf("query %q is degraded: %v", text, found.Degraded)
	}
	slices.SortFunc(found.Summaries, func(a, b summaryHit) int { return strings.Compare(a.SessionID, b.SessionID) })
	return found.Summaries
}

func idsOf(hits []summaryHit) []string {
	ids := []string{}
	for _, h := range hits {
		ids = append(ids, h.SessionID)
	}
	return ids
}

// change changes a session and waits for what follows from it.
func change(t *testing.T, api *client.Client, session string, body object) {
	t.Helper()
	do(t, api, http.MethodPatch, "/v1/sessions/"+session, body, nil)
	settle(t)
}

// openWith creates a session with attributes.
func openWith(t *testing.T, api *client.Client, appContext, id string, attributes object) {
	t.Helper()
	do(t, api, http.MethodPost, "/v1/sessions", object{
		"context": appContext, "coachId": "coach", "sessionId": id, "attributes": attributes,
	}, nil)
}

func say(t *testing.T, api *client.Client, session, text string) {
	t.Helper()
	body := object{"messages": []object{{"role": "user", "content": text}}}
	do(t, api, http.MethodPost, "/v1/sessions/"+session+"/messages", body, nil)
}

// summaryFields returns the own fields of a session's summary.
func summaryFields(t *testing.T, api *client.Client, id string) object {
	t.Helper()
	var s struct{ Summary struct{ Fields object } }
	do(t, api, http.MethodGet, "/v1/sessions/"+id, nil, &s)
	return s.Summary.Fields
}

// wantFields are the own fields of a completed session's summary. What the model decides is taken from the summary, if
// it is of the right type.
func wantFields(hit summaryHit) object {
	want := maps.Clone(ownFields[hit.SessionID])
	switch hit.SessionID {
	case "program_designer", "coach_creator":
		want["sessionId"] = hit.SessionID
	case "coach_conversation":
		confidence, _ := hit.Fields["confidence"].(float64)
		hasProgress, _ := hit.Fields["hasProgress"].(bool)
		want = object{
			"conversationId": hit.SessionID, "messageCount": 1.0, "triggerReason": "completed",
			"confidence": min(max(confidence, 0.01), 1), "hasGoals": true, "hasProgress": hasProgress,
			"hasEmotionalState": true,
		}
	}
	return want
}

// TestSummariesHaveTheirOwnFields completes a session of each context, all but one of them without messages. Their
// summaries have the fields of their record types, and can be found by them.
func TestSummariesHaveTheirOwnFields(t *testing.T) {
	t.Parallel()
	api := newUser(t)
	for appContext, attributes := range ownFields {
		openWith(t, api, appContext, appContext, attributes)
		if appContext == "coach_conversation" {
			say(t, api, appContext, "My goal is to deadlift 180 kg. I feel nervous, but today I did 160 kg.")
		}
		change(t, api, appContext, object{"status": "completed"})
	}
	for _, text := range []string{"", "training"} {
		found := querySummaries(t, api, text, nil)
		if len(found) != len(ownFields) {
			t.Fatalf("query %q found %v", text, idsOf(found))
		}
		for _, hit := range found {
			want := wantFields(hit)
			if diff := cmp.Diff(want, hit.Fields); diff != "" || hit.InProgress {
				t.Errorf("query %q: fields of %s (-want +got)\n%s", text, hit.SessionID, diff)
			}
			if diff := cmp.Diff(want, summaryFields(t, api, hit.SessionID)); diff != "" {
				t.Errorf("fields of the session %s (-want +got)\n%s", hit.SessionID, diff)
			}
		}
		checkFilters(t, api, text)
	}
}

func checkFilters(t *testing.T, api *client.Client, text string) {
	t.Helper()
	for _, tt := range []struct {
		filter object
		want   []string
	}{
		{object{"discipline": "crossfit"}, []string{"workout_log"}},
		{object{"prAchievements.weight": object{"$gte": 40}}, []string{"workout_log"}},
		{object{"metrics.splits": 85, "metrics.rx": true}, []string{"workout_log"}},
		{object{"trainingGoals": []string{"strength"}}, []string{"program_designer", "training_program"}},
		{object{"adherenceRate": object{"$gt": 0.8, "$lt": 0.9}}, []string{"training_program"}},
		{object{"trainingFrequency": 3}, []string{"coach_creator"}},
		{object{"triggerReason": "completed", "hasGoals": true}, []string{"coach_conversation"}},
		{object{"discipline": "crossfit", "totalDays": 28}, []string{}},
	} {
		got := idsOf(querySummaries(t, api, text, tt.filter))
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("query %q, filter %v (-want +got)\n%s", text, tt.filter, diff)
		}
	}
}

// TestSummariesFollowTheirAttributes changes the attributes of a workout that was saved by a form, and of one with
// messages that began before it had an id.
func TestSummariesFollowTheirAttributes(t *testing.T) {
	t.Parallel()
	api := newUser(t)
	openWith(t, api, "workout_log", "form", object{"workoutName": "Fran", "discipline": "crossfit"})
	change(t, api, "form", object{"status": "completed"})
	openWith(t, api, "workout_log", "chat", nil)
	say(t, api, "chat", "I am rowing 5 km now.")
	do(t, api, http.MethodPost, "/v1/sessions/chat/leave", nil, nil)
	settle(t)
	change(t, api, "form", object{"attributes": object{"workoutName": "Grace", "discipline": nil}})
	change(t, api, "chat", object{
		"status": "completed", "attributes": object{"workoutId": "w9", "prAchievements": []object{{"exercise": "2k row"}}},
	})
	for _, text := range []string{"", "workout"} {
		found := querySummaries(t, api, text, nil)
		if diff := cmp.Diff([]string{"chat", "form"}, idsOf(found)); diff != "" {
			t.Fatalf("query %q (-want +got)\n%s", text, diff)
		}
		want := object{"workoutId": "w9", "prAchievements": []any{object{"exercise": "2k row"}}}
		if diff := cmp.Diff(want, found[0].Fields); diff != "" || found[0].InProgress {
			t.Errorf("query %q: in progress %v, fields (-want +got)\n%s", text, found[0].InProgress, diff)
		}
		if diff := cmp.Diff(object{"workoutName": "Grace"}, found[1].Fields); diff != "" ||
			!strings.Contains(found[1].Text, "Grace") || strings.Contains(found[1].Text, "Fran") {
			t.Errorf("query %q: %q, fields (-want +got)\n%s", text, found[1].Text, diff)
		}
		if got := idsOf(querySummaries(t, api, text, object{"discipline": "crossfit"})); len(got) > 0 {
			t.Errorf("query %q: a removed attribute still finds %v", text, got)
		}
		if got := idsOf(querySummaries(t, api, text, object{"workoutId": "w9"})); len(got) != 1 {
			t.Errorf("query %q: a new attribute finds %v", text, got)
		}
	}
	open(t, api, "coach_conversation", "coach")
	system := buildPrompt(t, api, "coach", "How did I do?").System
	for _, want := range []string{"Grace", "5 km", "PRs: exercise 2k row."} {
		if !strings.Contains(system, want) {
			t.Errorf("the prompt lacks %q:\n%s", want, system)
		}
	}
	if strings.Contains(system, "Fran") {
		t.Errorf("the prompt has the old name:\n%s", system)
	}
}

// TestEachSessionOfAProgramHasASummary has two sessions of one program, and deletes the newer one.
func TestEachSessionOfAProgramHasASummary(t *testing.T) {
	t.Parallel()
	api := newUser(t)
	for _, week := range []string{"week-1", "week-2"} {
		openWith(t, api, "training_program", week, object{"programId": "p", "programName": week})
		say(t, api, week, "I finished "+week+" of the program.")
		change(t, api, week, object{"status": "completed"})
	}
	check := func(want string) {
		t.Helper()
		for _, text := range []string{"", "program"} {
			if diff := cmp.Diff([]string{want}, idsOf(querySummaries(t, api, text, nil))); diff != "" {
				t.Errorf("query %q (-want +got)\n%s", text, diff)
			}
		}
		if fields := summaryFields(t, api, "week-1"); fields["programName"] != "week-1" {
			t.Errorf("the first session's summary has %v", fields)
		}
	}
	check("week-2")
	do(t, api, http.MethodDelete, "/v1/sessions/week-2", nil, nil)
	settle(t)
	check("week-1")
}

// TestFiltersAreChecked expects errors that name the field and the mend.
func TestFiltersAreChecked(t *testing.T) {
	t.Parallel()
	api := newUser(t)
	deep := any("x")
	for range 40 {
		deep = object{"a": deep}
	}
	for _, tt := range []struct {
		name  string
		value any
		field string
		mend  string
	}{
		{"nope", 1, "filter.nope", "such as discipline"},
		{"recordType", "memory", "filter.recordType", "discipline"},
		{"$or", []object{{"discipline": "x"}}, "filter.$or", "discipline"},
		{"metrics.", 1, "filter.metrics.", "metrics.distanceKm"},
		{"discipline", nil, "filter.discipline", "must be a string"},
		{"discipline", []int{1}, "filter.discipline", "1 to 20 strings"},
		{"discipline", []string{}, "filter.discipline", "1 to 20 strings"},
		{"totalDays", object{"$gte": "3"}, "filter.totalDays", `{"$gte": 0.8}`},
		{"totalDays", object{"$ne": 3}, "filter.totalDays", `{"$gte": 0.8}`},
		{"totalDays", 1e200, "filter.totalDays", "number"},
		{"metrics", object{"a": object{"b": 1}}, "filter.metrics", `{"$gte": 0.8}`},
		{"workoutName", strings.Repeat("x", 5000), "filter", "4096 bytes"},
	} {
		body := object{"context": "coach_conversation", "filter": object{tt.name: tt.value}}
		err := api.Do(t.Context(), http.MethodPost, "/v1/context/query", body, nil)
		wantProblem(t, err, http.StatusUnprocessableEntity, "invalid", tt.field)
		if !strings.Contains(err.Error(), tt.mend) {
			t.Errorf("%s: %v does not say %q", tt.name, err, tt.mend)
		}
	}
	body := object{"context": "coach_conversation", "filter": object{"metrics": deep}}
	err := api.Do(t.Context(), http.MethodPost, "/v1/context/query", body, nil)
	if err == nil || !strings.Contains(err.Error(), "nested more than ") {
		t.Errorf("a deep filter: %v", err)
	}
}
