package trace_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/throughline/throughline/infra/local/collector"
	"github.com/throughline/throughline/internal/chat"
	"github.com/throughline/throughline/internal/config"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/llm"
	"github.com/throughline/throughline/internal/trace"
)

// model answers with a text, in two pieces.
type model struct{ err error }

func (m model) Stream(_ context.Context, _ llm.Request, emit func(string) error) (llm.Completion, error) {
	if m.err != nil {
		return llm.Completion{}, m.err
	}
	if err := errors.Join(emit("a swim "), emit("at noon")); err != nil {
		return llm.Completion{}, err
	}
	usage := llm.Usage{PromptTokens: 90, CachedTokens: 60, CompletionTokens: 7, TotalTokens: 97}
	return llm.Completion{Text: "a swim at noon", Model: "m-1", FinishReason: "stop", Usage: usage}, nil
}

var request = llm.Request{Model: "m", MaxTokens: 50, Messages: []llm.Message{
	{Role: "system", Content: "You are Mia."}, {Role: "user", Content: "my knee hurts"},
}}

func stream(t *testing.T, ctx context.Context, m chat.Streamer) error {
	t.Helper()
	_, err := m.Stream(ctx, request, func(string) error { return nil })
	return err
}

// traced runs do in an invocation and returns the spans that arrive, the invocation's last.
func traced(
	t *testing.T, change func(*trace.Options), caller map[string]string, do func(context.Context, *trace.Tracer),
) []collector.Span {
	t.Helper()
	spans, l := collector.New(), newLambda(t)
	tracer := start(t, l, spans, change)
	l.await(1)
	l.invoke("id", never())
	ctx, finish := tracer.Begin(t.Context(), trace.Invocation{Name: "coach", RequestID: "id", Caller: caller})
	if do != nil {
		do(ctx, tracer)
	}
	finish(nil)
	l.await(2)
	got, _ := spans.Spans()
	return got
}

// TestWithoutACollectorThereIsNothing has no endpoint: nothing is built, asked or wrapped, and an invocation allocates
// nothing.
func TestWithoutACollectorThereIsNothing(t *testing.T) {
	l := newLambda(t)
	off, err := trace.New(t.Context(), trace.Options{RuntimeAPI: l.url, Now: time.Now})
	if off != nil || err != nil || l.registered.Load() {
		t.Fatalf("got %v, %v; registered: %t", off, err, l.registered.Load())
	}
	m := model{}
	if off.Streamer(m, trace.Model{}) != chat.Streamer(m) || off.Router(nil) != nil || off.TurnStore(nil) != nil ||
		off.Archive(nil) != nil || off.MessageStore(nil) != nil || off.Memories(nil) != nil || off.Documents(nil) != nil ||
		off.Embedder(nil, trace.Model{}) != nil || off.Completer(nil, trace.Model{}) != nil {
		t.Error("something is wrapped")
	}
	ctx := t.Context()
	if n := testing.AllocsPerRun(100, func() {
		inner, finish := off.Begin(ctx, trace.Invocation{RequestID: "id"})
		_, caller, end := off.Invoke(inner, "prompt")
		if inner != ctx || caller != nil {
			t.Error("the context or the headers changed")
		}
		end(nil)
		finish(nil)
	}); n > 0 {
		t.Errorf("an invocation allocates %v times", n)
	}
}

