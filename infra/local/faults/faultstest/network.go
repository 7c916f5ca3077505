// Package faultstest gives tests a network that forgets connections.
package faultstest

import (
	"context"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
)

// Network forwards connections to a server until it forgets them.
type Network struct {
	// Address is where it listens.
	Address string

	mu    sync.Mutex
	links []*link
}

// NewNetwork returns a network in front of the server at an address, which ends with the test.
func NewNetwork(t testing.TB, server string) *Network {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	n := &Network{Address: l.Addr().String()}
	var ended sync.WaitGroup
	ended.Go(func() { n.serve(t.Context(), l, server) })
	t.Cleanup(func() {
		_ = l.Close()
		ended.Wait()
		for _, link := range n.links {
			_ = link.Close()
		}
	})
	return n
}

func (n *Network) serve(ctx context.Context, l net.Listener, server string) {
	for {
		client, err := l.Accept()
		if err != nil {
			return
		}
		upstream, err := new(net.Dialer).DialContext(ctx, "tcp", server)
		if err != nil {
			_ = client.Close()
			continue
		}
		toServer, toClient := &link{Conn: upstream}, &link{Conn: client}
		n.mu.Lock()
		n.links = append(n.links, toServer, toClient)
		n.mu.Unlock()
		go func() { _, _ = io.Copy(toServer, client) }()
		go func() { _, _ = io.Copy(toClient, upstream) }()
	}
}

// Forget loses whatever is sent from now on over the connections that exist. Neither end hears of it, as when a network
// has forgotten the connections of a function that was frozen.
func (n *Network) Forget() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, l := range n.links {
		l.forgotten.Store(true)
	}
}

// Connections returns how many connections there have been.
func (n *Network) Connections() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.links) / 2
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
