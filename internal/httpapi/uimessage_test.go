package httpapi_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/throughline/throughline/internal/testing/check"
)

// TestUIMessages lists a session's messages as useChat holds them, page by page.
func TestUIMessages(t *testing.T) {
	t.Parallel()
	h, _, _ := newMessages(t)
	newSession(t, h, "s")
	at := "2026-02-05T12:00:00.000Z"
	stored := answer(t, h, 201, as("ann", "POST", "/v1/sessions/s/messages", object{"messages": []any{
		object{"role": "user", "content": "Rest?", "timestamp": at, "metadata": object{"page": "home"}},
		object{"role": "user", "content": "Or \n not?", "metadata": object{"timestamp": "its own"}},
	}}))["messages"].([]any)
	text := func(text string) []any { return []any{object{"type": "text", "text": text}} }
	want := []any{
		object{
			"id": stored[0].(object)["messageId"], "role": "user", "metadata": object{"page": "home", "timestamp": at},
			"parts": text("Rest?"),
		},
		object{
			"id": stored[1].(object)["messageId"], "role": "user", "metadata": object{"timestamp": "its own"},
			"parts": text("Or \n not?"),
		},
	}
	const path = "/v1/sessions/s/ui-messages?limit=1"
	first := answer(t, h, 200, as("ann", "GET", path))
	next := path + "&cursor=" + first["nextCursor"].(string)
	second := answer(t, h, 200, as("ann", "GET", next))
	got := append(first["items"].([]any), second["items"].([]any)...)
	if diff := cmp.Diff(want, got); diff != "" || second["nextCursor"] != nil {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
	expectProblem(t, h, 404, "not_found", "", as("bob", "GET", path))
}

// A user's own token may send files. A page gets each as the AI SDK has it, with its address or the app's name of it.
func TestUIFiles(t *testing.T) {
	t.Parallel()
	h, _, _ := newMessages(t)
	newSession(t, h, "s")
	address := "https://app.example/knee.png"
	answer(t, h, 201, as("ann", "POST", "/v1/sessions/s/messages", object{"messages": []any{
		object{"role": "user", "parts": []any{
			object{"type": "file", "mediaType": "image/png", "url": address, "alt": "my knee"},
			object{"type": "file", "mediaType": "text/csv", "dataRef": "f1", "filename": "log.csv"},
		}},
	}}))
	shown := answer(t, h, 200, as("ann", "GET", "/v1/sessions/s/ui-messages"))["items"].([]any)[0].(object)["parts"]
	want := []any{
		object{"type": "file", "mediaType": "image/png", "url": address},
		object{"type": "file", "mediaType": "text/csv", "filename": "log.csv", "url": "f1"},
	}
	check.Same(t, want, shown, "parts")
	stored := answer(t, h, 200, as("ann", "GET", "/v1/sessions/s/messages"))["items"].([]any)[0].(object)
	if stored["content"] != "[image: my knee]\n[file: log.csv]" || len(stored["parts"].([]any)) != 2 {
		t.Errorf("stored: %v", stored)
	}
}
