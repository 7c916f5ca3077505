package promptbench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"sync/atomic"
	"time"

	"github.com/throughline/throughline/infra/local/issuer"
)

// runtimeAPI is as much of Lambda's runtime API as a start needs: it notes when the first invocation is asked for, and
// never gives one. One function starts at a time. It stands for every service besides: it gives the issuer's keys,
// refuses the rest, and notes every call.
type runtimeAPI struct {
	line
	address, issuer string
	ready           chan error
	server          *http.Server
	served          chan error
}

const runtimePath = "/2018-06-01/runtime/"

func newRuntimeAPI(ctx context.Context) (*runtimeAPI, error) {
	listener, err := listen(ctx)
	if err != nil {
		return nil, err
	}
	a := &runtimeAPI{
		line:    line{journal: &journal{}, latency: hop, idle: &atomic.Bool{}},
		address: listener.Addr().String(), ready: make(chan error, 1), served: make(chan error, 1),
	}
	a.idle.Store(true)
	mux := http.NewServeMux()
	tokens, err := issuer.New(a.url(), "", time.Now)
	if err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	tokens.Register(mux)
	a.issuer = tokens.URL()
	mux.HandleFunc("GET "+runtimePath+"invocation/next", func(_ http.ResponseWriter, r *http.Request) {
		a.ready <- nil
		<-r.Context().Done()
	})
	mux.HandleFunc("POST "+runtimePath+"init/error", func(_ http.ResponseWriter, r *http.Request) {
		why, err := io.ReadAll(r.Body)
		a.ready <- errors.Join(fmt.Errorf("the function says: %s", why), err)
	})
	a.server = &http.Server{Handler: a.noting(mux), ReadHeaderTimeout: time.Second}
	go func() { a.served <- a.server.Serve(listener) }()
	return a, nil
}

func (a *runtimeAPI) url() string { return "http://" + a.address }

// noting notes the calls of services, each before its answer leaves.
func (a *runtimeAPI) noting(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if began := time.Now(); !strings.HasPrefix(r.URL.Path, runtimePath) {
			a.hold(began, operation(r))
		}
		next.ServeHTTP(w, r)
	})
}

func (a *runtimeAPI) close() error {
	err := a.server.Close()
	if ended := <-a.served; !errors.Is(ended, http.ErrServerClosed) {
		err = errors.Join(err, ended)
	}
	return err
}

// start starts a function and ends it when it is ready.
func (a *runtimeAPI) start(ctx context.Context, binary string, environment []string) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var printed strings.Builder
	command := exec.CommandContext(ctx, binary)
	command.Env = append([]string{"AWS_LAMBDA_RUNTIME_API=" + a.address}, environment...)
	command.Stdout, command.Stderr = &printed, &printed
	began := time.Now()
	if err := command.Start(); err != nil {
		return 0, fmt.Errorf("start process: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	select {
	case err := <-a.ready:
		took := time.Since(began)
		cancel() // kills it
		if why := <-ended; err != nil {
			err = errors.Join(err, why)
		}
		return took, err
	case err := <-ended:
		return 0, fmt.Errorf("it ended before it was ready: %w: %s", err, printed.String())
	}
}
