package function_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/throughline/throughline/infra/local/dynamodblocal/dynamodbtest"
	"github.com/throughline/throughline/internal/conversation"
)

var kills = flag.Int("kills", 1, "how many histories are played whose workers are killed")

// workers are the instances of a pipeline's functions, by the keys that they show the services. It kills a worker at
// one of its remote calls, before or after the call is carried out. A worker that was killed makes no more calls.
type workers struct {
	mu    sync.Mutex
	alive map[string]*worker
	made  int
	calls int
	kills int
}

// worker is one instance.
type worker struct {
	// left is how many calls it makes until it is killed, 0 where it is not.
	left  int
	after bool
	dead  chan struct{}
}

// hire returns the key of a new worker.
func (w *workers) hire() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.alive == nil {
		w.alive = map[string]*worker{}
	}
	w.made++
	name := fmt.Sprint("worker", w.made)
	w.alive[name] = &worker{dead: make(chan struct{})}
	return name
}

// doom has a worker killed at one of its next calls.
func (w *workers) doom(name string, left int, after bool) (dead <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	k := w.alive[name]
	k.left, k.after = left, after
	return k.dead
}

// spare lets a worker live, and reports whether it does.
func (w *workers) spare(name string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	k, ok := w.alive[name]
	if ok {
		k.left = 0
	}
	return ok
}

// call decides about a remote call: whether it is carried out, and whether its answer arrives.
func (w *workers) call(credentials string) (carriedOut, answered bool) {
	name := workerName.FindString(credentials)
	if name == "" { // the test itself
		return true, true
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	k := w.alive[name]
	if k == nil {
		return false, false
	}
	w.calls++
	if k.left == 0 {
		return true, true
	}
	if k.left--; k.left > 0 {
		return true, true
	}
	delete(w.alive, name)
	w.kills++
	close(k.dead)
	return k.after, false
}

// workerName finds the key of a worker in its credentials.
var workerName = regexp.MustCompile(`worker\d+`)

// handler puts the workers' fate in front of an HTTP service.
func (w *workers) handler(service http.Handler) http.Handler {
	return http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		carriedOut, answered := w.call(r.Header.Get("Authorization"))
		if answered {
			service.ServeHTTP(out, r)
			return
		}
		if carriedOut {
			// The caller has gone, and the service does its work all the same.
			service.ServeHTTP(httptest.NewRecorder(), r.WithContext(context.WithoutCancel(r.Context())))
		}
		panic(http.ErrAbortHandler)
	})
}

// interceptor puts it in front of a gRPC service.
func (w *workers) interceptor() grpc.UnaryServerInterceptor {
	return func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
		md, _ := metadata.FromIncomingContext(ctx)
		carriedOut, answered := w.call(fmt.Sprint(md.Get("api-key")))
		if !carriedOut {
			return nil, status.Error(codes.Unavailable, "error reading from server: EOF")
		}
		answer, err := handler(context.WithoutCancel(ctx), req)
		if !answered {
			return nil, status.Error(codes.Unavailable, "error reading from server: EOF")
		}
		return answer, err
	}
}

// dynamoDB returns the endpoint of the test's engine for workers.
func (w *workers) dynamoDB(t *testing.T) string {
	t.Helper()
	engine, err := url.Parse(dynamodbtest.Endpoint(t))
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(engine); r.Out.Host = r.In.Host }}
	proxy.ErrorLog = log.New(io.Discard, "", 0)
	server := httptest.NewServer(w.handler(proxy))
	t.Cleanup(server.Close)
	return server.URL
}

// TestKilledAnywhere plays a history during which a worker is killed every few remote calls, between any two of them or
// while one is under way. Its batch is delivered to another instance, and what it leaves behind is the sweep's when its
// claims have lapsed. What follows is the same as without kills. Nothing is paid for more often than it was tried.
func TestKilledAnywhere(t *testing.T) {
	t.Parallel()
	want := inOrder(t)
	for seed := range uint64(*kills) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			p := newPipeline(t)
			p.random = rand.New(rand.NewPCG(seed, 2))
			p.play(t, p.deliverInOrder)
			p.random = nil
			p.finish(t)
			got := p.outcome(t)
			got.compare(t, want)
			if p.workers.kills < 5 {
				t.Errorf("%d kills in %d calls", p.workers.kills, p.workers.calls)
			}
			for input, n := range got.paid {
				if n > max(1, want.paid[input])+p.workers.kills {
					t.Errorf("paid %d times, undisturbed %d times, with %d kills: %.200q", n, want.paid[input], p.workers.kills,
						input)
				}
			}
		})
	}
}

// invoke invokes an instance. Where the pipeline has a source of randomness, it is killed at one of its next calls.
// Then another instance gets the event, at once or when the claims of the killed one have lapsed.
func (p *pipeline) invoke(t *testing.T, function string, instance int, payload json.RawMessage) (any, error) {
	t.Helper()
	type result struct {
		out any
		err error
	}
	for {
		f := p.functions[function][instance]
		var dead <-chan struct{}
		if p.random != nil {
			dead = p.workers.doom(f.worker, 1+p.random.IntN(40), p.random.IntN(2) == 0)
		}
		done := make(chan result, 1)
		go func() {
			out, err := f.handle(t.Context(), payload)
			done <- result{out, err}
		}()
		select {
		case r := <-done:
			if p.workers.spare(f.worker) {
				return r.out, r.err
			}
		case <-dead:
		}
		p.functions[function][instance] = p.newInstance(t, function)
		instance = (instance + 1) % instances
		if p.random.IntN(8) > 0 {
			p.pass(t, time.Hour)
		}
	}
}

// finish lets time pass and runs the sweep until nothing is due.
func (p *pipeline) finish(t *testing.T) {
	t.Helper()
	for range 20 {
		if !p.pass(t, 24*time.Hour) {
			return
		}
		p.sweep(t)
		for records := p.take(t); len(records) > 0; records = p.take(t) {
			p.deliverInOrder(t, records)
		}
	}
	t.Error("something is due for ever")
}

// pass puts all times back until which something waits, and those of summaries, which have to be old before a spine is
// written from them. It reports whether something is due.
func (p *pipeline) pass(t *testing.T, by time.Duration) (due bool) {
	t.Helper()
	out, err := p.client.Scan(t.Context(), &dynamodb.ScanInput{TableName: &p.table, ConsistentRead: aws.Bool(true)})
	if err != nil {
		t.Fatal(err)
	}
	for _, it := range out.Items {
		var sets []string
		values := map[string]types.AttributeValue{}
		for _, name := range []string{"dueAt", "indexingUntil", "leaseUntil", "summaryUpdatedAt", "summaryIndexedAt"} {
			until, ok := it[name].(*types.AttributeValueMemberS)
			if !ok {
				continue
			}
			at, err := time.Parse(conversation.TimeFormat, until.Value)
			if err != nil {
				t.Fatal(err)
			}
			due = due || name == "dueAt"
			sets = append(sets, name+" = :"+name)
			values[":"+name] = &types.AttributeValueMemberS{Value: conversation.FormatTime(at.Add(-by))}
		}
		if len(sets) == 0 {
			continue
		}
		_, err := p.client.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
			TableName: &p.table, Key: map[string]types.AttributeValue{"pk": it["pk"], "sk": it["sk"]},
			UpdateExpression:          aws.String("SET " + strings.Join(slices.Sorted(slices.Values(sets)), ", ")),
			ExpressionAttributeValues: values,
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return due
}
