package statemachine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/throughline/throughline"
	"github.com/throughline/throughline/infra/local/lambdaapi"
	"github.com/throughline/throughline/infra/local/template"
	"github.com/throughline/throughline/infra/statemachine"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/invoke"
	"github.com/throughline/throughline/internal/testing/check"
)

const arn = "arn:aws:lambda:us-east-1:123456789012:function:throughline-migrate"

// request is what the state machine calls the function with.
type request struct {
	Action        string
	Segment       *int
	TotalSegments int
	RateLimit     int
	Checkpoint    string
}

// response is the function's answer, as far as the state machine reads it.
type response struct {
	Progress   progress `json:"progress"`
	Mismatches []string `json:"mismatches"`
	Done       bool     `json:"done"`
	Checkpoint string   `json:"checkpoint,omitempty"`
}

type progress struct {
	Messages int `json:"messages"`
}

// function is a migrate function that needs three calls for a segment. It fails in the ways that a test asks for.
type function struct {
	mu        sync.Mutex
	calls     map[string]int
	rates     map[int]bool
	throttled bool // the service has refused a call of segment 1
	refuses   int  // the segment that is refused; -1 for none
}

func (f *function) handle(_ context.Context, in request) (response, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if in.Action == "status" {
		f.calls["status"]++
		return response{Progress: progress{Messages: 7}, Done: true}, nil
	}
	f.rates[in.RateLimit] = true
	call := fmt.Sprintf("%s %d of %d after %q", in.Action, *in.Segment, in.TotalSegments, in.Checkpoint)
	f.calls[call]++
	switch {
	case *in.Segment == f.refuses:
		return response{}, invoke.Error(fault.New(fault.Conflict, "the stage is embedded"))
	case *in.Segment == 0 && f.calls[call] == 1 && in.Checkpoint == "second":
		return response{}, errors.New("the process of the function ended")
	case in.Checkpoint == "":
		return response{Checkpoint: "first"}, nil
	case in.Checkpoint == "first":
		return response{Checkpoint: "second"}, nil
	}
	return response{Done: true, Mismatches: []string{"first", "second"}[:min(2, *in.Segment)]}, nil
}

// throttle refuses the first call of segment 1, as the service does when the function's concurrency is used up.
func (f *function) throttle(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		refuse := !f.throttled && f.calls[`backfill 0 of 3 after ""`] > 0
		f.throttled = f.throttled || refuse
		f.mu.Unlock()
		if refuse {
			w.Header().Set("X-Amzn-Requestid", "throttled")
			w.Header().Set("X-Amzn-Errortype", "TooManyRequestsException")
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (f *function) start(t *testing.T) *statemachine.Engine {
	t.Helper()
	runtime := lambdaapi.NewRuntime(slog.New(slog.DiscardHandler))
	runtime.Register("throughline-migrate", f.handle, time.Minute)
	server := httptest.NewServer(f.throttle(runtime.Handler()))
	t.Cleanup(server.Close)
	engine := check.Got(statemachine.Start(t.Context(), server.URL, arn))(t)
	t.Cleanup(func() {
		if err := engine.Stop(); err != nil {
			t.Error(err)
		}
	})
	return engine
}

func execute(t *testing.T, engine *statemachine.Engine, input any) statemachine.Execution {
	t.Helper()
	return check.Got(engine.Execute(input))(t)
}

// TestSubstitutions compares the names that the definition leaves open with those that the template gives it.
func TestSubstitutions(t *testing.T) {
	t.Parallel()
	tpl := check.Got(template.Parse(throughline.Template, nil))(t)
	var machine struct {
		DefinitionURI           string `json:"DefinitionUri"`
		DefinitionSubstitutions map[string]string
	}
	check.OK(t, json.Unmarshal(tpl.Resources["MigrateSegments"].Properties, &machine))
	if machine.DefinitionURI != "infra/statemachine/segments.asl.json" {
		t.Errorf("the template's definition is %s", machine.DefinitionURI)
	}
	open := map[string]bool{}
	for _, found := range regexp.MustCompile(`\$\{(.*?)\}`).FindAllSubmatch(statemachine.Segments, -1) {
		open[string(found[1])] = true
	}
	want, got := slices.Sorted(maps.Keys(open)), slices.Sorted(maps.Keys(machine.DefinitionSubstitutions))
	if diff := cmp.Diff(want, got); diff != "" || len(want) == 0 {
		t.Errorf("the names in the definition and in the template (-definition +template)\n%s", diff)
	}
}

// TestSegments executes the definition. One engine does it all, because it takes seconds to start.
func TestSegments(t *testing.T) {
	f := &function{calls: map[string]int{}, rates: map[int]bool{}, refuses: -1}
	engine := f.start(t)

	// Every segment is called until it is done, each time with the last checkpoint. The throttled call and the failed one
	// are repeated.
	got := execute(t, engine, map[string]any{"action": "backfill", "totalSegments": 3, "rateLimit": 50})
	var output struct {
		Status     progress
		Mismatches [][]string
	}
	if err := json.Unmarshal([]byte(got.Output), &output); err != nil || got.Status != "SUCCEEDED" {
		t.Fatalf("got %+v, want an output", got)
	}
	if output.Status.Messages != 7 {
		t.Errorf("got the output %s, want the function's status", got.Output)
	}
	check.Same(t, [][]string{{}, {"first"}, {"first"}}, output.Mismatches, "the mismatches differ")
	want := map[string]int{"status": 1}
	for segment := range 3 {
		for _, checkpoint := range []string{"", "first", "second"} {
			want[fmt.Sprintf("backfill %d of 3 after %q", segment, checkpoint)] = 1
		}
	}
	want[`backfill 0 of 3 after "second"`] = 2
	check.Same(t, want, f.calls, "the calls differ")
	if rates := slices.Collect(maps.Keys(f.rates)); len(rates) != 1 || rates[0] != 50 {
		t.Errorf("the calls had the rate limits %v, want 50", rates)
	}

	// A refusal is not repeated, names the segment, and leaves the others to go on.
	f.calls, f.refuses = map[string]int{}, 2
	got = execute(t, engine, map[string]any{"action": "verify", "totalSegments": 4})
	if got.Status != "FAILED" || got.Error != "SegmentsFailed" ||
		!strings.HasPrefix(got.Cause, "segments [2] of 4 failed") || !strings.Contains(got.Cause, "conflict") {
		t.Errorf("got %+v, want the failed segment's name", got)
	}
	if n := f.calls[`verify 2 of 4 after ""`]; n != 1 {
		t.Errorf("the refused segment was called %d times", n)
	}
	if n := f.calls[`verify 3 of 4 after "second"`]; n != 1 {
		t.Errorf("segment 3 was ended %d times", n)
	}

	for _, input := range []map[string]any{
		{"action": "verify"},
		{"action": "verify", "totalSegments": 0},
		{"action": "verify", "totalSegments": 1001},
		{"action": "verify", "totalSegments": "4"},
		{"totalSegments": 4},
	} {
		if got := execute(t, engine, input); got.Status != "FAILED" || got.Error != "invalid" {
			t.Errorf("the input %v ended with %+v", input, got)
		}
	}
}
