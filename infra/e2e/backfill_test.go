package e2e_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/throughline/throughline/infra/client"
	"github.com/throughline/throughline/infra/legacy"
	"github.com/throughline/throughline/internal/testing/check"
)

// TestBackfillCallsNoModel copies an app's conversations while another user talks. No text of the copies reaches the
// model, neither in a chat nor in an embedding, and the user's session is summarised as ever.
func TestBackfillCallsNoModel(t *testing.T) {
	t.Parallel()
	model := startModel(t)
	stack := startStack(t, "INITIAL_STAGE=dual", "OPENAI_BASE_URL="+model.URL+"/v1", "OPENAI_CHAT_MODEL=gpt-6-luna",
		"OPENAI_EMBEDDING_BASE_URL="+model.URL+"/v1", "OPENAI_EMBEDDING_MODEL=text-embedding-3-small@1536")
	m := newMigrationCase(t, stack, legacy.Table{Users: 5, Sessions: 26, Messages: 600, Seed: 9})
	m.load()
	live := check.Got(client.New(stack.Base).As(t.Context(), "live"))(t)
	open(t, live, "coach_conversation", "a")
	do(t, live, http.MethodPost, "/v1/sessions/a/messages", userMessage("I sleep badly."), nil)
	ended := make(chan error, 1)
	go func() {
		_, err := m.run(t.Context(), step{"action": "backfill"})
		ended <- err
	}()
	do(t, live, http.MethodPatch, "/v1/sessions/a", object{"status": "completed"}, nil)
	eventually(t, 30*time.Second, "a summary of the live session", func() bool {
		var got struct{ Summary *struct{ Kind string } }
		do(t, live, http.MethodGet, "/v1/sessions/a", nil, &got)
		return got.Summary != nil
	})
	check.OK(t, <-ended)
	settleStack(t, stack)
	if model.live.Load() == 0 || model.copies.Load() > 0 {
		t.Errorf("the model got %d texts of the live session and %d of the copies", model.live.Load(), model.copies.Load())
	}
	if got := m.call(step{"action": "backfill"}); got.Progress.Changed > 0 || got.Progress.Sessions < 26 {
		t.Errorf("the second backfill changed %d of %d sessions", got.Progress.Changed, got.Progress.Sessions)
	}
}

// countingModel passes calls on to the offline model of the shared stack, and counts those with certain texts.
type countingModel struct {
	*httptest.Server
	live, copies atomic.Int64
}

// copied finds the contents of an app's table.
var copied = regexp.MustCompile(`\bs[0-9]+ says [0-9]+:`)

func startModel(t *testing.T) *countingModel {
	t.Helper()
	var info struct{ OpenAIBaseURL string }
	do(t, client.New(shared.Base), http.MethodGet, "/dev/info", nil, &info)
	to, err := url.Parse(strings.TrimSuffix(info.OpenAIBaseURL, "/v1"))
	check.OK(t, err)
	c, proxy := &countingModel{}, httputil.NewSingleHostReverseProxy(to)
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		if bytes.Contains(body, []byte("I sleep badly.")) {
			c.live.Add(1)
		}
		if copied.Match(body) {
			c.copies.Add(1)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(c.Close)
	return c
}