// TestCallersContext has what callers send. A trace context of no sense begins a trace of its own.
func TestCallersContext(t *testing.T) {
	t.Parallel()
	const id = "4bf92f3577b34da6a3ce929d0e0e4736"
	none := "00000000000000000000000000000000"
	for name, test := range map[string]struct {
		parent, state string
		share         float64
		want          string // the trace's id, "own" or "" for no spans
	}{
		"a caller's trace":        {"00-" + id + "-00f067aa0ba902b7-01", "vendor=1", 1, id},
		"a later version":         {"cc-" + id + "-00f067aa0ba902b7-01-more", "", 1, id},
		"left out by the caller":  {"00-" + id + "-00f067aa0ba902b7-00", "", 1, ""},
		"more than the share":     {"00-" + id + "-00f067aa0ba902b7-01", "", 0, ""},
		"bad state":               {"00-" + id + "-00f067aa0ba902b7-01", strings.Repeat("\x00=,", 9999), 1, id},
		"no header":               {"", "", 1, "own"},
		"a trace of zeros":        {"00-" + none + "-00f067aa0ba902b7-01", "", 1, "own"},
		"no hexadecimal":          {"00-" + strings.Repeat("z", 32) + "-00f067aa0ba902b7-01", "", 1, "own"},
		"a long text":             {strings.Repeat("00-", 1<<16), strings.Repeat("a=b,", 1<<16), 1, "own"},
		"two, joined by the door": {"00-" + id + "-00f067aa0ba902b7-01,00-" + id + "-00f067aa0ba902b7-01", "", 1, "own"},
		"a version that is none":  {"ff-" + id + "-00f067aa0ba902b7-01", "", 1, "own"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			caller := map[string]string{trace.TraceParent: test.parent, trace.TraceState: test.state}
			var next map[string]string
			spans := traced(t, func(o *trace.Options) { o.Share = config.Share(test.share) }, caller,
				func(ctx context.Context, tracer *trace.Tracer) {
					var finish func(error)
					_, next, finish = tracer.Invoke(ctx, "prompt")
					finish(nil)
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
		})
	}
}

// TestContentIsOffUnlessAskedFor has the texts of a model's call in no attribute. With Content they are in the three of
// the conventions, as long as they are short.
func TestContentIsOffUnlessAskedFor(t *testing.T) {
	t.Parallel()
	call := func(ctx context.Context, tracer *trace.Tracer) {
		m := tracer.Streamer(model{}, trace.Model{Name: "m", BaseURL: "https://api.example/v1"})
		if err := stream(t, ctx, m); err != nil {
			t.Error(err)
		}
	}
	for _, s := range traced(t, nil, nil, call) {
		for name, value := range s.Attributes {
			if strings.Contains(value, "knee") || strings.Contains(value, "Mia") || strings.Contains(value, "swim") {
				t.Errorf("%s has %s=%s", s.Name, name, value)
			}
		}
	}
	spans := traced(t, func(o *trace.Options) { o.Content = true }, nil, call)
	for name, want := range map[string]string{
		"gen_ai.system_instructions": `[{"type":"text","content":"You are Mia."}]`,
		"gen_ai.input.messages":      `[{"role":"user","parts":[{"type":"text","content":"my knee hurts"}]}]`,
		"gen_ai.output.messages": `[{"role":"assistant","parts":[{"type":"text","content":"a swim at noon"}],` +
			`"finish_reason":"stop"}]`,
		"gen_ai.usage.cache_read.input_tokens": "60", "gen_ai.usage.input_tokens": "90",
		"gen_ai.usage.output_tokens": "7", "gen_ai.response.finish_reasons": "stop", "gen_ai.request.model": "m",
		"gen_ai.response.model": "m-1", "server.address": "api.example", "server.port": "443",
	} {
		if got := spans[0].Attributes[name]; got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
}

// TestSpansAreBounded has an id and a text of a megabyte.
func TestSpansAreBounded(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 1<<20)
	for content, most := range map[bool]int{false: 1 << 10, true: 64 << 10} {
		spans := traced(t, func(o *trace.Options) { o.Content = content }, nil,
			func(ctx context.Context, tracer *trace.Tracer) {
				turns := tracer.Turns(chat.New(chat.Deps{Now: time.Now}))
				if _, err := turns.Start(ctx, "ann", chat.Request{SessionID: long, AgentID: long}); err == nil {
					t.Error("the turn began")
				}
				r := request
				r.Messages = append(r.Messages, llm.Message{Role: "user", Content: long})
				_, _ = tracer.Streamer(model{}, trace.Model{}).Stream(ctx, r, func(string) error { return nil })
			})
		if len(spans) != 3 {
			t.Fatalf("got %d spans, want 3", len(spans))
		}
		for _, s := range spans {
			for name, value := range s.Attributes {
				if len(value) > most || len(s.Name) > 100 {
					t.Errorf("%.100s has %s with %d characters", s.Name, name, len(value))
				}
			}
		}
	}
}

// TestErrorsHaveTheirCodes has an error whose text is a vendor's.
func TestErrorsHaveTheirCodes(t *testing.T) {
	t.Parallel()
	for want, err := range map[string]error{
		"unavailable": fault.Wrap(fault.Unavailable, "chat", errors.New("secret words")),
		"canceled":    context.Canceled, "timeout": context.DeadlineExceeded,
	} {
		spans := traced(t, nil, nil, func(ctx context.Context, tracer *trace.Tracer) {
			if got := stream(t, ctx, tracer.Streamer(model{err}, trace.Model{})); !errors.Is(got, err) {
				t.Errorf("got %v, want %v", got, err)
			}
			trace.Requested(ctx, http.MethodPost, "POST /v1/chat", http.StatusServiceUnavailable)
		})
		failed, whole := spans[0], spans[1]
		if !failed.IsError || failed.Attributes["error.type"] != want ||
			failed.Attributes["gen_ai.usage.input_tokens"] != "" {
			t.Errorf("the call has %+v", failed)
		}
		if !whole.IsError || whole.Name != "POST /v1/chat" || whole.Attributes["http.route"] != "/v1/chat" ||
			whole.Attributes["error.type"] != "503" {
			t.Errorf("the request has %+v", whole)
		}
	}
}
