// Package pinecone keeps vectors in a Pinecone index over gRPC: one namespace for each user and generation, one
// connection for all of them (design 3). It calls the data plane only.
package pinecone

import (
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/pinecone-io/go-pinecone/v5/pinecone"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"

	"github.com/throughline/throughline/internal/config"
	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/recall"
)

// Client is a vector index. It is safe for concurrent use.
type Client struct{ index *pinecone.IndexConnection }

var _ recall.Index = (*Client)(nil)

// retryPolicy is gRPC's own: what the service could not take is tried three times in all, within the call's deadline.
// Every call of this package may be repeated: ids are deterministic.
const retryPolicy = `{"methodConfig": [{"name": [{}], "retryPolicy": {"maxAttempts": 3, "initialBackoff": "0.05s",
	"maxBackoff": "0.5s", "backoffMultiplier": 3, "retryableStatusCodes": ["UNAVAILABLE", "RESOURCE_EXHAUSTED"]}}]}`

// New builds a client for the index at the configured host; it connects with the first call. A host that begins with
// http:// is spoken to in plaintext.
func New(cfg config.Pinecone) (*Client, error) {
	host, err := host(cfg.IndexHost)
	if err != nil {
		return nil, err
	}
	// NewClientBase takes the key from here alone; NewClient would look into the environment for another.
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

// host checks the host first: the library ends the process over one that gRPC refuses.
func host(configured string) (string, error) {
	h := strings.TrimSuffix(configured, "/")
	if !strings.Contains(h, "://") {
		h = "https://" + h
	}
	u, err := url.Parse(h)
	if err != nil || u.Hostname() == "" || u.Path != "" || (u.Scheme != "http" && u.Scheme != "https") {
		return "", fmt.Errorf("PINECONE_INDEX_HOST is %q: it must be the index's host, such as https://name-id.svc.region.pinecone.io", configured)
	}
	return h, nil
}

func dialOptions() []grpc.DialOption {
	connect := grpc.ConnectParams{
		Backoff:           backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: 2 * time.Second},
		MinConnectTimeout: 2 * time.Second,
	}
	return []grpc.DialOption{
		grpc.WithConnectParams(connect),
		grpc.WithDefaultServiceConfig(retryPolicy),
		// A call is kept for another try only up to this size; an upsert may have two megabytes.
		grpc.WithDefaultCallOptions(grpc.MaxRetryRPCBufferSize(2 * maxUpsertBytes)),
	}
}

// Close ends the connection. A client that is closed is unavailable.
func (c *Client) Close() error { return c.index.Close() }

// of is the connection as one user and generation sees it: no call can leave their namespace.
func (c *Client) of(user conversation.UserID, generation int64) *pinecone.IndexConnection {
	return c.index.WithNamespace(Namespace(user, generation))
}
