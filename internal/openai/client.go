// Package openai calls an OpenAI-compatible service for whole answers, streamed answers and embeddings. Chat and
// embeddings can be two services. Errors have fault codes and the service's advice on when to retry. They never contain
// what was sent or answered.
package openai

import (
	"cmp"
	"context"
	"math/rand/v2"
	"net"
	"net/http"
	"time"

	"github.com/sashabaranov/go-openai"

	"github.com/throughline/throughline/internal/config"
	"github.com/throughline/throughline/internal/delay"
)

// Client implements the model interfaces of the domain packages. It keeps its connections open and is safe for
// concurrent use.
type Client struct {
	chat       *openai.Client
	embeddings *openai.Client
	chatModel  string
	embedModel openai.EmbeddingModel
	dimensions int
	retry      retry
}

// Option changes how a Client is built.
type Option func(*options)

type options struct {
	transport http.RoundTripper
	retry     retry
}

// WithTransport replaces the HTTP transport.
func WithTransport(t http.RoundTripper) Option { return func(o *options) { o.transport = t } }

// WithSleep replaces how the client waits between two attempts.
func WithSleep(sleep func(ctx context.Context, d time.Duration) error) Option {
	return func(o *options) { o.retry.sleep = sleep }
}

// New builds a client and makes no call. Without an embedding service of their own, embeddings come from the chat
// service.
func New(cfg config.OpenAI, opts ...Option) *Client {
	o := options{transport: newTransport(), retry: retry{sleep: delay.Sleep, jitter: rand.Float64}}
	for _, apply := range opts {
		apply(&o)
	}
	doer := &http.Client{Transport: adviceTransport{o.transport}}
	return &Client{
		chat: side(doer, cfg.BaseURL, cfg.APIKey),
		embeddings: side(doer, cmp.Or(cfg.EmbeddingBaseURL, cfg.BaseURL),
			cmp.Or(cfg.EmbeddingAPIKey, cfg.APIKey)),
		chatModel:  cfg.ChatModel,
		embedModel: openai.EmbeddingModel(cfg.EmbeddingModel),
		dimensions: cfg.Dimensions,
		retry:      o.retry,
	}
}

func side(doer openai.HTTPDoer, baseURL, key string) *openai.Client {
	cfg := openai.DefaultConfig(key)
	cfg.BaseURL = baseURL
	cfg.HTTPClient = doer
	return openai.NewClientWithConfig(cfg)
}

// newTransport keeps enough idle connections for the parallel calls of a batch. It has no time limit for a whole call,
// because a streamed answer may take minutes. The context has the limit.
func newTransport() *http.Transport {
	return &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: 2 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		ForceAttemptHTTP2:   true,
		MaxIdleConns:        64,
		MaxIdleConnsPerHost: 32,
		IdleConnTimeout:     90 * time.Second,
		TLSHandshakeTimeout: 3 * time.Second,
	}
}
