package promptbench

import (
	"context"
	"net/http"
	"net/http/httputil"
	"net/url"
	"path"
	"time"

	"google.golang.org/grpc"

	"github.com/throughline/throughline/infra/local/stack"
	"github.com/throughline/throughline/internal/config"
	"github.com/throughline/throughline/internal/function"
)

// The services that turns of a chat call.
const (
	toDynamoDB = "DynamoDB"
	toOpenAI   = "OpenAI"
	toPinecone = "Pinecone"
	toLambda   = "Lambda"
)

// behindDoors has a function reach each of its services through a line of its own, at whose service's end a call is
// noted as the function's.
func (s *services) behindDoors(name string, build stack.Constructor) stack.Constructor {
	return func(ctx context.Context, cfg config.Config, rt function.Runtime) (any, error) {
		for _, door := range []struct {
			to      string
			latency time.Duration
			address *string
		}{
			{toDynamoDB, s.latency.DynamoDB, &cfg.DynamoDBEndpoint},
			{toOpenAI, answering, &cfg.OpenAI.BaseURL},
			{toOpenAI, s.latency.Embedding, &cfg.OpenAI.EmbeddingBaseURL},
			{toPinecone, s.latency.Pinecone, &cfg.Pinecone.IndexHost},
			{toLambda, 0, &cfg.LambdaEndpoint}, // what it invokes takes its own time
		} {
			l := s.line(door.latency)
			l.by, l.to = name, door.to
			address, err := s.door(ctx, l, *door.address)
			if err != nil {
				return nil, err
			}
			*door.address = address
		}
		return build(ctx, cfg, rt)
	}
}

// door opens a line to the service at an address.
func (s *services) door(ctx context.Context, l line, address string) (string, error) {
	if l.to == toPinecone {
		return s.servePinecone(ctx, l.intercept)
	}
	target, err := url.Parse(address)
	if err != nil {
		return "", err
	}
	return s.serveHTTP(ctx, &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target) },
		FlushInterval: -1,
		Transport:     transport{l, &http.Transport{MaxIdleConnsPerHost: 32, DisableCompression: true}},
	})
}

// intercept is a line over gRPC.
func (l line) intercept(ctx context.Context, request any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	began := time.Now()
	answer, err := next(ctx, request)
	l.hold(began, path.Base(info.FullMethod))
	return answer, err
}
