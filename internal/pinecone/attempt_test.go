package pinecone_test

import (
	"context"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/throughline/throughline/infra/local/pineconelocal/pineconetest"
	"github.com/throughline/throughline/internal/config"
	"github.com/throughline/throughline/internal/fault"
)

// deadline is the time of a call whose first attempt hangs. That attempt has half of it.
const deadline = 2 * time.Second

func TestOneAttemptThatHangsLeavesTimeForTheNext(t *testing.T) {
	t.Parallel()
	var attempts atomic.Int32
	c := pineconetest.Client(t, 2, func(
		ctx context.Context, r any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler,
	) (any, error) {
		if attempts.Add(1) == 2 { // the first is the upsert
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return next(ctx, r)
	})
	upsert(t, c, "anna", 0, record("m1", 1, 0))
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	if got, err := c.Query(ctx, "anna", 0, east); err != nil || len(got) != 1 {
		t.Errorf("after an attempt that hung: %v, %v", got, err)
	}
	if got := attempts.Load(); got != 3 {
		t.Errorf("%d attempts, want 3", got)
	}
}

// TestADeadConnectionCostsOneAttempt cuts the connections of a client as a network does that forgot them while the
// function was frozen: what is sent is not answered, and nothing says that the connection is gone.
func TestADeadConnectionCostsOneAttempt(t *testing.T) {
	t.Parallel()
	network := newNetwork(t, pineconetest.Host(t, 2))
	c := pineconetest.Dial(t, config.Pinecone{IndexHost: network.host}, nil)
	upsert(t, c, "anna", 0, record("m1", 1, 0))
	network.forget()
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	if got, err := c.Query(ctx, "anna", 0, east); err != nil || len(got) != 1 {
		t.Errorf("on a dead connection: %v, %v", got, err)
	}
}

func TestNoAttemptOutlivesItsCall(t *testing.T) {
	t.Parallel()
	network := newNetwork(t, pineconetest.Host(t, 2))
	c := pineconetest.Dial(t, config.Pinecone{IndexHost: network.host}, nil)
	upsert(t, c, "anna", 0, record("m1", 1, 0))
	network.forget()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := c.Query(ctx, "anna", 0, east); !fault.Is(err, fault.Unavailable) {
		t.Errorf("a call without an answer: %v", err)
	}
}

// network forwards connections to a server until it forgets them.
type network struct {
	host string

	mu    sync.Mutex
	links []*link
}

func newNetwork(t *testing.T, server string) *network {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	n := &network{host: "http://" + l.Addr().String()}
	var ended sync.WaitGroup
	ended.Go(func() { n.serve(l, server) })
	t.Cleanup(func() {
		_ = l.Close()
		ended.Wait()
		for _, link := range n.links {
			_ = link.Close()
		}
	})
	return n
}

func (n *network) serve(l net.Listener, server string) {
	for {
		client, err := l.Accept()
		if err != nil {
			return
		}
		upstream, err := net.Dial("tcp", strings.TrimPrefix(server, "http://"))
		if err != nil {
			return
		}
		toServer, toClient := &link{Conn: upstream}, &link{Conn: client}
		n.mu.Lock()
		n.links = append(n.links, toServer, toClient)
		n.mu.Unlock()
		go func() { _, _ = io.Copy(toServer, client) }()
		go func() { _, _ = io.Copy(toClient, upstream) }()
	}
}

// forget loses everything that is sent from now on over the connections that exist.
func (n *network) forget() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, l := range n.links {
		l.forgotten.Store(true)
	}
}

// link is one end of a forwarded connection.
type link struct {
	net.Conn
	forgotten atomic.Bool
}

// Write implements io.Writer.
func (l *link) Write(b []byte) (int, error) {
	if l.forgotten.Load() {
		return len(b), nil
	}
	return l.Conn.Write(b)
}
