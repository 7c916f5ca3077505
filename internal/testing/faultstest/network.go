// Package faultstest gives tests a network that forgets connections.
package faultstest

import (
	"context"
	"io"
	"net"
	"sync"
	"testing"
)

// Network forwards connections to a server until it forgets them.
type Network struct {
	// Address is where it listens.
	Address string

	t     testing.TB
	mu    sync.Mutex
	conns []net.Conn // in pairs: of the client, to the server
}

// NewNetwork returns a network in front of the server at an address, which ends with the test.
func NewNetwork(t testing.TB, server string) *Network {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	n := &Network{t: t, Address: l.Addr().String()}
	var ended sync.WaitGroup
	ended.Go(func() { n.serve(t.Context(), l, server) })
	t.Cleanup(func() {
		_ = l.Close()
		ended.Wait()
		for _, c := range n.conns {
			_ = c.Close()
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
		n.mu.Lock()
		n.conns = append(n.conns, client, upstream)
		n.mu.Unlock()
		go func() { _, _ = io.Copy(upstream, client) }()
		go func() { _, _ = io.Copy(client, upstream) }()
	}
}

// Connections returns how many connections there have been.
func (n *Network) Connections() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.conns) / 2
}
