// Package pinecone stores vectors in a Pinecone index over gRPC: one namespace for each user and generation, and one
// connection for all of them. It calls the data plane only.
package pinecone

import (
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/pinecone-io/go-pinecone/v5/pinecone"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/keepalive"

	"github.com/throughline/throughline/internal/config"
	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/recall"
)

// Client is a vector index. It is safe for concurrent use.
type Client struct{ index *pinecone.IndexConnection }

var _ recall.Index = (*Client)(nil)

// New builds a client for the index at the configured host. It connects with the first call. The connection is in
// plaintext when the host begins with http://.
func New(cfg config.Pinecone) (*Client, error) {
	host, err := host(cfg.IndexHost)
	if err != nil {
		return nil, err
	}
	// NewClient would also read the environment for a key.
	base, err := pinecone.NewClientBase(pinecone.NewClientBaseParams{
		Headers: map[string]string{"Api-Key": cfg.APIKey}, SourceTag: "throughline",
	})
	if err != nil {
		return nil, fmt.Errorf("build pinecone client: %w", err)
	}
	index, err := base.Index(pinecone.NewIndexConnParams{Host: host}, dialOptions()...)
	if err != nil {
		return nil, fmt.Errorf("build pinecone connection: %w", err)
	}
	return &Client{index: index}, nil
}

// host checks and completes the configured host. The library ends the process on a host that gRPC refuses.
func host(configured string) (string, error) {
	h := strings.TrimSuffix(configured, "/")
	if !strings.Contains(h, "://") {
		h = "https://" + h
	}
	u, err := url.Parse(h)
	if err != nil || u.Hostname() == "" || u.Path != "" || (u.Scheme != "http" && u.Scheme != "https") {
		return "", fmt.Errorf("PINECONE_INDEX_HOST is %q: it must be the index's host, "+
			"such as https://name-id.svc.region.pinecone.io", configured)
	}
	return h, nil
}

func dialOptions() []grpc.DialOption {
	connect := grpc.ConnectParams{
		Backoff: backoff.Config{
			BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: 2 * time.Second,
		},
		MinConnectTimeout: 2 * time.Second,
	}
	d := newDialer()
	return []grpc.DialOption{
		grpc.WithConnectParams(connect),
		grpc.WithContextDialer(d.dial),
		grpc.WithChainUnaryInterceptor(d.intercept),
		grpc.WithDisableRetry(), // besides what gRPC repeats because it never reached the service
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: pingAfter, Timeout: pingTimeout}),
	}
}

// gRPC asks whether a connection still lives when a call begins on one that was idle for pingAfter, and at that
// interval while a call is under way. An attempt is shorter than the interval, so that there is at most one ping for a
// call: servers end connections that ping more often than they answer calls.
const (
	pingAfter   = 30 * time.Second
	pingTimeout = 2 * time.Second
)

// Close closes the connection. Later calls fail with Unavailable.
func (c *Client) Close() error { return c.index.Close() }

// namespace returns the connection for the namespace of one user and generation.
func (c *Client) namespace(user conversation.UserID, generation int64) *pinecone.IndexConnection {
	return c.index.WithNamespace(Namespace(user, generation))
}
