// Package pinecone stores vectors in Pinecone over gRPC, in one index or several, with one connection for each. The
// vectors of a user and generation are in a namespace of their own, or in one that users share. It calls the data plane
// only.
package pinecone

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/pinecone-io/go-pinecone/v5/pinecone"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/keepalive"

	"github.com/throughline/throughline/internal/config"
	"github.com/throughline/throughline/internal/recall"
)

// Client stores and finds vectors. It is safe for concurrent use.
type Client struct {
	indexes map[string]*pinecone.IndexConnection
	// newUsers is the index of users who have no vectors yet.
	newUsers string
	// directory is nil where there is one index. Nobody's record names an index then.
	directory recall.Directory
	// shared is how many namespaces of an index its users share, or 0.
	shared int
	full   *refusals
}

var _ recall.Index = (*Client)(nil)

// New builds a client for the configured indexes. It connects with the first call to each. A connection is in plaintext
// when the host begins with http://. The directory says which index holds a user; with one index it may be nil.
func New(cfg config.Pinecone, directory recall.Directory) (*Client, error) {
	c := &Client{
		indexes:  map[string]*pinecone.IndexConnection{},
		newUsers: cmp.Or(cfg.NewUsersIndex, config.FirstIndex), shared: int(cfg.Namespaces), full: newRefusals(),
	}
	var err error
	if c.indexes[config.FirstIndex], err = connect("PINECONE_INDEX_HOST", cfg.IndexHost, cfg.APIKey); err != nil {
		return nil, err
	}
	for name, address := range cfg.MoreIndexes {
		if c.indexes[name], err = connect("PINECONE_MORE_INDEXES", address, cfg.APIKey); err != nil {
			return nil, err
		}
	}
	if len(cfg.MoreIndexes) > 0 {
		c.directory = directory
	}
	for name := range cfg.Embeddings {
		if c.indexes[name] == nil {
			return nil, fmt.Errorf("PINECONE_INDEX_EMBEDDINGS has %q, which is not in PINECONE_MORE_INDEXES", name)
		}
	}
	if c.indexes[c.newUsers] == nil {
		return nil, fmt.Errorf("PINECONE_NEW_USERS_INDEX is %q: it must be %s or a name of PINECONE_MORE_INDEXES",
			c.newUsers, config.FirstIndex)
	}
	return c, nil
}

// connect returns a connection to the index at an address, which comes from a variable.
func connect(variable, address, key string) (*pinecone.IndexConnection, error) {
	host, err := host(variable, address)
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
	index, err := base.Index(pinecone.NewIndexConnParams{Host: host}, dialOptions()...)
	if err != nil {
		return nil, fmt.Errorf("build pinecone connection: %w", err)
	}
	return index, nil
}

// host checks and completes an address. The library ends the process on a host that gRPC refuses.
func host(variable, address string) (string, error) {
	h := strings.TrimSuffix(address, "/")
	if !strings.Contains(h, "://") {
		h = "https://" + h
	}
	u, err := url.Parse(h)
	if err != nil || u.Hostname() == "" || u.Path != "" || (u.Scheme != "http" && u.Scheme != "https") {
		return "", fmt.Errorf("%s has %q: it must be an index's host, such as https://name-id.svc.region.pinecone.io",
			variable, address)
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

// Close closes the connections. Later calls fail with Unavailable.
func (c *Client) Close() error {
	var errs []error
	for _, index := range c.indexes {
		errs = append(errs, index.Close())
	}
	return errors.Join(errs...)
}

// Dimension returns the dimension of an index's dense vectors. It is 0 where the service does not say.
func (c *Client) Dimension(ctx context.Context, index string) (int, error) {
	connection := c.indexes[index]
	if connection == nil {
		return 0, fmt.Errorf("there is no index %q", index)
	}
	stats, err := connection.DescribeIndexStats(ctx)
	if err != nil || stats.Dimension == nil {
		return 0, failure("describe index", err)
	}
	return int(*stats.Dimension), nil
}
