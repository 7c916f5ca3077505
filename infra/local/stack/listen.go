package stack

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"syscall"
	"time"
)

// readHeaderTimeout ends connections that never send a request.
const readHeaderTimeout = 10 * time.Second

// listen takes a port of the loopback interface, a free one for 0. Its error says the mend: another value of the
// variable that chooses the port.
func listen(ctx context.Context, variable string, port int) (net.Listener, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	switch other := port%65535 + 1; {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("port %d is taken: stop what uses it, or %s=%d make run", port, variable, other)
	case errors.Is(err, os.ErrPermission):
		return nil, fmt.Errorf("port %d may not be used by you: choose one above 1023, as with %s=8080 make run", port, variable)
	}
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	return l, nil
}

// address is a listener's URL.
func address(l net.Listener) string { return "http://" + l.Addr().String() }

// serve answers on l until the stack stops, and reports a server that ends before.
func (s *Stack) serve(l net.Listener, handler http.Handler) {
	server := &http.Server{Handler: handler, ReadHeaderTimeout: readHeaderTimeout, ErrorLog: discardLog}
	s.mu.Lock()
	s.servers = append(s.servers, server)
	s.mu.Unlock()
	s.running.Go(func() {
		if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			s.fail(fmt.Errorf("serve %s: %w", l.Addr(), err))
		}
	})
}
