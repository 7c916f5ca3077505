package main

import (
	"context"
	"net/http"
	"path"
	"strings"
	"time"

	"google.golang.org/grpc"

	"github.com/throughline/throughline/infra/bench/meter"
	"github.com/throughline/throughline/infra/local/stack"
	"github.com/throughline/throughline/internal/config"
	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/function"
	"github.com/throughline/throughline/internal/vector"
)

// link is the connection to one service. It holds each answer back until the service's latency has passed since the
// request, so that the local engine's own time counts only where it is longer, and records every call.
type link struct {
	*callLog
	latency time.Duration
	// function and service name the link's ends where there are several links.
	function, service string
}

// finish holds the answer of a call back, then records the call.
func (l link) finish(began time.Time, name string) {
	l.wait(began)
	l.add(call{function: l.function, service: l.service, operation: name, begin: began})
}

func (l link) wait(began time.Time) {
	if l.isSlow.Load() {
		time.Sleep(time.Until(began.Add(l.latency)))
	}
}

// transport is a link over HTTP. It reads an answer to its end before it returns it, so that the time to decode it is
// not the service's.
type transport struct {
	link
	next http.RoundTripper
}

// RoundTrip makes the request and records it.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	began := time.Now()
	if t.service == toLambda {
		t.wait(began) // before the function begins
	}
	response, err := t.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if _, err := meter.Whole(response); err != nil {
		return nil, err
	}
	t.finish(began, operationName(r))
	return response, nil
}

// operationName returns a request's operation. DynamoDB names it in a header, the other services at the end of the
// path.
func operationName(r *http.Request) string {
	if _, target, ok := strings.Cut(r.Header.Get("X-Amz-Target"), "."); ok {
		return target
	}
	return path.Base(r.URL.Path)
}

// index is a link to the vector index. The time of gRPC itself counts as the service's.
type index struct {
	vector.Querier
	link
}

// Query makes the query and records it.
func (x index) Query(
	ctx context.Context, user conversation.UserID, generation int64, q vector.Query,
) ([]vector.Match, error) {
	began := time.Now()
	matches, err := x.Querier.Query(ctx, user, generation, q)
	x.finish(began, "Query")
	return matches, err
}

// The services whose links differ from the others'.
const (
	toPinecone = "Pinecone"
	toLambda   = "Lambda"
)

// linked returns a constructor of a function that reaches each of its services through a link of its own, which records
// the function's calls. The link ends in a proxy, so that the function's clients are as in production.
func (s *services) linked(name string, build stack.Constructor) stack.Constructor {
	return func(ctx context.Context, cfg config.Config, rt function.Runtime) (any, error) {
		for _, to := range []struct {
			service string
			latency time.Duration
			address *string
		}{
			{"DynamoDB", s.latency.dynamoDB, &cfg.DynamoDBEndpoint},
			{"OpenAI", s.latency.model, &cfg.OpenAI.BaseURL},
			{"OpenAI", s.latency.embedding, &cfg.OpenAI.EmbeddingBaseURL},
			{toPinecone, s.latency.pinecone, &cfg.Pinecone.IndexHost},
			{toLambda, s.latency.lambda, &cfg.LambdaEndpoint},
		} {
			l := link{s.callLog, to.latency, name, to.service}
			var err error
			if to.service == toPinecone {
				*to.address, err = s.ServeIndex(l.intercept)
			} else {
				*to.address, err = s.Proxy(*to.address,
					transport{l, &http.Transport{MaxIdleConnsPerHost: 32, DisableCompression: true}})
			}
			if err != nil {
				return nil, err
			}
		}
		return build(ctx, cfg, rt)
	}
}

// intercept records a call over gRPC.
func (l link) intercept(
	ctx context.Context, request any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler,
) (any, error) {
	began := time.Now()
	answer, err := next(ctx, request)
	l.finish(began, path.Base(info.FullMethod))
	return answer, err
}
