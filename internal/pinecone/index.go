// Package pinecone stores vectors in Pinecone over gRPC, with one connection for each index. The vectors of a user and
// generation are in a namespace of their own, or in one that users share. It calls the data plane only.
package pinecone

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/pinecone-io/go-pinecone/v5/pinecone"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/keepalive"

	"github.com/throughline/throughline/internal/vector"
)

// Index is one index of the service. It is safe for concurrent use.
type Index struct {
	connection *pinecone.IndexConnection
	// shared is how many namespaces the users share, or 0.
	shared  int
	refused refusals
}

var _ vector.Index = (*Index)(nil)

// New returns the index at a host, whose users share so many namespaces, or have one each if shared is 0. It connects
// with its first call. The connection is in plaintext when the host begins with http://.
func New(host, key string, shared int, dial ...grpc.DialOption) (*Index, error) {
	connection, err := connect(host, key, dial)
	if err != nil {
		return nil, err
	}
	return &Index{connection: connection, shared: shared, refused: refusals{now: time.Now}}, nil
}

// connect returns a connection to the index at an address.
func connect(address, key string, dial []grpc.DialOption) (*pinecone.IndexConnection, error) {
	host, err := host(address)
	if err != nil {
		return nil, err
	}
	// NewClient would also read the environment for a key.
	base, err := pinecone.NewClientBase(pinecone.NewClientBaseParams{
		Headers: map[string]string{"Api-Key": key}, SourceTag: "throughline",
	})
	if err != nil {
		return nil, fmt.Errorf("build pinecone client: %w", err)
	}
	index, err := base.Index(pinecone.NewIndexConnParams{Host: host}, append(dialOptions(), dial...)...)
	if err != nil {
		return nil, fmt.Errorf("build pinecone connection: %w", err)
	}
	return index, nil
}

// host checks and completes an address. The library ends the process on a host that gRPC refuses.
func host(address string) (string, error) {
	h := strings.TrimSuffix(address, "/")
	if !strings.Contains(h, "://") {
		h = "https://" + h
	}
	u, err := url.Parse(h)
	if err != nil || u.Hostname() == "" || u.Path != "" || (u.Scheme != "http" && u.Scheme != "https") {
		return "", fmt.Errorf("%q must be an index's host, such as https://name-id.svc.region.pinecone.io", address)
	}
	return h, nil
}

// gRPC asks whether a connection still lives when a call begins on one that was idle for pingAfter, and at that
// interval while a call is under way. An attempt is shorter than the interval, so that there is at most one ping for a
// call: servers end connections that ping more often than they answer calls.
const (
	pingAfter   = 30 * time.Second
	pingTimeout = 2 * time.Second
)

func dialOptions() []grpc.DialOption {
	params := grpc.ConnectParams{
		Backoff: backoff.Config{
			BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: 2 * time.Second,
		},
		MinConnectTimeout: 2 * time.Second,
	}
	d := newDialer()
	return []grpc.DialOption{
		grpc.WithConnectParams(params),
		grpc.WithContextDialer(d.dial),
		grpc.WithChainUnaryInterceptor(d.intercept),
		grpc.WithDisableRetry(), // besides what gRPC repeats because it never reached the service
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: pingAfter, Timeout: pingTimeout}),
	}
}

// Source is the name of the service in answers and metrics.
func (x *Index) Source() string { return "pinecone" }

// Close closes the connection. Later calls fail with Unavailable.
func (x *Index) Close() error { return x.connection.Close() }

// Dimension returns the dimension of the dense vectors. It is 0 where the service does not say.
func (x *Index) Dimension(ctx context.Context) (int, error) {
	stats, err := x.connection.DescribeIndexStats(ctx)
	if err != nil || stats.Dimension == nil {
		return 0, failure("describe index", err)
	}
	return int(*stats.Dimension), nil
}
