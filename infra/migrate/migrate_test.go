package migrate

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sfn"

	"github.com/throughline/throughline/infra/local/lambdaapi"
	"github.com/throughline/throughline/internal/dynamo/preflight"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/invoke"
	"github.com/throughline/throughline/internal/migration"
	"github.com/throughline/throughline/internal/testing/check"
)

// function is a migrate function that needs two calls for a segment and finds a difference in the segments of odd
// numbers.
type function struct {
	mu    sync.Mutex
	calls []migration.Request
}

func (f *function) handle(_ context.Context, in migration.Request) (answer, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, in)
	out := answer{Answer: migration.Answer{Stage: migration.Dual, Percent: 100, Backfilled: 100, Done: true}}
	out.Progress = migration.Progress{Action: migration.Verify, Percent: 100, Items: 90, Sessions: 40, Messages: 700}
	switch {
	case in.Action == "advance":
		return out, invoke.Error(fault.New(fault.Conflict, "a verify has to go through first"))
	case in.Action != "status" && in.Checkpoint == "":
		return answer{Answer: migration.Answer{Checkpoint: "next"}}, nil
	case in.Segment%2 == 1:
		out.Mismatches = []migration.Mismatch{{UserID: "u", SessionID: "s", Reason: "message 3 differs"}}
	}
	if in.DryRun {
		out.Forecast = &migration.Forecast{Messages: 10, WriteUnits: 30, Seconds: 5, USD: 0.5}
	}
	return out, nil
}

// start serves a function as the local stack does, and returns the stack's address.
func (f *function) start(t *testing.T) string {
	t.Helper()
	runtime := lambdaapi.NewRuntime(slog.New(slog.DiscardHandler))
	runtime.Register("throughline-migrate", f.handle, time.Minute)
	functions := httptest.NewServer(runtime.Handler())
	t.Cleanup(functions.Close)
	stack := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]any{
			"lambdaEndpoint": functions.URL, "functions": map[string]string{"migrate": "throughline-migrate"},
		})
	}))
	t.Cleanup(stack.Close)
	return stack.URL
}

// step takes a step on the local stack at an address.
func step(t *testing.T, o Options) (isClear bool, out string, err error) {
	t.Helper()
	o.Percent = 100
	var stdout bytes.Buffer
	isClear, err = Take(t.Context(), o, &stdout)
	return isClear, stdout.String(), err
}

func TestSegmentsAreCalledToTheirEnd(t *testing.T) {
	t.Parallel()
	f := &function{}
	isClear, out, err := step(t, Options{Base: f.start(t), Action: "verify", Segments: 4, Rate: 200})
	if isClear || err != nil {
		t.Errorf("clear: %v, %v", isClear, err)
	}
	want := `stage       dual for 100% of the users
backfilled  100% of the users
verify      100%: 90 records read, 40 sessions, 0 of them changed, 700 messages, 0 problems
  s of u: message 3 differs
  s of u: message 3 differs
`
	check.Same(t, want, out, "the report differs")
	calls := map[string]int{}
	for _, c := range f.calls {
		if c.Action == "verify" {
			calls[c.Checkpoint]++
		}
		if c.Action == "verify" && (c.TotalSegments != 4 || c.RateLimit != 50) {
			t.Errorf("a segment was called with %+v, want 4 segments at 50 messages a second each", c)
		}
	}
	check.Same(t, map[string]int{"": 4, "next": 4}, calls, "the calls by checkpoint differ")
}

func TestForecastIsTheSumOfTheSegments(t *testing.T) {
	t.Parallel()
	f := &function{}
	isClear, out, err := step(t, Options{Base: f.start(t), Action: "backfill", Segments: 3, DryRun: true})
	want := "forecast    0 sessions, 30 messages, 0 records written, 90 write units, 0 read units, 5s, 1.50 USD\n"
	if isClear || err != nil || !strings.Contains(out, want) {
		t.Errorf("clear: %v, %v:\n%s", isClear, err, out)
	}
}

