package e2e_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/throughline/throughline/infra/client"
	"github.com/throughline/throughline/infra/smoke"
	"github.com/throughline/throughline/internal/testing/check"
)

// TestSmoke runs the smoke test of a deployed stage on the local one. It works with and without the app's scope, and
// leaves nothing behind.
func TestSmoke(t *testing.T) {
	for _, scopes := range [][]string{nil, {"throughline/user"}} {
		api := newUser(t, scopes...)
		text, works := trySmoke(t, api, 30*time.Second)
		if !works {
			t.Fatalf("with the scopes %v:\n%s", scopes, text)
		}
		for _, function := range []string{"messages", "coach", "prompt", "context", "remember", "summarize"} {
			if !strings.Contains(text, "  "+function+" ") {
				t.Errorf("%s is not tried", function)
			}
		}
		var sessions struct{ Items []struct{ SessionID string } }
		do(t, api, http.MethodGet, "/v1/sessions", nil, &sessions)
		if len(sessions.Items) != 0 {
			t.Errorf("the sessions %v are left", sessions.Items)
		}
	}
}

// trySmoke runs the smoke test and returns what it prints.
func trySmoke(t *testing.T, api *client.Client, wait time.Duration) (text string, works bool) {
	t.Helper()
	var out strings.Builder
	works = smoke.Run(t.Context(), smoke.Target{API: api, Coach: api, Wait: wait, Out: &out})
	return out.String(), works
}

// TestSmokeSaysWhatFailed expects that each broken service is named, and no service that works.
func TestSmokeSaysWhatFailed(t *testing.T) {
	stack := startStack(t)
	api := client.New(stack.Base).WithToken(mintToken(t, stack, "smoke"))
	broken := map[string]any{"openai": map[string]any{"errorRate": 1}}
	do(t, client.New(stack.Base), http.MethodPost, "/dev/faults", broken, nil)
	text, _ := trySmoke(t, api, time.Second)
	for _, want := range []string{"ok      messages", "FAILED  coach", "ok      messages   deletes the session"} {
		check.Contains(t, text, want, "without a model the report")
	}
	stranger := client.New(stack.Base).WithToken("no.token.atall")
	text, works := trySmoke(t, stranger, time.Second)
	if works || !strings.Contains(text, "FAILED  messages   opens a session") || !strings.Contains(text, "1 of 2 worked") {
		t.Errorf("with a bad token the report is:\n%s", text)
	}
}
