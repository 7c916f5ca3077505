package openai_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/config"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/llm"
	"github.com/throughline/throughline/internal/openai"
	"github.com/throughline/throughline/internal/testing/check"
)

// service returns a client of a model service that answers with the given handler, and the waits between its attempts.
func service(t *testing.T, answer http.HandlerFunc) (*openai.Client, *[]time.Duration) {
	t.Helper()
	return serviceOf(t, config.OpenAI{
		APIKey: "chat-key", ChatModel: "chat-model",
		EmbeddingAPIKey: "embedding-key", Embedding: config.Embedding{Model: "embedding-model", Dimensions: 2},
	}, answer)
}

// serviceOf is service with another configuration.
func serviceOf(t *testing.T, cfg config.OpenAI, answer http.HandlerFunc) (*openai.Client, *[]time.Duration) {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	var waits []time.Duration
	cfg.BaseURL = "http://model.example/v1"
	wait := openai.WithSleep(func(ctx context.Context, d time.Duration) error {
		waits = append(waits, d)
		return ctx.Err()
	})
	return openai.New(cfg, wait, openai.WithWrapper(func(next http.RoundTripper) http.RoundTripper {
		return elsewhere{next, server.Listener.Addr().String()}
	})), &waits
}

// elsewhere sends requests to a server on this machine, whose address is that of another machine.
type elsewhere struct {
	next http.RoundTripper
	host string
}

func (e elsewhere) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.URL.Host = e.host
	return e.next.RoundTrip(r)
}

