package trace_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/throughline/throughline/infra/local/collector"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/span"
	"github.com/throughline/throughline/internal/trace"
)

// ask sends a request with a text to a service that answers with one, or fails with one, over a transport with spans.
func ask(ctx context.Context, address string, failure error) error {
	client := http.Client{Transport: trace.Transport(roundTrip(func(r *http.Request) (*http.Response, error) {
		body := io.NopCloser(strings.NewReader("a swim at noon"))
		return &http.Response{StatusCode: http.StatusOK, Body: body, Header: r.Header, Request: r}, failure
	}))}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader("my knee hurts"))
	if err != nil {
		return err
	}
	if strings.Contains(address, "dynamodb") {
		request.Header.Set("X-Amz-Target", "DynamoDB_20120810.Query")
	}
	answer, err := client.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.Header.Get(trace.TraceParent) != "" {
		return errors.New("the service gets the trace context")
	}
	_, err = io.Copy(io.Discard, answer.Body)
	return err
}

// traced runs do in an invocation and returns the spans that arrive, the invocation's last, and what was sent.
func traced(
	t *testing.T, change func(*trace.Options), caller map[string]string, do func(context.Context),
) (spans []collector.Span, sent string) {
	t.Helper()
	c, l := collector.New(), newLambda(t)
	tracer := start(t, l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		packed, err := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(packed))
		unpacked, gzipErr := gzip.NewReader(bytes.NewReader(packed))
		if err := errors.Join(err, gzipErr); err != nil {
			t.Error(err)
			return
		}
		text, err := io.ReadAll(unpacked)
		if err != nil {
			t.Error(err)
		}
		sent += string(text)
		c.ServeHTTP(w, r)
	}), change)
	l.await(1)
	l.invoke("id", never())
	ctx, finish := tracer.Begin(t.Context(), trace.Invocation{Name: "coach", RequestID: "id", Caller: caller})
	if do != nil {
		do(ctx)
	}
	finish(nil)
	l.await(2)
	spans, _ = c.Spans()
	return spans, sent
}

// TestWithoutACollectorThereIsNothing has no endpoint: nothing is built or asked, and an invocation with a span of the
// domain allocates nothing.
func TestWithoutACollectorThereIsNothing(t *testing.T) {
	l := newLambda(t)
	off, err := trace.New(t.Context(), trace.Options{RuntimeAPI: l.url, Now: time.Now})
	if off != nil || err != nil || l.registered.Load() || off.Dial() != nil {
		t.Fatalf("got %v, %v; registered: %t", off, err, l.registered.Load())
	}
	ctx := t.Context()
	if n := testing.AllocsPerRun(100, func() {
		inner, finish := off.Begin(ctx, trace.Invocation{RequestID: "id"})
		below, s := span.Start(inner, "build_prompt")
		if below != ctx {
			t.Error("the context changed")
		}
		s.Set(span.Session, "s")
		s.End(nil)
		finish(nil)
	}); n > 0 {
		t.Errorf("an invocation allocates %v times", n)
	}
	if len(trace.Caller(ctx)) > 0 {
		t.Errorf("the next function gets %v", trace.Caller(ctx))
	}
}

// TestCallersContext has what callers send. A trace context of no sense begins a trace of its own.
func TestCallersContext(t *testing.T) {
	t.Parallel()
	const id = "4bf92f3577b34da6a3ce929d0e0e4736"
	none := "00000000000000000000000000000000"
	for name, test := range map[string]struct {
		parent, state string
		want          string // the trace's id, "own" or "" for no spans
	}{
		"a caller's trace":       {"00-" + id + "-00f067aa0ba902b7-01", "vendor=1", id},
		"a later version":        {"cc-" + id + "-00f067aa0ba902b7-01-more", "", id},
		"left out by the caller": {"00-" + id + "-00f067aa0ba902b7-00", "", ""},
		"a state that is too long": {
			"00-" + id + "-00f067aa0ba902b7-01", "a=" + strings.Repeat("x", 256) + ",b=" + strings.Repeat("y", 256), id,
		},
		"bad state":               {"00-" + id + "-00f067aa0ba902b7-01", strings.Repeat("\x00=,", 9999), id},
		"no header":               {"", "", "own"},
		"a trace of zeros":        {"00-" + none + "-00f067aa0ba902b7-01", "", "own"},
		"no hexadecimal":          {"00-" + strings.Repeat("z", 32) + "-00f067aa0ba902b7-01", "", "own"},
		"a long text":             {strings.Repeat("00-", 1<<16), strings.Repeat("a=b,", 1<<16), "own"},
		"two, joined by the door": {"00-" + id + "-00f067aa0ba902b7-01,00-" + id + "-00f067aa0ba902b7-01", "", "own"},
		"a version that is none":  {"ff-" + id + "-00f067aa0ba902b7-01", "", "own"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			caller := map[string]string{trace.TraceParent: test.parent, trace.TraceState: test.state}
			var next map[string]string
			spans, _ := traced(t, nil, caller,
				func(ctx context.Context) {
					ctx, s := span.Start(ctx, "build_prompt")
					next = trace.Caller(ctx)
					s.End(nil)
				})
			switch {
			case test.want == "":
				if len(spans) > 0 || !strings.HasSuffix(next[trace.TraceParent], "-00") {
					t.Errorf("got %+v, and the next function %v", spans, next)
				}
			case len(spans) != 2:
				t.Fatalf("got %d spans, want 2", len(spans))
			case test.want == "own" && (spans[1].Parent != "" || spans[1].TraceID == id),
				test.want != "own" && spans[1].TraceID != id:
				t.Errorf("the trace is %s below %q", spans[1].TraceID, spans[1].Parent)
			case next[trace.TraceParent] != "00-"+spans[0].TraceID+"-"+spans[0].ID+"-01":
				t.Errorf("the next function gets %v, want the span %+v", next, spans[0])
			}
			if state := next[trace.TraceState]; len(state) > 512 || state != test.state && len(test.state) < 512 {
				t.Errorf("the next function gets the state %q", state)
			}
		})
	}
}

