package promptbench

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"google.golang.org/grpc"

	"github.com/throughline/throughline/infra/bench/meter"
	"github.com/throughline/throughline/infra/local/offlinemodel"
	"github.com/throughline/throughline/infra/local/pineconelocal"
	"github.com/throughline/throughline/internal/config"
	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/openai"
	"github.com/throughline/throughline/internal/pinecone"
	"github.com/throughline/throughline/internal/recall"
	"github.com/throughline/throughline/internal/token"
)

// dimensions is the width of the dense vectors: narrow, because the local index compares a query with every record.
const dimensions = 32

// services are what prompts are built from, each at the end of a line.
type services struct {
	*journal
	// idle lets every line answer at once.
	idle   *atomic.Bool
	client *dynamodb.Client
	// meter counts on the client; every write goes through it.
	meter    *meter.Meter
	endpoint string
	table    string
	latency  Latencies
	embedder recall.Embedder
	vectors  recall.Index
	tokens   *token.Counter
	// model and host are where the offline model and the index are, pinecone the latter's server.
	model, host string
	pinecone    *pineconelocal.Server

	mu   sync.Mutex // guards ends
	ends []func() error
}

// open starts the local services and makes the table on the DynamoDB engine at that endpoint.
func open(ctx context.Context, endpoint, table string, l Latencies) (*services, error) {
	s := &services{journal: &journal{}, idle: &atomic.Bool{}, endpoint: endpoint, table: table, latency: l, tokens: token.New()}
	s.client = s.dial(s.transport(l.DynamoDB))
	s.idle.Store(true)
	in := dynamo.CreateTableInput(table)
	if _, err := s.client.CreateTable(ctx, in); err != nil {
		return nil, fmt.Errorf("create table: %w", err)
	}
	s.meter = meter.New(s.client, in)
	var err error
	if s.model, err = s.serveModel(ctx); err != nil {
		return nil, err
	}
	s.embedder = openai.New(config.OpenAI{
		BaseURL: s.model, APIKey: "local", EmbeddingModel: "text-embedding-3-small", Dimensions: dimensions,
	}, openai.WithTransport(s.transport(l.Embedding)))
	if s.pinecone, err = pineconelocal.New(pineconelocal.Options{Dimension: dimensions}); err != nil { //nolint:contextcheck // it reads nothing back
		return nil, errors.Join(err, s.close())
	}
	if s.host, err = s.servePinecone(ctx); err != nil {
		return nil, errors.Join(err, s.close())
	}
	client, err := pinecone.New(config.Pinecone{IndexHost: s.host, APIKey: "local"})
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	s.ends = append(s.ends, client.Close)
	s.vectors = client
	return s, nil
}

// dial returns a client of DynamoDB over a transport.
func (s *services) dial(t http.RoundTripper) *dynamodb.Client {
	return dynamodb.New(dynamodb.Options{
		Region: "us-east-1", BaseEndpoint: aws.String(s.endpoint),
		Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
		HTTPClient:  &http.Client{Transport: t},
	})
}

func (s *services) line(latency time.Duration) line {
	return line{journal: s.journal, latency: latency, idle: s.idle}
}

// index is the way to an index, the service's or what was recorded of it.
func (s *services) index(of recall.Index) recall.Index { return index{of, s.line(s.latency.Pinecone)} }

// transport keeps as many connections as a function does.
func (s *services) transport(latency time.Duration) http.RoundTripper {
	return transport{s.line(latency), &http.Transport{MaxIdleConnsPerHost: 32}}
}

// close ends what was started, the last first.
func (s *services) close() error {
	var err error
	for _, end := range slices.Backward(s.ends) {
		err = errors.Join(err, end())
	}
	return err
}

func (s *services) serveModel(ctx context.Context) (url string, err error) {
	address, err := s.serveHTTP(ctx, offlinemodel.Handler(offlinemodel.Options{}))
	return address + "/v1", err
}

func (s *services) serveHTTP(ctx context.Context, handler http.Handler) (url string, err error) {
	listener, err := listen(ctx)
	if err != nil {
		return "", err
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: time.Second}
	s.serve(func() error { return server.Serve(listener) }, server.Close)
	return "http://" + listener.Addr().String(), nil
}

// servePinecone opens one more way to the index.
func (s *services) servePinecone(ctx context.Context, interceptors ...grpc.UnaryServerInterceptor) (host string, err error) {
	listener, err := listen(ctx)
	if err != nil {
		return "", err
	}
	s.serve(func() error { return s.pinecone.Serve(listener, interceptors...) }, s.pinecone.Close)
	return "http://" + listener.Addr().String(), nil
}

// serve runs a server until the services are closed.
func (s *services) serve(run, end func() error) {
	served := make(chan error, 1)
	go func() { served <- run() }()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ends = append(s.ends, func() error {
		err := end()
		if ended := <-served; !errors.Is(ended, http.ErrServerClosed) {
			err = errors.Join(err, ended)
		}
		return err
	})
}

func listen(ctx context.Context) (net.Listener, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	return listener, nil
}

// scatter is an embedder for histories: it lays texts anywhere, the same text at the same place. What the offline
// model takes for a hundred thousand texts would be most of a run, and which messages are near does not matter here.
type scatter struct{}

// Embed returns unit vectors.
func (scatter) Embed(_ context.Context, texts []string) ([][]float32, error) {
	out := make([][]float32, len(texts))
	for i, text := range texts {
		h := fnv.New64a()
		_, _ = h.Write([]byte(text)) // a hash takes everything
		random := rand.New(rand.NewPCG(h.Sum64(), 0))
		v, sum := make([]float32, dimensions), 0.0
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

var _ recall.Embedder = scatter{}
