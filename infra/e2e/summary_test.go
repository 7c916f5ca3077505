package e2e_test

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/throughline/throughline/infra/client"
	"github.com/throughline/throughline/internal/testing/check"
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
			check.Same(t, want, summaryFields(t, api, hit.SessionID), "fields of the session %s", hit.SessionID)
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
		check.Same(t, tt.want, got, "query %q, filter %v", text, tt.filter)
	}
}
