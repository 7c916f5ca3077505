package openai_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/config"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/llm"
	"github.com/throughline/throughline/internal/openai"
)

// short are limits of which one is short, and the others never end.
func short(change func(*openai.Limits)) openai.Option {
	limits := openai.Limits{Answer: time.Hour, Open: time.Hour, Gap: time.Hour, End: time.Hour, Embed: time.Hour}
	change(&limits)
	return openai.WithLimits(limits)
}

const shortly = 400 * time.Millisecond

// hang keeps a request open until its client leaves.
func hang(r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body) // the server notices that a client has left only after it has read the body
	<-r.Context().Done()
}

func flush(w http.ResponseWriter) { _ = http.NewResponseController(w).Flush() }

func TestAttemptThatTakesTooLongIsRepeated(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		limit  func(*openai.Limits)
		call   func(context.Context, *openai.Client) error
		answer string
	}{
		"whole answer": {
			func(l *openai.Limits) { l.Answer = shortly },
			func(ctx context.Context, c *openai.Client) error {
				_, err := c.Complete(ctx, llm.Request{})
				return err
			}, plainAnswer,
		},
		"opening a stream": {
			func(l *openai.Limits) { l.Open = shortly },
			func(ctx context.Context, c *openai.Client) error {
				_, err := c.Stream(ctx, llm.Request{}, func(string) error { return nil })
				return err
			}, "data: " + finishEvent + "\n\ndata: [DONE]\n\n",
		},
		"embeddings": {
			func(l *openai.Limits) { l.Embed = shortly },
			func(ctx context.Context, c *openai.Client) error {
				_, err := c.Embed(ctx, []string{"text"})
				return err
			}, `{"data":[{"index":0,"embedding":[3,4]}]}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var attempts atomic.Int32
			client, waits := serviceOf(t, config.OpenAI{}, func(w http.ResponseWriter, r *http.Request) {
				if attempts.Add(1) == 1 {
					hang(r)
					return
				}
				io.WriteString(w, tt.answer)
			}, short(tt.limit))
			if err := tt.call(t.Context(), client); err != nil || len(*waits) != 1 {
				t.Errorf("%v after %d attempts and %d waits", err, attempts.Load(), len(*waits))
			}
			var always atomic.Int32
			client, _ = serviceOf(t, config.OpenAI{}, func(_ http.ResponseWriter, r *http.Request) {
				always.Add(1)
				hang(r)
			}, short(tt.limit))
			if err := tt.call(t.Context(), client); !fault.Is(err, fault.Unavailable) || always.Load() != 3 {
				t.Errorf("%v after %d attempts, want unavailable after 3", err, always.Load())
			}
		})
	}
}

func TestSilentStreamEnds(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		model, sent string
	}{
		"chat completion": {"llama3", "data: " + firstEvent + "\n\ndata: " + secondEvent + "\n\n"},
		"response":        {"gpt-6-luna", events(createdEvent, firstDelta, secondDelta)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client, _ := serviceOf(t, config.OpenAI{ChatModel: tt.model}, func(w http.ResponseWriter, r *http.Request) {
				io.WriteString(w, tt.sent)
				flush(w)
				hang(r)
			}, short(func(l *openai.Limits) { l.Gap = shortly }))
			emitted, got, err := collect(client, t)
			if !fault.Is(err, fault.Unavailable) || errors.Is(err, context.Canceled) {
				t.Errorf("error %v, want unavailable", err)
			}
			if emitted != wholeAnswer || got.Text != wholeAnswer {
				t.Errorf("emitted %q, returned %q", emitted, got.Text)
			}
		})
	}
}

func TestTimeOfTheReceiverIsNotSilence(t *testing.T) {
	t.Parallel()
	received := make(chan struct{})
	client, _ := serviceOf(t, config.OpenAI{ChatModel: "gpt-6-luna"}, func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, events(createdEvent, firstDelta))
		flush(w)
		<-received
		io.WriteString(w, events(secondDelta, completedEvent))
	}, short(func(l *openai.Limits) { l.Gap = 500 * time.Millisecond }))
	var once sync.Once
	got, err := client.Stream(t.Context(), llm.Request{}, func(string) error {
		once.Do(func() {
			<-time.After(800 * time.Millisecond) // longer than the gap
			close(received)
		})
		return nil
	})
	if err != nil || got.Text != wholeAnswer {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestAnswerIsWholeWithoutTheStreamsEnd(t *testing.T) {
	t.Parallel()
	client, _ := serviceOf(t, config.OpenAI{}, func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "data: "+firstEvent+"\n\ndata: "+secondEvent+"\n\ndata: "+finishEvent+"\n\n")
		flush(w)
		hang(r)
	}, short(func(l *openai.Limits) { l.End = shortly }))
	if _, got, err := collect(client, t); err != nil || got.Text != wholeAnswer || got.FinishReason != llm.FinishStop {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestCallersEndIsNotTheAttempts(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), shortly)
	defer cancel()
	client, waits := serviceOf(t, config.OpenAI{}, func(_ http.ResponseWriter, r *http.Request) { hang(r) },
		short(func(*openai.Limits) {}))
	if _, err := client.Complete(ctx, llm.Request{}); !errors.Is(err, context.DeadlineExceeded) || len(*waits) != 0 {
		t.Errorf("%v after %d waits", err, len(*waits))
	}
	if _, err := client.Stream(ctx, llm.Request{}, nil); !errors.Is(err, context.DeadlineExceeded) || len(*waits) != 0 {
		t.Errorf("%v after %d waits", err, len(*waits))
	}
}

// TestDeadConnectionsCostOneAttempt has idle connections that the service closes as soon as they are used again, as
// those of an instance that was frozen.
func TestDeadConnectionsCostOneAttempt(t *testing.T) {
	t.Parallel()
	const idle = 5
	var all sync.WaitGroup
	all.Add(idle)
	var frozen atomic.Bool
	var dead sync.Map
	client, waits := serviceOf(t, config.OpenAI{}, func(w http.ResponseWriter, r *http.Request) {
		if _, ok := dead.Load(r.RemoteAddr); ok && frozen.Load() {
			connection, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			_ = connection.Close() // the client sees it
			return
		}
		if !frozen.Load() {
			dead.Store(r.RemoteAddr, true)
			all.Done()
			all.Wait() // so that each request has a connection of its own
		}
		io.WriteString(w, plainAnswer)
	})
	var calls sync.WaitGroup
	for range idle {
		calls.Go(func() {
			if _, err := client.Complete(t.Context(), llm.Request{}); err != nil {
				t.Error(err)
			}
		})
	}
	calls.Wait()
	frozen.Store(true)
	if _, err := client.Complete(t.Context(), llm.Request{}); err != nil || len(*waits) != 1 {
		t.Errorf("%v after %d waits, want 1", err, len(*waits))
	}
}
