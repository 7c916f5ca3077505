package openai_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/throughline/throughline/internal/config"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/llm"
	"github.com/throughline/throughline/internal/openai"
)

// script is a service without a network, so that its time can be a test's own.
type script func(r *http.Request) (*http.Response, error)

func (s script) RoundTrip(r *http.Request) (*http.Response, error) { return s(r) }

// hang answers when the client gives up.
func hang(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// answers begins an answer with a text. What follows comes from more, and nothing does if it is nil.
func answers(r *http.Request, text string, more io.Reader) *http.Response {
	body := io.Reader(strings.NewReader(text))
	if more != nil {
		body = io.MultiReader(body, more)
	}
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(body), Header: http.Header{}, Request: r}
}

// silence is the rest of an answer in which nothing arrives.
type silence struct{ ctx context.Context } //nolint:containedctx // that of the request

func (s silence) Read([]byte) (int, error) {
	<-s.ctx.Done()
	return 0, s.ctx.Err()
}

// scripted returns a client of a scripted service, which has the limits of the product and a clock of the test.
func scripted(model string, s script) *openai.Client {
	cfg := config.OpenAI{BaseURL: otherService, ChatModel: model, Embedding: config.Embedding{Dimensions: 2}}
	return openai.New(cfg, openai.WithTransport(s))
}

const chunks = "data: " + firstEvent + "\n\ndata: " + secondEvent + "\n\n"

// forty is an answer with forty embeddings.
func forty() string {
	data := make([]string, 40)
	for i := range data {
		data[i] = fmt.Sprintf(`{"index":%d,"embedding":[3,4]}`, i)
	}
	return `{"data":[` + strings.Join(data, ",") + `]}`
}

func TestAttemptThatTakesTooLongIsRepeated(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		limit  time.Duration
		call   func(context.Context, *openai.Client) error
		answer string
	}{
		"whole answer": {time.Minute, func(ctx context.Context, c *openai.Client) error {
			_, err := c.Complete(ctx, llm.Request{})
			return err
		}, plainAnswer},
		"opening a stream": {30 * time.Second, func(ctx context.Context, c *openai.Client) error {
			_, err := c.Stream(ctx, llm.Request{}, func(string) error { return nil })
			return err
		}, "data: " + finishEvent + "\n\ndata: [DONE]\n\n"},
		"embeddings": {16 * time.Second, func(ctx context.Context, c *openai.Client) error {
			_, err := c.Embed(ctx, []string{"text"})
			return err
		}, `{"data":[{"index":0,"embedding":[3,4]}]}`},
		"embeddings of many texts": {55 * time.Second, func(ctx context.Context, c *openai.Client) error {
			_, err := c.Embed(ctx, make([]string, 40))
			return err
		}, forty()},
	} {
		for hanging, attempts := range map[int]int{0: 1, 1: 2, 9: 3} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					made := 0
					client := scripted("llama3", func(r *http.Request) (*http.Response, error) {
						if made++; made <= hanging {
							return hang(r)
						}
						return answers(r, tt.answer, nil), nil
					})
					start := time.Now()
					err := tt.call(t.Context(), client)
					if hanging < 3 && err != nil || hanging == 9 && !fault.Is(err, fault.Unavailable) || made != attempts {
						t.Errorf("%v after %d attempts, want %d", err, made, attempts)
					}
					waited := time.Since(start) - time.Duration(min(hanging, attempts))*tt.limit
					if waited < 0 || waited > 2*time.Second {
						t.Errorf("took %v, want %d times %v", time.Since(start), min(hanging, attempts), tt.limit)
					}
				})
			})
		}
	}
}

func TestSilentStreamEnds(t *testing.T) {
	t.Parallel()
	for model, sent := range map[string]string{
		"llama3": chunks, "gpt-6-luna": events(createdEvent, firstDelta, secondDelta),
	} {
		t.Run(model, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				client := scripted(model, func(r *http.Request) (*http.Response, error) {
					return answers(r, sent, silence{r.Context()}), nil
				})
				start := time.Now()
				emitted, got, err := collect(client, t)
				if !fault.Is(err, fault.Unavailable) || errors.Is(err, context.Canceled) || time.Since(start) != time.Minute {
					t.Errorf("error %v after %v, want unavailable after a minute", err, time.Since(start))
				}
				if emitted != wholeAnswer || got.Text != wholeAnswer {
					t.Errorf("emitted %q, returned %q", emitted, got.Text)
				}
			})
		})
	}
}

func TestTimeOfTheReceiverIsNotSilence(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := scripted("llama3", func(r *http.Request) (*http.Response, error) {
			return answers(r, chunks, strings.NewReader("data: "+finishEvent+"\n\ndata: [DONE]\n\n")), nil
		})
		got, err := client.Stream(t.Context(), llm.Request{}, func(string) error {
			time.Sleep(time.Hour)
			return nil
		})
		if err != nil || got.Text != wholeAnswer {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

func TestAnswerIsWholeWithoutTheStreamsEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := scripted("llama3", func(r *http.Request) (*http.Response, error) {
			return answers(r, chunks+"data: "+finishEvent+"\n\n", silence{r.Context()}), nil
		})
		start := time.Now()
		_, got, err := collect(client, t)
		if err != nil || got.Text != wholeAnswer || got.FinishReason != llm.FinishStop ||
			time.Since(start) != 2*time.Second {
			t.Errorf("%+v, %v after %v, want it after 2 s", got, err, time.Since(start))
		}
	})
}

func TestCallersEndIsNotTheAttempts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		attempts := 0
		client := scripted("llama3", func(r *http.Request) (*http.Response, error) {
			attempts++
			return hang(r)
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := client.Complete(ctx, llm.Request{}); !errors.Is(err, context.DeadlineExceeded) || attempts != 1 {
			t.Errorf("%v after %d attempts", err, attempts)
		}
		if _, err := client.Stream(ctx, llm.Request{}, nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v after %d attempts", err, attempts)
		}
	})
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