func sendError(w http.ResponseWriter, status int, kind, code string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"error":{"message":"you said: my secret","type":%q,"code":%q,"param":null}}`, kind, code)
}

const plainAnswer = `{"id":"x","object":"chat.completion","model":"answering-model","choices":[{"index":0,
	"message":{"role":"assistant","content":"{\"summary\":\"short\"}"},"finish_reason":"stop"}],
	"usage":{"prompt_tokens":7,"prompt_tokens_details":{"cached_tokens":4},"completion_tokens":3,"total_tokens":10}}`

func TestComplete(t *testing.T) {
	t.Parallel()
	var sent map[string]any
	client, _ := service(t, func(w http.ResponseWriter, r *http.Request) {
		check.Equal(t, "Bearer chat-key", r.Header.Get("Authorization"), "authorization")
		if err := json.NewDecoder(r.Body).Decode(&sent); err != nil {
			t.Error(err)
		}
		io.WriteString(w, plainAnswer)
	})
	got := check.Got(client.Complete(t.Context(), llm.Request{
		Messages:  []llm.Message{{Role: "system", Content: "be short"}, {Role: "user", Content: "hello"}},
		MaxTokens: 99, User: "hash",
		Schema: &llm.Schema{Name: "session_summary", JSON: json.RawMessage(`{"type":"object"}`)},
	}))(t)
	want := llm.Completion{
		Text: `{"summary":"short"}`, Model: "answering-model", FinishReason: "stop",
		Usage: llm.Usage{PromptTokens: 7, CachedTokens: 4, CompletionTokens: 3, TotalTokens: 10},
	}
	check.Same(t, want, got, "completion")
	wantSent := map[string]any{
		"model": "chat-model", "max_tokens": 99.0, "user": "hash", "stream": false,
		"messages": []any{
			map[string]any{"role": "system", "content": "be short"},
			map[string]any{"role": "user", "content": "hello"},
		},
		"response_format": map[string]any{"type": "json_schema", "json_schema": map[string]any{
			"name": "session_summary", "schema": map[string]any{"type": "object"}, "strict": true,
		}},
	}
	check.Same(t, wantSent, sent, "request")
}

func TestErrorsHaveCodes(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		status   int
		kind     string
		code     string
		want     fault.Code
		attempts int32
	}{
		"malformed request":   {400, "invalid_request_error", "", fault.Internal, 1},
		"wrong key":           {401, "invalid_request_error", "", fault.Internal, 1},
		"unknown model":       {404, "invalid_request_error", "", fault.Internal, 1},
		"timeout":             {408, "server_error", "", fault.Unavailable, 3},
		"conflict":            {409, "server_error", "", fault.Unavailable, 3},
		"too many requests":   {429, "requests", "", fault.RateLimited, 3},
		"quota used up":       {429, "insufficient_quota", "", fault.RateLimited, 1},
		"quota, by its code":  {429, "requests", "insufficient_quota", fault.RateLimited, 1},
		"quota, other status": {403, "insufficient_quota", "", fault.RateLimited, 1},
		"broken":              {500, "server_error", "", fault.Unavailable, 3},
		"overloaded":          {503, "server_error", "", fault.Unavailable, 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var attempts atomic.Int32
			client, _ := service(t, func(w http.ResponseWriter, _ *http.Request) {
				attempts.Add(1)
				sendError(w, tt.status, tt.kind, tt.code)
			})
			_, err := client.Complete(t.Context(), llm.Request{Messages: []llm.Message{{Role: "user", Content: "my secret"}}})
			if fault.CodeOf(err) != tt.want || attempts.Load() != tt.attempts {
				t.Errorf("error %v after %d attempts, want %s after %d", err, attempts.Load(), tt.want, tt.attempts)
			}
			if errors.Is(err, fault.ErrSetup) != (tt.status == 401 || tt.status == 404) {
				t.Errorf("the key or the model's name: %v", err)
			}
			if strings.Contains(err.Error(), "secret") {
				t.Errorf("the error quotes the content: %v", err)
			}
		})
	}
}

// TestWordsOfTheService expects the service's own words only where the service is on this machine. A service that
// breaks the connection has none.
func TestWordsOfTheService(t *testing.T) {
	t.Parallel()
	answer := func(w http.ResponseWriter, _ *http.Request) {
		sendError(w, 404, "invalid_request_error", "model_not_found")
	}
	remote, _ := service(t, answer)
	server := httptest.NewServer(http.HandlerFunc(answer))
	defer server.Close()
	local := openai.New(config.OpenAI{APIKey: "k", ChatModel: "m", BaseURL: server.URL})
	broken, _ := service(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	for client, want := range map[*openai.Client]string{
		remote: "the model's service answered 404 (model_not_found)",
		local:  "the model's service answered 404 (model_not_found): you said: my secret",
		broken: "the model's service gave no whole answer",
	} {
		_, err := client.Complete(t.Context(), llm.Request{})
		var of llm.ServiceError
		if !errors.As(err, &of) || of.Detail() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestRetryBacksOff(t *testing.T) {
	t.Parallel()
	client, waits := service(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat)) // ignored: it is past
		sendError(w, 503, "server_error", "")
	})
	_, err := client.Complete(t.Context(), llm.Request{})
	if !fault.Is(err, fault.Unavailable) || fault.From(err).RetryAfter != 0 {
		t.Errorf("error %v, want unavailable without a delay", err)
	}
	if len(*waits) != 2 {
		t.Fatalf("waits %v, want 2", *waits)
	}
	for i, limit := range []time.Duration{200 * time.Millisecond, 400 * time.Millisecond} {
		if wait := (*waits)[i]; wait < limit/2 || wait > limit {
			t.Errorf("wait %d is %s, want %s to %s", i+1, wait, limit/2, limit)
		}
	}
}

func TestRetryEndsWhenTheWaitIsCancelled(t *testing.T) {
	t.Parallel()
	var attempts atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		attempts.Add(1)
		sendError(w, 503, "server_error", "")
	}))
	t.Cleanup(server.Close)
	cancelled := func(context.Context, time.Duration) error { return context.Canceled }
	client := openai.New(config.OpenAI{BaseURL: server.URL + "/v1"}, openai.WithSleep(cancelled))
	_, err := client.Complete(t.Context(), llm.Request{})
	if !fault.Is(err, fault.Unavailable) || attempts.Load() != 1 {
		t.Errorf("error %v after %d attempts, want unavailable after 1", err, attempts.Load())
	}
}

func TestRetryAfterDate(t *testing.T) {
	t.Parallel()
	client, waits := service(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", time.Now().Add(time.Hour).UTC().Format(http.TimeFormat))
		sendError(w, 429, "requests", "")
	})
	_, err := client.Complete(t.Context(), llm.Request{})
	if got := fault.From(err).RetryAfter; got < 59*time.Minute || got > time.Hour || len(*waits) != 0 {
		t.Errorf("retry after %s with %d waits, want an hour with none", got, len(*waits))
	}
}

func TestRetryWaitsAsTheServiceAsks(t *testing.T) {
	t.Parallel()
	var attempts atomic.Int32
	client, waits := service(t, func(w http.ResponseWriter, _ *http.Request) {
		switch attempts.Add(1) {
		case 1:
			w.Header().Set("Retry-After", "2")
			sendError(w, 429, "requests", "")
		case 2:
			w.Header().Set("Retry-After-Ms", "150")
			sendError(w, 503, "server_error", "")
		default:
			io.WriteString(w, plainAnswer)
		}
	})
	check.Got(client.Complete(t.Context(), llm.Request{}))(t)
	check.Same(t, []time.Duration{2 * time.Second, 150 * time.Millisecond}, *waits, "waits")
}

func TestRetryAfterThatIsTooLongIsReturned(t *testing.T) {
	t.Parallel()
	client, waits := service(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "60")
		sendError(w, 429, "requests", "")
	})
	_, err := client.Complete(t.Context(), llm.Request{})
	if got := fault.From(err).RetryAfter; got != time.Minute || len(*waits) != 0 {
		t.Errorf("retry after %s with %d waits, want a minute with none", got, len(*waits))
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	client, waits = service(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "3")
		sendError(w, 429, "requests", "")
	})
	if _, err := client.Complete(ctx, llm.Request{}); err == nil || len(*waits) != 0 {
		t.Errorf("error %v with %d waits, want an error without waits", err, len(*waits))
	}
}

func TestCancelledCallIsNotRetried(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	client, waits := service(t, func(_ http.ResponseWriter, r *http.Request) {
		// The server notices that a client has left only after it has read the body.
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			t.Error(err)
		}
		cancel()
		<-r.Context().Done()
	})
	if _, err := client.Complete(ctx, llm.Request{}); !errors.Is(err, context.Canceled) || len(*waits) != 0 {
		t.Errorf("error %v with %d waits", err, len(*waits))
	}
}

func TestMalformedAnswerIsNotQuoted(t *testing.T) {
	t.Parallel()
	client, _ := service(t, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, `{"choices": my secret`) })
	_, err := client.Complete(t.Context(), llm.Request{})
	if !fault.Is(err, fault.Unavailable) || strings.Contains(err.Error(), "secret") {
		t.Errorf("error %v, want unavailable without the content", err)
	}
}

func embeddings(t *testing.T, answer func(inputs []string) string) (*openai.Client, *[]time.Duration) {
	return service(t, func(w http.ResponseWriter, r *http.Request) {
		var sent struct {
			Input      []string
			Model      string
			Dimensions int
		}
		err := json.NewDecoder(r.Body).Decode(&sent)
		if err != nil || sent.Model != "embedding-model" || sent.Dimensions != 2 {
			t.Errorf("sent %+v (%v)", sent, err)
		}
		check.Equal(t, "Bearer embedding-key", r.Header.Get("Authorization"), "authorization")
		io.WriteString(w, answer(sent.Input))
	})
}

func TestEmbedNormalisesAndOrdersByIndex(t *testing.T) {
	t.Parallel()
	client, _ := embeddings(t, func([]string) string {
		return `{"data":[{"index":1,"embedding":[0,5]},{"index":0,"embedding":[3,4]}]}`
	})
	got := check.Got(client.Embed(t.Context(), []string{"first", ""}))(t)
	check.Same(t, [][]float32{{0.6, 0.8}, {0, 1}}, got, "vectors")
}

func TestEmbedKeepsTheServiceLimits(t *testing.T) {
	t.Parallel()
	var requests atomic.Int32
	client, _ := embeddings(t, func(inputs []string) string {
		requests.Add(1)
		size := 0
		var data []string
		for i, text := range inputs {
			if text == "" || len(text) > 8191 {
				t.Errorf("an input of %d bytes", len(text))
			}
			size += len(text)
			data = append(data, fmt.Sprintf(`{"index":%d,"embedding":[%d,1]}`, i, len(text)))
		}
		if len(inputs) > 2048 || size > 300_000 {
			t.Errorf("%d inputs of %d bytes in one request", len(inputs), size)
		}
		return `{"data":[` + strings.Join(data, ",") + `]}`
	})
	texts := make([]string, 5000)
	for i := range texts {
		texts[i] = strings.Repeat("é", i%5000)
	}
	got := check.Got(client.Embed(t.Context(), texts))(t)
	for i, v := range got {
		sent := float64(min(max(len(texts[i]), 1), 8000))
		if want := sent / math.Hypot(sent, 1); math.Abs(float64(v[0])-want) > 1e-6 {
			t.Fatalf("vector %d belongs to another text: %v, want %v", i, v[0], want)
		}
	}
	if n := requests.Load(); n < 70 || n > 140 {
		t.Errorf("%d requests for %d texts", n, len(texts))
	}
}

func TestEmbedChecksTheAnswer(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		answer string
		want   fault.Code
	}{
		"other dimensions": {`{"data":[{"index":0,"embedding":[1,2,3]}]}`, fault.Internal},
		"one missing":      {`{"data":[]}`, fault.Unavailable},
		"one too many":     {`{"data":[{"index":0,"embedding":[1,2]},{"index":1,"embedding":[1,2]}]}`, fault.Unavailable},
		"one twice":        {`{"data":[{"index":0,"embedding":[1,2]},{"index":0,"embedding":[1,2]}]}`, fault.Unavailable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client, _ := embeddings(t, func([]string) string { return tt.answer })
			check.Fault(t, check.ErrorOf(client.Embed(t.Context(), []string{"text"})), tt.want, "the result")
		})
	}
}

func TestEmbedNothingMakesNoCall(t *testing.T) {
	t.Parallel()
	client, _ := service(t, func(http.ResponseWriter, *http.Request) { t.Error("a call for no texts") })
	if got, err := client.Embed(t.Context(), nil); err != nil || len(got) != 0 {
		t.Errorf("%v, %v", got, err)
	}
}
