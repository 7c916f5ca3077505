package pinecone

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/throughline/throughline/internal/transport"
)

// dialer makes the connections of a client and knows which of them are idle. It is safe for concurrent use.
type dialer struct {
	connect transport.DialContext
	mu      sync.Mutex
	conns   map[*conn]struct{}
}

func newDialer() *dialer {
	return &dialer{connect: transport.Dial(2 * time.Second), conns: map[*conn]struct{}{}}
}

// dial connects to an address.
func (d *dialer) dial(ctx context.Context, address string) (net.Conn, error) {
	raw, err := d.connect(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	c := &conn{Conn: raw, dialer: d}
	c.heard.Store(time.Now().UnixNano())
	d.mu.Lock()
	defer d.mu.Unlock()
	d.conns[c] = struct{}{}
	return c, nil
}

// closeIdle closes the connections that received nothing for longer than transport.MaxIdle. gRPC makes a new one for
// the next call.
func (d *dialer) closeIdle() {
	since := time.Now().Add(-transport.MaxIdle).UnixNano()
	var idle []*conn
	d.mu.Lock()
	for c := range d.conns {
		if c.heard.Load() < since {
			idle = append(idle, c)
		}
	}
	d.mu.Unlock()
	for _, c := range idle {
		_ = c.Close() // gRPC sees that it is closed, and closes it again
	}
}

// conn is a connection that knows when it last received something.
type conn struct {
	net.Conn
	dialer *dialer
	heard  atomic.Int64 // in Unix nanoseconds
}

// Read implements net.Conn.
func (c *conn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 {
		c.heard.Store(time.Now().UnixNano())
	}
	return n, err
}

// Close implements net.Conn.
func (c *conn) Close() error {
	c.dialer.mu.Lock()
	delete(c.dialer.conns, c)
	c.dialer.mu.Unlock()
	return c.Conn.Close()
}