// TestRequestsHaveSpans has a request to a model and one to the table, each below the invocation's span.
func TestRequestsHaveSpans(t *testing.T) {
	t.Parallel()
	spans, _ := traced(t, nil, nil, func(ctx context.Context) {
		for _, address := range []string{"https://api.example/v1/embeddings", "https://dynamodb.example/"} {
			if err := ask(ctx, address, nil); err != nil {
				t.Error(err)
			}
		}
	})
	if len(spans) != 3 {
		t.Fatalf("got %+v", spans)
	}
	for i, want := range []string{"POST embeddings", "DynamoDB Query"} {
		if s := spans[i]; s.Name != want || s.Parent != spans[2].ID || s.Kind != "client" ||
			s.Attributes["http.response.status_code"] != "200" {
			t.Errorf("got %+v, want %s", s, want)
		}
	}
}

// TestNoTextIsSent has texts of a user, of a model and of an error, in what is asked, answered and failed.
func TestNoTextIsSent(t *testing.T) {
	t.Parallel()
	spans, sent := traced(t, nil, nil, func(ctx context.Context) {
		secret := fault.Wrap(fault.Unavailable, "chat", errors.New("secret words"))
		ctx, s := span.Start(ctx, "invoke_agent")
		_ = ask(ctx, "https://api.example/v1/responses", nil)
		if ask(ctx, "https://api.example/v1/responses", secret) == nil {
			t.Error("the request did not fail")
		}
		s.End(secret)
	})
	if len(spans) != 4 || !strings.Contains(sent, "invoke_agent") {
		t.Fatalf("got %d spans", len(spans))
	}
	for _, text := range []string{"knee", "swim", "secret"} {
		if strings.Contains(sent, text) {
			t.Errorf("%q is sent", text)
		}
	}
}

// TestSpansAreBounded has an id of a megabyte.
func TestSpansAreBounded(t *testing.T) {
	t.Parallel()
	spans, _ := traced(t, nil, nil, func(ctx context.Context) {
		_, s := span.Start(ctx, "build_prompt")
		s.Set(span.Session, strings.Repeat("x", 1<<20))
		s.End(nil)
	})
	if got := len(spans[0].Attributes[span.Session]); got != 1<<10 {
		t.Errorf("the id has %d characters", got)
	}
}

// TestErrorsHaveTheirCodes has errors of a turn, and a request that they end.
func TestErrorsHaveTheirCodes(t *testing.T) {
	t.Parallel()
	for want, err := range map[string]error{
		"unavailable": fault.Wrap(fault.Unavailable, "chat", errors.New("secret words")),
		"canceled":    context.Canceled, "timeout": context.DeadlineExceeded,
	} {
		spans, _ := traced(t, nil, nil, func(ctx context.Context) {
			_, s := span.Start(ctx, "invoke_agent")
			s.End(err)
			trace.Requested(ctx, http.MethodPost, "POST /v1/chat", http.StatusServiceUnavailable)
		})
		failed, whole := spans[0], spans[1]
		if !failed.IsError || failed.Attributes["error.type"] != want {
			t.Errorf("the turn has %+v", failed)
		}
		if !whole.IsError || whole.Name != "POST /v1/chat" || whole.Attributes["http.route"] != "/v1/chat" ||
			whole.Attributes["error.type"] != "503" {
			t.Errorf("the request has %+v", whole)
		}
	}
}
