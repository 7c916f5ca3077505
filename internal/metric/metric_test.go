package metric_test

import (
	"strings"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/metric"
	"github.com/throughline/throughline/internal/testing/check"
)

// golden is one line of CloudWatch's embedded metric format: one object with the values, and the directive in _aws.
const golden = `{"Degraded.pinecone":1,"Duration":25,"Function":"prompt","PromptTokens":812,"Stack":"app",` +
	`"_aws":{"CloudWatchMetrics":[{"Namespace":"Throughline","Dimensions":[["Function","Stack"]],"Metrics":[` +
	`{"Name":"Degraded.pinecone","Unit":"Count"},{"Name":"Duration","Unit":"Milliseconds"},` +
	`{"Name":"PromptTokens","Unit":"Count"}]}],"Timestamp":1770316200025},` +
	`"requestId":"req-1"}` + "\n"

func TestOneLineForEachInvocation(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 2, 5, 18, 30, 0, 0, time.UTC)
	var out strings.Builder
	recorder := metric.NewRecorder(&out, "app", "prompt", func() time.Time { return now })

	ctx, end := recorder.Begin(t.Context(), "req-1")
	metric.Add(ctx, "PromptTokens", 800, metric.Count)
	metric.Add(ctx, "PromptTokens", 12, metric.Count)
	metric.Add(ctx, "Degraded.pinecone", 1, metric.Count)
	now = now.Add(25 * time.Millisecond)
	end()

	check.Same(t, golden, out.String(), "EMF line")
}

func TestOutsideAnInvocationNothingIsWritten(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	_, end := metric.NewRecorder(&out, "app", "prompt", time.Now).Begin(t.Context(), "req-1")
	metric.Add(t.Context(), "PromptTokens", 1, metric.Count) // the test's context is of no invocation
	if out.Len() != 0 {
		t.Errorf("written before the invocation ended: %s", out.String())
	}
	if end(); !strings.Contains(out.String(), `"Duration"`) || strings.Contains(out.String(), "PromptTokens") {
		t.Errorf("the invocation's line is %s", out.String())
	}
}
