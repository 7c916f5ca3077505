// Package pineconetest gives a test a local vector index of its own.
package pineconetest

import (
	"errors"
	"net"
	"testing"

	"google.golang.org/grpc"

	"github.com/throughline/throughline/infra/local/pineconelocal"
	"github.com/throughline/throughline/internal/pinecone"
)

// Client starts an empty index of that many dimensions, behind these interceptors, and returns a client of it. Both are
// closed when the test ends; an error of closing fails the test.
func Client(t testing.TB, dimensions int, interceptors ...grpc.UnaryServerInterceptor) *pinecone.Index {
	t.Helper()
	return Dial(t, Host(t, dimensions, interceptors...), 0)
}

// Host starts an empty index of that many dimensions, behind these interceptors, and returns its host.
func Host(t testing.TB, dimensions int, interceptors ...grpc.UnaryServerInterceptor) string {
	t.Helper()
	server, err := pineconelocal.New(pineconelocal.Options{Dimension: dimensions})
	if err != nil {
		t.Fatal(err)
	}
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(l, interceptors...) }()
	t.Cleanup(func() {
		for _, err := range []error{server.Close(), <-served} {
			if err != nil && !errors.Is(err, net.ErrClosed) { // a test may end before Serve was called
				t.Error(err)
			}
		}
	})
	return "http://" + l.Addr().String()
}

// Dial returns a client of the index at a host, whose users share so many namespaces, or have one each. It is closed
// when the test ends.
func Dial(t testing.TB, host string, shared int) *pinecone.Index {
	t.Helper()
	index, err := pinecone.New(host, "any", shared)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := index.Close(); err != nil {
			t.Error(err)
		}
	})
	return index
}
