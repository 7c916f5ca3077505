package httpapi_test

import (
	"fmt"
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

// The result of a tool is in its call, wherever the page ends and whichever the order.
func TestUIResultsAcrossPages(t *testing.T) {
	t.Parallel()
	h, _, _ := newMessages(t)
	newSession(t, h, "s")
	call := func(id string) object {
		return object{"type": "tool-call", "toolCallId": id, "toolName": "weight", "input": object{"of": id}}
	}
	result := func(id string) object {
		return object{"role": "tool", "parts": []any{object{
			"type": "tool-result", "toolCallId": id, "toolName": "weight", "output": object{"kg": id},
		}}}
	}
	answer(t, h, 201, as("ann", "POST", "/v1/sessions/s/messages", object{"messages": []any{
		object{"role": "user", "content": "How heavy?"},
		object{"role": "assistant", "parts": []any{call("a"), call("b"), call("none")}},
		result("a"), result("b"),
		object{"role": "assistant", "parts": []any{call("a")}}, // another call of the same id
		result("a"),
		object{"role": "assistant", "content": "40 kg."},
	}}))
	for _, order := range []string{"asc", "desc"} {
		for limit := 1; limit <= 8; limit++ {
			path, cursor, got := fmt.Sprintf("/v1/sessions/s/ui-messages?order=%s&limit=%d", order, limit), "", ""
			for more := true; more; {
				page := answer(t, h, 200, as("ann", "GET", path+cursor))
				for _, m := range page["items"].([]any) {
					for _, p := range m.(object)["parts"].([]any) {
						if part := p.(object); part["type"] == "tool-weight" {
							got += fmt.Sprint(part["toolCallId"], part["state"], part["output"], " ")
						}
					}
				}
				next, ok := page["nextCursor"].(string)
				cursor, more = "&cursor="+next, ok
			}
			want := "aoutput-availablemap[kg:a] boutput-availablemap[kg:b] noneinput-available<nil> aoutput-availablemap[kg:a] "
			if order == "desc" {
				want = "aoutput-availablemap[kg:a] aoutput-availablemap[kg:a] boutput-availablemap[kg:b] noneinput-available<nil> "
			}
			if got != want {
				t.Errorf("%s:\n%s, want\n%s", path, got, want)
			}
		}
	}
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
