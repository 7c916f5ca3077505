// Package openai calls an OpenAI-compatible service for whole answers, streamed answers and embeddings. Chat and
// embeddings can be two services. Which request a model gets is a table of model families, in family.go. The answers of
// OpenAI's two APIs have the same form here. Errors have fault codes and the service's advice on when to retry. They
// never contain what was sent or answered.
package openai

import (
	"cmp"
	"context"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/sashabaranov/go-openai"

	"github.com/throughline/throughline/internal/config"
	"github.com/throughline/throughline/internal/delay"
	"github.com/throughline/throughline/internal/metric"
	"github.com/throughline/throughline/internal/transport"
)

// Client implements the model interfaces of the domain packages. It keeps its connections open and is safe for
// concurrent use.
type Client struct {
	chat       *openai.Client
	embeddings *openai.Client
	own        bool // the chat service is OpenAI's own
	tier       config.Tier
	flex       flexTier
	chatModel  string
	effort     string
	embedModel openai.EmbeddingModel
	dimensions int
	retry      retry
	embedRetry retry
}

// The longest times of one attempt. They leave time for a second attempt within the 120 seconds of one answer of the
// chat. A model that reasons may send nothing for long.
const (
	answerLimit = time.Minute      // for a whole answer
	openLimit   = 30 * time.Second // until a stream begins
	gapLimit    = time.Minute      // between two events of a stream
	endLimit    = 2 * time.Second  // until the end of a stream whose answer is whole, which brings only the usage
	embedLimit  = 15 * time.Second // for one request of embeddings, and besides
	// embedTextLimit for each of its texts. A service that answers late has embedded them, and a second attempt would
	// have them embedded again.
	embedTextLimit = time.Second
)

// Option changes how a Client is built.
type Option func(*options)

type options struct {
	transport http.RoundTripper
	retry     retry
}

// WithTransport replaces the HTTP transport.
func WithTransport(t http.RoundTripper) Option { return func(o *options) { o.transport = t } }

// WithWrapper wraps the client's transport.
func WithWrapper(wrap func(http.RoundTripper) http.RoundTripper) Option {
	return func(o *options) { o.transport = wrap(o.transport) }
}

// WithSleep replaces how the client waits between two attempts.
func WithSleep(sleep func(ctx context.Context, d time.Duration) error) Option {
	return func(o *options) { o.retry.sleep = sleep }
}

// New builds a client and makes no call. A configuration that was not parsed and has no address for the embeddings has
// one service for both.
func New(cfg config.OpenAI, opts ...Option) *Client {
	o := options{transport: transport.NewHTTP(2 * time.Second), retry: retry{sleep: delay.Sleep, jitter: rand.Float64}}
	for _, apply := range opts {
		apply(&o)
	}
	if cfg.EmbeddingBaseURL == "" {
		cfg.EmbeddingBaseURL, cfg.EmbeddingAPIKey = cfg.BaseURL, cmp.Or(cfg.EmbeddingAPIKey, cfg.APIKey)
	}
	doer := &http.Client{Transport: adviceTransport{o.transport}}
	return &Client{
		chat:       side(doer, cfg.BaseURL, cfg.APIKey),
		embeddings: side(doer, cfg.EmbeddingBaseURL, cfg.EmbeddingAPIKey),
		own:        config.IsOpenAI(cfg.BaseURL),
		tier:       cfg.BackgroundTier,
		chatModel:  cfg.ChatModel,
		effort:     string(cfg.ChatEffort),
		embedModel: openai.EmbeddingModel(cfg.Embedding.Model),
		dimensions: cfg.Embedding.Dimensions,
		retry:      o.retry.of(metric.Model),
		embedRetry: o.retry.of(metric.Embedding),
	}
}

func side(doer openai.HTTPDoer, baseURL, key string) *openai.Client {
	cfg := openai.DefaultConfig(key)
	cfg.BaseURL = baseURL
	cfg.HTTPClient = doer
	return openai.NewClientWithConfig(cfg)
}