func TestReportAsJSON(t *testing.T) {
	t.Parallel()
	f := &function{}
	isClear, out, err := step(t, Options{Base: f.start(t), Action: "verify", Segments: 1, JSON: true})
	var got answer
	if wrong := json.Unmarshal([]byte(out), &got); err != nil || wrong != nil || !isClear ||
		got.Progress.Messages != 700 || got.Mismatches == nil {
		t.Errorf("clear: %v, %v:\n%s", isClear, err, out)
	}
}

func TestRefusalIsOneLine(t *testing.T) {
	t.Parallel()
	f := &function{}
	_, out, err := step(t, Options{Base: f.start(t), Action: "advance", To: "shared", Segments: 8})
	if err == nil || out != "" || err.Error() != "a verify has to go through first" {
		t.Errorf("%q, %v", out, err)
	}
}

// TestStateMachine runs an execution of a service that has answers ready.
func TestStateMachine(t *testing.T) {
	t.Parallel()
	const arn = "arn:aws:states:us-east-1:123456789012:execution:throughline-migrate-segments:1"
	outcome := map[string]any{"executionArn": arn, "status": "SUCCEEDED"}
	var started map[string]any
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := outcome
		if strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".StartExecution") {
			_ = json.NewDecoder(r.Body).Decode(&started)
			answer = map[string]any{"executionArn": arn}
		}
		_ = json.NewEncoder(w).Encode(answer)
	}))
	defer server.Close()
	s := &service{
		machine: machineARN("arn:aws:lambda:us-east-1:123456789012:function:throughline-migrate"),
		machines: sfn.New(sfn.Options{
			Region: "us-east-1", BaseEndpoint: &server.URL,
			Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
		}),
	}
	outcome["output"] = `{"status":{},"mismatches":[[],[{"userId":"u","sessionId":"s","reason":"differs"}]]}`
	gathered := &segmentAnswers{}
	in := migration.Request{Action: "verify", TotalSegments: 2}
	if err := s.execute(t.Context(), in, gathered); err != nil || len(gathered.mismatches) != 1 {
		t.Errorf("got %+v and %v, want one mismatch", gathered.mismatches, err)
	}
	want := map[string]any{
		"stateMachineArn": "arn:aws:states:us-east-1:123456789012:stateMachine:throughline-migrate-segments",
		"input":           `{"action":"verify","totalSegments":2}`,
	}
	check.Same(t, want, started, "the execution differs")
	outcome["status"], outcome["error"], outcome["cause"] = "FAILED", "SegmentsFailed", "segments [1] of 2 failed"
	err := s.execute(t.Context(), in, gathered)
	if err == nil || !strings.Contains(err.Error(), "FAILED: SegmentsFailed: segments [1] of 2 failed") {
		t.Errorf("got %v, want the cause", err)
	}
}

// TestPrinter prints the progress of a verify, but not that of the backfill before it, and the findings of a preflight.
func TestPrinter(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	p := &printer{out: &out, action: "verify", now: func() time.Time { return time.Time{} }}
	for _, action := range []migration.Action{migration.Backfill, migration.Verify} {
		p.line(answer{Answer: migration.Answer{Progress: migration.Progress{Action: action, Percent: 40, Sessions: 3}}})
	}
	p.report(answer{Findings: []preflight.Finding{
		{Check: "keys", Level: preflight.OK, Found: "pk, sk"},
		{Check: "deletion protection", Level: preflight.Warning, Found: "off", Breaks: "one call deletes all"},
	}})
	for text, want := range map[string]int{
		"backfill  40%": 0, "verify  40%  3 sessions": 1, "keys: pk, sk\n": 1,
		"deletion protection: off\n": 1, "breaks: one call deletes all\n": 1,
	} {
		if got := strings.Count(out.String(), text); got != want {
			t.Errorf("%q is printed %d times, want %d:\n%s", text, got, want, &out)
		}
	}
}
