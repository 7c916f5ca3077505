package function_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/testing/dynamodbtest"
)

// workers are the instances of a pipeline's functions, by the keys that they show the services. It kills a worker at
// one of its remote calls, before or after the call is carried out. A worker that was killed makes no more calls.
type workers struct {
	mu    sync.Mutex
	alive map[string]*worker
	made  int
	calls map[string]int // by operation
	kills map[death]int
}

// death is the operation of a call, and whether that was carried out when its caller was killed.
type death struct {
	operation string
	after     bool
}

// worker is one instance.
type worker struct {
	doom
	dead chan struct{}
}

// doom says at which of its calls a worker is killed.
type doom struct {
	// left is the number of the call, counted from the next one, and 0 for none.
	left int
	// writes says that calls which only read are not counted.
	writes bool
	// after says that the call is carried out.
	after bool
}

// hire returns the key of a new worker.
func (w *workers) hire() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.alive == nil {
		w.alive, w.calls, w.kills = map[string]*worker{}, map[string]int{}, map[death]int{}
	}
	w.made++
	name := fmt.Sprint("worker", w.made)
	w.alive[name] = &worker{dead: make(chan struct{})}
	return name
}

// doom has a worker killed at one of its next calls.
func (w *workers) doom(name string, d doom) (dead <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	k := w.alive[name]
	k.doom = d
	return k.dead
}

// spare lets a worker live, and reports whether it does.
func (w *workers) spare(name string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	k, ok := w.alive[name]
	if ok {
		k.doom = doom{}
	}
	return ok
}

// killed returns how many workers were killed.
func (w *workers) killed() (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, times := range w.kills {
		n += times
	}
	return n
}

// fate is what becomes of a remote call.
type fate struct {
	carriedOut, answered bool
	// died is closed when the call is over at which its caller is killed. It is nil at any other.
	died chan struct{}
}

// call decides about a remote call. The operation's name may have a prefix.
func (w *workers) call(credentials, operation string) fate {
	name := workerName(credentials)
	if name == "" { // the test itself
		return fate{carriedOut: true, answered: true}
	}
	operation = operation[strings.LastIndexAny(operation, "./")+1:]
	w.mu.Lock()
	defer w.mu.Unlock()
	k := w.alive[name]
	if k == nil {
		return fate{}
	}
	w.calls[operation]++
	if k.left == 0 || k.writes && (operation == "Query" || operation == "BatchGetItem") {
		return fate{carriedOut: true, answered: true}
	}
	if k.left--; k.left > 0 {
		return fate{carriedOut: true, answered: true}
	}
	delete(w.alive, name)
	w.kills[death{operation, k.after}]++
	return fate{carriedOut: k.after, died: k.dead}
}

// workerName finds the key of a worker in its credentials.
func workerName(credentials string) string {
	const prefix = "worker"
	_, after, ok := strings.Cut(credentials, prefix)
	if !ok {
		return ""
	}
	return prefix + after[:len(after)-len(strings.TrimLeft(after, "0123456789"))]
}

// handler puts the workers' fate in front of an HTTP service. The operation is in DynamoDB's header or in the path.
func (w *workers) handler(service http.Handler) http.Handler {
	return http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		f := w.call(r.Header.Get("Authorization"), r.URL.Path+r.Header.Get("X-Amz-Target"))
		if f.answered {
			service.ServeHTTP(out, r)
			return
		}
		if f.died != nil {
			defer close(f.died)
		}
		if f.carriedOut {
			// The caller has gone, and the service does its work all the same.
			service.ServeHTTP(httptest.NewRecorder(), r.WithContext(context.WithoutCancel(r.Context())))
		}
		panic(http.ErrAbortHandler)
	})
}

// interceptor puts it in front of a gRPC service.
func (w *workers) interceptor() grpc.UnaryServerInterceptor {
	return func(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
		md, _ := metadata.FromIncomingContext(ctx)
		f := w.call(fmt.Sprint(md.Get("api-key")), info.FullMethod)
		if f.died != nil {
			defer close(f.died)
		}
		if !f.carriedOut {
			return nil, status.Error(codes.Unavailable, "error reading from server: EOF")
		}
		answer, err := handler(context.WithoutCancel(ctx), req)
		if !f.answered {
			return nil, status.Error(codes.Unavailable, "error reading from server: EOF")
		}
		return answer, err
	}
}

// dynamoDB returns the endpoint of the test's engine for workers.
func (w *workers) dynamoDB(t *testing.T) string {
	t.Helper()
	engine := check.Got(url.Parse(dynamodbtest.Endpoint(t)))(t)
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(engine); r.Out.Host = r.In.Host }}
	proxy.ErrorLog = log.New(io.Discard, "", 0)
	server := httptest.NewServer(w.handler(proxy))
	t.Cleanup(server.Close)
	return server.URL
}
