package stack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// readHeaderTimeout ends connections that never send a request.
const readHeaderTimeout = 10 * time.Second

// supervisor runs the goroutines and HTTP servers of a stack, and keeps the first error of one that ends by itself.
type supervisor struct {
	ctx     context.Context // ends when the stack stops
	cancel  context.CancelFunc
	running sync.WaitGroup // every goroutine of the stack
	failed  chan error     // has room for the first failure

	mu      sync.Mutex
	servers []*http.Server
}

func newSupervisor() *supervisor {
	s := &supervisor{failed: make(chan error, 1)}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s
}

// run calls f in a goroutine until the stack stops. An error of f fails the stack.
func (s *supervisor) run(f func(context.Context) error) {
	s.running.Go(func() {
		if err := f(s.ctx); err != nil {
			select {
			case s.failed <- err:
			default: // only the first cause counts
			}
		}
	})
}

// serve answers on l until the stack stops. A server that ends before fails the stack.
func (s *supervisor) serve(l net.Listener, handler http.Handler) {
	// Connections that a fault injector closes are not worth a log line.
	quiet := log.New(io.Discard, "", 0)
	server := &http.Server{Handler: handler, ReadHeaderTimeout: readHeaderTimeout, ErrorLog: quiet}
	s.mu.Lock()
	s.servers = append(s.servers, server)
	s.mu.Unlock()
	s.run(func(context.Context) error {
		if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			return fmt.Errorf("serve %s: %w", l.Addr(), err)
		}
		return nil
	})
}

// closeServers waits for the answers under way until ctx ends, and then cuts them off.
func (s *supervisor) closeServers(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var closing sync.WaitGroup
	for _, server := range s.servers {
		closing.Go(func() {
			if server.Shutdown(ctx) != nil {
				_ = server.Close()
			}
		})
	}
	closing.Wait()
}

// place is a port where something listens, and the variable that chooses it. The zero place is a free port.
type place struct {
	variable string
	port     Port
}

// listen takes a port of the loopback interface. The error tells the user to give another value to its variable.
func listen(ctx context.Context, at place) (net.Listener, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(int(at.port))))
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("port %d is taken: stop what uses it, or %s=%d make run", at.port, at.variable, at.port+1)
	case errors.Is(err, os.ErrPermission):
		return nil, fmt.Errorf("port %d may not be used by you: choose one above 1023, as with %s=8080 make run",
			at.port, at.variable)
	}
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	return l, nil
}

// address is a listener's URL.
func address(l net.Listener) string { return "http://" + l.Addr().String() }
