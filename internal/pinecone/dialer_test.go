package pinecone

import (
	"context"
	"net"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/transport"
)

// TestIdleConnectionsAreNotUsed makes two connections, of which one heard nothing for longer than transport.MaxIdle.
func TestIdleConnectionsAreNotUsed(t *testing.T) {
	t.Parallel()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	check.OK(t, err)
	t.Cleanup(func() { _ = l.Close() })
	d := newDialer()
	var conns [2]net.Conn
	for i := range conns {
		if conns[i], err = d.dial(t.Context(), l.Addr().String()); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conns[i].Close() })
	}
	conns[0].(*conn).heard.Store(time.Now().Add(-transport.MaxIdle - time.Second).UnixNano())
	call := func(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error { return nil }
	check.OK(t, d.intercept(t.Context(), "", nil, nil, nil, call))
	for i, open := range []bool{false, true} {
		if _, err := conns[i].Write([]byte("x")); (err == nil) != open {
			t.Errorf("connection %d: %v, want open: %v", i, err, open)
		}
	}
}
