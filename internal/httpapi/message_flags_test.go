package httpapi_test

import "testing"

// TestMessagesKeptOut appends messages that are kept out of the index, or of summaries and memories, and says so.
func TestMessagesKeptOut(t *testing.T) {
	t.Parallel()
	h, _, _ := newMessages(t)
	expect(t, h, 201, as("ann", "POST", "/v1/sessions", object{
		"context": "coach_conversation", "coachId": "c", "sessionId": "s",
	}))
	given := []any{
		object{"role": "user", "content": "a", "index": false},
		object{"role": "user", "content": "b", "extract": false},
		object{"role": "user", "content": "c", "index": true, "extract": true},
	}
	got := answer(t, h, 201, as("ann", "POST", "/v1/sessions/s/messages", object{"messages": given}))
	for i, want := range []object{{"index": false}, {"extract": false}, {}} {
		m := got["messages"].([]any)[i].(object)
		for _, name := range []string{"index", "extract"} {
			if value, has := m[name]; value != want[name] || has != (want[name] != nil) {
				t.Errorf("message %d: %s is %v", i, name, value)
			}
		}
	}
}
