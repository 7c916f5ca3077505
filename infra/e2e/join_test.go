package e2e_test

import (
	"bufio"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/throughline/throughline/infra/client"
	"github.com/throughline/throughline/internal/testing/check"
)

// TestJoinAnswer joins an answer while the model is slow. The one who joins gets the chunks of the first stream,
// another user gets nothing, and afterwards there is nothing to join.
func TestJoinAnswer(t *testing.T) {
	t.Parallel()
	stack := startStack(t)
	ann := check.Got(client.New(stack.Base).As(t.Context(), "ann"))(t)
	open(t, ann, "coach_conversation", "s")
	do(t, client.New(stack.Base), http.MethodPost, "/dev/faults", object{"openai": object{"latencyMs": 4_000}}, nil)
	call := func(user, method, path, body string) *http.Response {
		t.Helper()
		r := check.Got(http.NewRequestWithContext(t.Context(), method, stack.Base+path, strings.NewReader(body)))(t)
		r.Header.Set("Authorization", "Bearer "+mintToken(t, stack, user))
		if body != "" {
			r.Header.Set("Content-Type", "application/json")
		}
		answer := check.Got(http.DefaultClient.Do(r))(t)
		t.Cleanup(func() { answer.Body.Close() })
		return answer
	}
	chat := func() *http.Response {
		return call("ann", "POST", "/v1/chat?stream=ui", `{"sessionId":"s","message":"What helps my knee?"}`)
	}
	first := chat()
	begun := bufio.NewReader(first.Body)
	line, err := begun.ReadString('\n')
	if err != nil || !strings.HasPrefix(line, `data: {"type":"start","messageId":"msg_`) {
		t.Fatalf("%d, %q, %v", first.StatusCode, line, err)
	}
	joined := call("ann", "GET", "/v1/chat/s/stream", "")
	if joined.StatusCode != 200 || joined.Header.Get("X-Vercel-Ai-Ui-Message-Stream") != "v1" {
		t.Fatalf("join: %d %v", joined.StatusCode, joined.Header)
	}
	if other := call("bob", "GET", "/v1/chat/s/stream", ""); other.StatusCode != 404 {
		t.Errorf("another user joins: %d", other.StatusCode)
	}
	rest := check.Got(io.ReadAll(begun))(t)
	all := check.Got(io.ReadAll(joined.Body))(t)
	if want, got := words(line+string(rest)), words(string(all)); want != got || !strings.Contains(want, `"finish"`) {
		t.Errorf("the first stream\n%s\nthe one that was joined\n%s", want, got)
	}
	eventually(t, 10*time.Second, "nothing to join", func() bool {
		return call("ann", "GET", "/v1/chat/s/stream", "").StatusCode == 204
	})
}

// words returns a stream of chunks with the deltas of its text joined.
func words(stream string) string {
	const between = `"}` + "\n\n" + `data: {"type":"text-delta","id":"text","delta":"`
	return strings.ReplaceAll(stream, between, "")
}
