// Package faults makes a service fail on purpose. An Injector in front of a service delays requests, refuses them with
// the service's own errors, or performs them and loses the answer. Its rates are set at run time (POST /dev/faults).
package faults

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/throughline/throughline/internal/delay"
)

// Rates say how often an injector disturbs the requests that pass it. The zero value disturbs none.
type Rates struct {
	// ErrorRate is the share of requests, 0 to 1, that are answered with an error and not performed.
	ErrorRate float64
	// DropRate is the share of requests, 0 to 1, that are performed and whose answer is lost.
	DropRate float64
	// Latency is added before each request.
	Latency time.Duration
}

// Injector decides for each request whether it is delayed, refused or loses its answer. It may be used concurrently.
type Injector struct {
	mu     sync.Mutex
	rates  Rates
	random *rand.Rand
	errors int
}

// NewInjector returns an injector that disturbs nothing until Set is called. The same seed gives the same decisions.
func NewInjector(seed uint64) *Injector {
	return &Injector{random: rand.New(rand.NewPCG(seed, seed))}
}

// Set replaces the rates, from the next request on.
func (i *Injector) Set(r Rates) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.rates = r
}

// decision is what happens to one request.
type decision struct {
	latency time.Duration
	fail    bool
	turn    int // counts the failures, so that the service's errors take turns
	drop    bool
}

func (i *Injector) decide() decision {
	i.mu.Lock()
	defer i.mu.Unlock()
	d := decision{latency: i.rates.Latency}
	d.fail = i.rates.ErrorRate > 0 && i.random.Float64() < i.rates.ErrorRate
	d.drop = i.rates.DropRate > 0 && i.random.Float64() < i.rates.DropRate
	if d.fail {
		d.turn = i.errors
		i.errors++
	}
	return d
}

// pineconeFailures are the errors of a broken, an overloaded and a throttled service, in turn.
var pineconeFailures = []error{
	status.Error(codes.Internal, "internal error"),
	status.Error(codes.Unavailable, "service unavailable"),
	status.Error(codes.ResourceExhausted, "too many requests"),
}

// Interceptor puts the injector in front of a gRPC service. A lost answer looks to the client like a lost connection.
func (i *Injector) Interceptor() grpc.UnaryServerInterceptor {
	return func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
		d := i.decide()
		if err := delay.Sleep(ctx, d.latency); err != nil {
			return nil, status.FromContextError(err).Err()
		}
		if d.fail {
			return nil, pineconeFailures[d.turn%len(pineconeFailures)]
		}
		answer, err := handler(ctx, req)
		if d.drop {
			return nil, status.Error(codes.Unavailable, "error reading from server: EOF")
		}
		return answer, err
	}
}
