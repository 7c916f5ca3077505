package openai_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/llm"
	"github.com/throughline/throughline/internal/openai"
	"github.com/throughline/throughline/internal/testing/check"
)

// streaming returns a client of a service that answers with these server-sent events and ends the response.
func streaming(t *testing.T, events ...string) *openai.Client {
	client, _ := service(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || !strings.Contains(string(body), `"include_usage":true`) {
			t.Errorf("usage was not asked for: %s (%v)", body, err)
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for _, e := range events {
			io.WriteString(w, "data: "+e+"\n\n")
		}
	})
	return client
}

func collect(client *openai.Client, t *testing.T) (string, llm.Completion, error) {
	var text strings.Builder
	out, err := client.Stream(t.Context(), llm.Request{}, func(delta string) error {
		text.WriteString(delta)
		return nil
	})
	return text.String(), out, err
}

const (
	firstEvent  = `{"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":"Glute "}}]}`
	secondEvent = `{"model":"m","choices":[{"index":0,"delta":{"content":"bridges."}}]}`
	finishEvent = `{"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`
	usageEvent  = `{"model":"m","choices":[],"usage":{"prompt_tokens":5,"completion_tokens":2,"total_tokens":7}}`
	doneEvent   = `[DONE]`
	wholeAnswer = "Glute bridges."
)

func TestStream(t *testing.T) {
	t.Parallel()
	emitted, got, err := collect(streaming(t, firstEvent, secondEvent, finishEvent, usageEvent, doneEvent), t)
	check.OK(t, err)
	want := llm.Completion{
		Text: wholeAnswer, Model: "m", FinishReason: "stop",
		Usage: llm.Usage{PromptTokens: 5, CompletionTokens: 2, TotalTokens: 7},
	}
	if diff := cmp.Diff(want, got); diff != "" || emitted != wholeAnswer {
		t.Errorf("emitted %q (-want +got)\n%s", emitted, diff)
	}
}

func TestStreamJoinsToolCalls(t *testing.T) {
	t.Parallel()
	_, got, err := collect(streaming(t,
		`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","type":"function",`+
			`"function":{"name":"search","arguments":""}}]}}]}`,
		`{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"query\":"}}]}}]}`,
		`{"choices":[{"delta":{"tool_calls":[{"index":1,"id":"b","function":{"name":"search","arguments":"{}"}}]}}]}`,
		`{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\"hips\"}"}}]}}]}`,
		`{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}`, doneEvent), t)
	check.OK(t, err)
	want := []llm.ToolCall{
		{ID: "a", Name: "search", Arguments: `{"query":"hips"}`}, {ID: "b", Name: "search", Arguments: "{}"},
	}
	if diff := cmp.Diff(want, got.ToolCalls); diff != "" || got.FinishReason != "tool_calls" {
		t.Errorf("finished by %q (-want +got)\n%s", got.FinishReason, diff)
	}
}

func TestBrokenStreamReturnsAnErrorAndWhatArrived(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string][]string{
		"connection lost":       {firstEvent, secondEvent},
		"done without a reason": {firstEvent, secondEvent, doneEvent},
		"error event":           {firstEvent, secondEvent, `{"error":{"message":"my secret","type":"server_error"}}`},
		"malformed event":       {firstEvent, secondEvent, `{"choices": my secret`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			emitted, got, err := collect(streaming(t, tt...), t)
			if !fault.Is(err, fault.Unavailable) || strings.Contains(err.Error(), "secret") {
				t.Errorf("error %v, want unavailable without the content", err)
			}
			var of llm.ServiceError
			if !errors.As(err, &of) || !strings.HasPrefix(of.Detail(), "the model's service ") {
				t.Errorf("error %v does not name the service", err)
			}
			if got.Text != wholeAnswer || emitted != wholeAnswer {
				t.Errorf("returned %q, emitted %q, want %q", got.Text, emitted, wholeAnswer)
			}
		})
	}
}

func TestStreamReturnsTheErrorOfEmit(t *testing.T) {
	t.Parallel()
	gone := errors.New("client gone")
	client := streaming(t, firstEvent, secondEvent, finishEvent, doneEvent)
	got, err := client.Stream(t.Context(), llm.Request{}, func(string) error { return gone })
	if !errors.Is(err, gone) || got.Text != "Glute " {
		t.Errorf("%q, %v", got.Text, err)
	}
}

func TestStreamRetriesOnlyToOpen(t *testing.T) {
	t.Parallel()
	var attempts atomic.Int32
	client, _ := service(t, func(w http.ResponseWriter, _ *http.Request) {
		if attempts.Add(1) == 1 {
			sendError(w, 503, "server_error", "")
			return
		}
		io.WriteString(w, "data: "+firstEvent+"\n\n")
	})
	emitted, _, err := collect(client, t)
	if !fault.Is(err, fault.Unavailable) || emitted != "Glute " || attempts.Load() != 2 {
		t.Errorf("emitted %q after %d attempts: %v", emitted, attempts.Load(), err)
	}
}
