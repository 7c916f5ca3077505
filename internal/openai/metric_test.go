package openai_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/llm"
	"github.com/throughline/throughline/internal/metric"
	"github.com/throughline/throughline/internal/testing/check"
)

// counted returns the counts of calls and failures that do adds to the metrics.
func counted(t *testing.T, do func(ctx context.Context)) map[string]float64 {
	t.Helper()
	var line strings.Builder
	ctx, end := metric.NewRecorder(&line, "app", "coach", time.Now).Begin(t.Context(), "")
	do(ctx)
	end()
	all := map[string]any{}
	check.OK(t, json.Unmarshal([]byte(line.String()), &all))
	out := map[string]float64{}
	for name, value := range all {
		if n, ok := value.(float64); ok && name != "Duration" {
			out[name] = n
		}
	}
	return out
}

// TestCallsAreCounted checks that each call is counted once, however often it was tried, and each failure by its kind.
func TestCallsAreCounted(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		status int
		kind   string
		want   map[string]float64
	}{
		"answers":     {200, "", map[string]float64{"ModelCalls": 1, "ModelFailures": 0}},
		"wrong key":   {401, "", map[string]float64{"ModelCalls": 1, "ModelFailures": 1, "ModelFailures.key": 1}},
		"bad request": {400, "", map[string]float64{"ModelCalls": 1, "ModelFailures": 1, "ModelFailures.refused": 1}},
		"limited":     {429, "", map[string]float64{"ModelCalls": 1, "ModelFailures": 1, "ModelFailures.limit": 1}},
		"nothing left": {
			429, "insufficient_quota",
			map[string]float64{"ModelCalls": 1, "ModelFailures": 1, "ModelFailures.quota": 1},
		},
		"out of order":  {500, "", map[string]float64{"ModelCalls": 1, "ModelFailures": 1, "ModelFailures.down": 1}},
		"no connection": {0, "", map[string]float64{"ModelCalls": 1, "ModelFailures": 1, "ModelFailures.down": 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client, _ := service(t, func(w http.ResponseWriter, _ *http.Request) {
				switch tt.status {
				case 0:
					panic(http.ErrAbortHandler)
				case http.StatusOK:
					io.WriteString(w, plainAnswer)
				default:
					sendError(w, tt.status, tt.kind, "")
				}
			})
			got := counted(t, func(ctx context.Context) {
				_, _ = client.Complete(ctx, llm.Request{Messages: []llm.Message{{Role: "user", Content: "hello"}}})
			})
			check.Same(t, tt.want, got, "counted")
		})
	}
}

// TestEmbeddingsAndLateCallsAreCountedApart checks that the embedding model has counts of its own, and that a deadline
// of the caller's is no failure of the service's.
func TestEmbeddingsAndLateCallsAreCountedApart(t *testing.T) {
	t.Parallel()
	client, _ := service(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	})
	got := counted(t, func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
		defer cancel()
		_, _ = client.Embed(ctx, []string{"hello"})
	})
	want := map[string]float64{"EmbeddingCalls": 1, "EmbeddingFailures": 0, "EmbeddingFailures.late": 1}
	check.Same(t, want, got, "counted")
}

// TestAStreamThatBreaksIsCounted has a stream that ends without a finish reason.
func TestAStreamThatBreaksIsCounted(t *testing.T) {
	t.Parallel()
	client, _ := service(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, `data: {"choices":[{"index":0,"delta":{"content":"Re"}}]}`+"\n\n")
	})
	got := counted(t, func(ctx context.Context) {
		_, _ = client.Stream(ctx, llm.Request{Messages: []llm.Message{{Role: "user", Content: "hello"}}},
			func(string) error { return nil })
	})
	want := map[string]float64{"ModelCalls": 2, "ModelFailures": 1, "ModelFailures.down": 1}
	check.Same(t, want, got, "counted")
}
