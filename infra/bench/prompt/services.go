package main

import (
	"context"
	"errors"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/throughline/throughline/infra/bench/rig"
	"github.com/throughline/throughline/infra/local/dynamodblocal"
	"github.com/throughline/throughline/internal/config"
	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/dynamo/table"
	"github.com/throughline/throughline/internal/migration/adopt"
	"github.com/throughline/throughline/internal/openai"
	"github.com/throughline/throughline/internal/pinecone"
	"github.com/throughline/throughline/internal/prompt"
	"github.com/throughline/throughline/internal/prompt/gather"
	"github.com/throughline/throughline/internal/recall"
	"github.com/throughline/throughline/internal/token"
	"github.com/throughline/throughline/internal/vector"
)

// services are what prompts are built from, each at the end of a link.
type services struct {
	*rig.Rig
	*callLog
	// warmups is how often a prompt is built before it counts.
	warmups  int
	client   *dynamodb.Client
	latency  latencies
	embedder vector.Embedder
	vectors  *pinecone.Index
	tokens   *token.Counter
}

// startServices starts the local services and creates the table on the DynamoDB engine at the endpoint.
func startServices(ctx context.Context, endpoint, name string, l latencies) (*services, error) {
	r, err := rig.New(ctx, endpoint, name)
	if err != nil {
		return nil, err
	}
	s := &services{Rig: r, callLog: &callLog{}, latency: l, tokens: token.New()}
	s.client = s.dynamoClient(s.transport(l.dynamoDB))
	s.embedder = openai.New(config.OpenAI{
		BaseURL: s.ModelURL, APIKey: "local",
		Embedding: config.Embedding{Model: "text-embedding-3-small", Dimensions: rig.Dimensions},
	}, openai.WithTransport(s.transport(l.embedding)))
	client, err := pinecone.New(s.IndexHost, "local", 0)
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.AtEnd(client.Close)
	s.vectors = client
	return s, nil
}

func (s *services) dynamoClient(t http.RoundTripper, options ...func(*dynamodb.Options)) *dynamodb.Client {
	over := func(o *dynamodb.Options) { o.HTTPClient = &http.Client{Transport: t} }
	return dynamodblocal.Client(s.Endpoint, append(options, over)...)
}

// transport keeps as many idle connections as a function does.
func (s *services) transport(latency time.Duration) http.RoundTripper {
	return transport{link{callLog: s.callLog, latency: latency}, &http.Transport{MaxIdleConnsPerHost: 32}}
}

// db returns a DB on an API, at the history's time.
func (s *services) db(api table.API, h *history) *dynamo.DB {
	return dynamo.New(api, s.Table, adopt.WithLegacy(), dynamo.WithClock(h.clock))
}

// timeout is so long that a busy machine makes a prompt slow, never incomplete.
const timeout = 10 * time.Second

// prompter returns production's prompt service, with its search, over the table and an index.
func (s *services) prompter(api table.API, vectors vector.Querier, h *history) *prompt.Service {
	db := s.db(api, h)
	return s.service(dynamo.NewPromptSource(db), recall.New(
		dynamo.NewRecallSource(db), s.embedder, index{vectors, link{callLog: s.callLog, latency: s.latency.pinecone}},
		recall.Options{Now: h.clock, EmbedTimeout: timeout, IndexTimeout: timeout},
	), h)
}

// service returns production's prompt service. Its requests skip saving, as in a chat, where the coach function saves
// the manifest while the model generates.
func (s *services) service(store gather.Store, search gather.Searcher, h *history) *prompt.Service {
	return prompt.New(prompt.Deps{
		Store: store, Search: search, Counter: s.tokens, Now: h.clock, NewID: func() string { return "bench" },
		Deadlines: gather.Deadlines{Messages: timeout, LongTerm: timeout, Sessions: timeout, Search: timeout},
	})
}

// randomEmbedder gives each text a random unit vector, the same text always the same one. Most of a run would be spent
// in the offline model if it embedded a hundred thousand texts, and here it does not matter which messages are similar.
type randomEmbedder struct{}

var _ vector.Embedder = randomEmbedder{}

// Embed returns unit vectors.
func (randomEmbedder) Embed(_ context.Context, texts []string) ([][]float32, error) {
	out := make([][]float32, len(texts))
	for i, text := range texts {
		h := fnv.New64a()
		_, _ = h.Write([]byte(text)) // a hash returns no error
		random := rand.New(rand.NewPCG(h.Sum64(), 0))
		v, sum := make([]float32, rig.Dimensions), 0.0
		for d := range v {
			x := random.NormFloat64()
			v[d], sum = float32(x), sum+x*x
		}
		for d := range v {
			v[d] /= float32(math.Sqrt(sum))
		}
		out[i] = v
	}
	return out, nil
}
