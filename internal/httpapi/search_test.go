package httpapi_test

import (
	"encoding/json"
	"testing"

	"github.com/throughline/throughline/internal/testing/check"
)

// TestSearch answers with the fields of each record beside its kind and its score.
func TestSearch(t *testing.T) {
	t.Parallel()
	h, f := newContext()
	body := `{"query":"x","kinds":["message","memory"],"contexts":["workout_log"],
		"from":"2026-01-01T00:00:00Z","tokens":50}`
	answer := expect(t, h, 200, as("ann", "POST", "/v1/search", body))
	var got struct{ Items []map[string]any }
	answer.decode(t, &got)
	want := []map[string]any{
		{
			"kind": "message", "score": json.Number("0.75"), "messageId": "m1", "seq": json.Number("1"),
			"sessionId": "s1", "context": "coach_conversation",
			"coachId": "c1", "role": "user", "content": "x", "timestamp": "2026-02-05T12:00:00.000Z", "mode": "chat",
		},
		{
			"kind": "summary", "score": json.Number("0.5"), "recordType": "conversation_summary",
			"context":   "coach_conversation",
			"sessionId": "s1", "coachId": "c1", "text": "t", "fields": map[string]any{"workoutName": "Fran"},
			"occurredAt": "2026-02-05T12:00:00.000Z", "ageLabel": "just now", "inProgress": false,
		},
		{
			"kind": "memory", "score": json.Number("0.25"), "id": "memory_1", "type": "PROFILE", "content": "x", "pinned": false,
			"source": "seeded", "status": "stated", "saidAt": "2026-02-05T12:00:00.000Z",
			"createdAt": "2026-02-05T12:00:00.000Z", "updatedAt": "2026-02-05T12:00:00.000Z",
		},
		{
			"kind": "document", "score": json.Number("0.125"), "namespace": "a", "key": "k",
			"value":     map[string]any{"query": ""},
			"createdAt": "2026-02-05T12:00:00.000Z", "updatedAt": "2026-02-05T12:00:00.000Z",
		},
	}
	check.Same(t, want, got.Items, "items")
	if q := f.records; q.Query != "x" || len(q.Kinds) != 2 || len(q.Contexts) != 1 || q.From.IsZero() || *q.Tokens != 50 {
		t.Errorf("the query is %+v", q)
	}
	for body, field := range map[string]string{
		`{"query":" "}`: "query", `{"query":"x","kinds":["note"]}`: "kinds[0]", `{"query":"x","limit":101}`: "limit",
		`{"query":"x","from":"0001-01-01T00:00:00Z"}`: "from", `{"query":"x","to":"0001-01-01T00:00:00Z"}`: "to",
		`{"query":"x","from":"2026-01-02T00:00:00Z","to":"2026-01-01T00:00:00Z"}`: "to",
	} {
		expectProblem(t, h, 422, "invalid", field, as("ann", "POST", "/v1/search", body))
	}
}
