package httpapi_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/recall"
)

// TestAnswersFitLambda finds more than an answer has room for, in characters that become one byte, four and seven
// within a string of JSON within another. Search and recall return the best that fit, and say so.
func TestAnswersFitLambda(t *testing.T) {
	t.Parallel()
	for _, character := range []string{"x", `"`, "\x00", "\u2028"} {
		content := strings.Repeat(character, 250<<10/len(character))
		h, f := newContext()
		for i := range 100 {
			f.many.Records = append(f.many.Records, recall.Record{Score: 1, Message: &conversation.Message{
				ID: fmt.Sprintf("m%d", i), Content: content, Role: conversation.RoleUser,
			}})
		}
		for _, path := range []string{"/v1/search", "/v1/recall"} {
			r := expect(t, h, 200, as("ann", "POST", path, `{"query":"all","limit":100}`))
			if !strings.Contains(string(r.body), `"m0"`) || !strings.Contains(string(r.body), `"reason":"too_large"`) {
				t.Errorf("%s: the best is not there, or the cut is not told", path)
			}
		}
	}
}

// TestPagesFitLambda appends as much as a call may have, and lists it.
func TestPagesFitLambda(t *testing.T) {
	t.Parallel()
	for _, character := range []string{"x", `"`, "\x00", "\u2028"} {
		h, _, _ := newMessages(t)
		newSession(t, h, "s1")
		var given []any
		text := func(bytes int) string { return strings.Repeat(character, bytes/len(character)) }
		for range 20 {
			given = append(given, object{"role": "user", "content": text(16 << 10), "metadata": object{"a": text(4 << 10)}})
		}
		for range 2 {
			expect(t, h, 201, post(object{"messages": given}))
		}
		expect(t, h, 200, as("ann", "GET", "/v1/sessions/s1/messages?limit=200"))
		expect(t, h, 200, as("ann", "GET", "/v1/sessions/s1/ui-messages?limit=200"))
	}
}

// TestLargeAnswersAreProblems answers with more than Lambda returns, and with as much as it does.
func TestLargeAnswersAreProblems(t *testing.T) {
	t.Parallel()
	answer := func(size int) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Request-Id", "req_1")
			_, _ = w.Write([]byte(strings.Repeat(`"`, size)))
		})
	}
	expect(t, answer(4_400_000), 200, as("ann", "GET", "/"))
	p := expectProblem(t, answer(4_400_001), 413, "too_large", "", as("ann", "GET", "/"))
	if p.RequestID != "req_1" {
		t.Errorf("the request is %q", p.RequestID)
	}
}
