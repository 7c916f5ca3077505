// Package pineconelocal is a Pinecone data plane for the local stack (design 5): it serves, in plaintext gRPC, every
// method that the go-pinecone client calls on an index, with the service's limits, error codes and filter language.
//
// It behaves as a serverless index does. Scores are exact (every record is compared), equal scores are ordered by id,
// and with a lag it is eventually consistent, as the service is.
package pineconelocal

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"
)

// Metric is how two vectors are compared.
type Metric string

// The metrics of the service. Only [DotProduct] takes sparse values. [Euclidean] scores are squared distances: the
// smallest is the best.
const (
	DotProduct Metric = "dotproduct"
	Cosine     Metric = "cosine"
	Euclidean  Metric = "euclidean"
)

// Options describe the index that a [Server] holds. The zero value is an index in memory, with dot products, that
// takes its dimension from the first upsert and shows every write at once.
type Options struct {
	// Dimension of the dense vectors; 0 takes that of the first vector upserted.
	Dimension int
	// Metric defaults to DotProduct.
	Metric Metric
	// Lag is how long a write stays hidden from reads. Writes see all earlier writes.
	Lag time.Duration
	// DataDir, if set, is an existing folder where the index is kept between runs. It outlives a killed process, but
	// is not flushed to the disk on each write. Only one Server may use it at a time.
	DataDir string
	// Clock tells the time that Lag is measured with; time.Now by default.
	Clock func() time.Time
}

// Server is one index, served on any number of listeners. It may be used concurrently.
type Server struct {
	store *store
	desc  *grpc.ServiceDesc

	mu     sync.Mutex
	grpcs  []*grpc.Server
	closed bool
}

// New builds a server and reads back what an earlier run left in DataDir. It fails on options that no index can have,
// on a folder that can't be used, and on data that doesn't fit the options.
func New(opts Options) (*Server, error) {
	opts, err := opts.complete()
	if err != nil {
		return nil, err
	}
	s := &Server{store: newStore(opts)}
	if s.desc, err = describe(s.handlers()); err != nil {
		return nil, err
	}
	if opts.DataDir != "" {
		if err := s.restore(opts.DataDir); err != nil {
			return nil, fmt.Errorf("restore %s: %w", opts.DataDir, err)
		}
	}
	s.store.startLag(opts.Lag)
	return s, nil
}

func (o Options) complete() (Options, error) {
	if o.Metric == "" {
		o.Metric = DotProduct
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if !slices.Contains([]Metric{DotProduct, Cosine, Euclidean}, o.Metric) {
		return o, fmt.Errorf("unknown metric %q", o.Metric)
	}
	if o.Dimension < 0 || o.Dimension > maxDimension {
		return o, fmt.Errorf("dimension %d is not between 0 and %d", o.Dimension, maxDimension)
	}
	if o.Lag < 0 {
		return o, fmt.Errorf("lag %s is negative", o.Lag)
	}
	return o, nil
}

// Serve answers on l until Close, and then returns nil. The interceptors, if any, see each call of this listener, the
// first of them first: several listeners can serve the same data through different doors. API keys are not looked at,
// see [RequireKey]. It closes l, and returns [net.ErrClosed] when the server is closed already.
func (s *Server) Serve(l net.Listener, interceptors ...grpc.UnaryServerInterceptor) error {
	g := grpc.NewServer(
		grpc.MaxRecvMsgSize(maxReceived),
		grpc.WaitForHandlers(true), // they write to the journal
		grpc.ChainUnaryInterceptor(interceptors...),
	)
	g.RegisterService(s.desc, nil)
	if !s.adopt(g) {
		return errors.Join(net.ErrClosed, l.Close())
	}
	if err := g.Serve(l); !errors.Is(err, grpc.ErrServerStopped) {
		return err
	}
	return nil // Close came first
}

// adopt hands g to Close, unless the server is closed already.
func (s *Server) adopt(g *grpc.Server) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.grpcs = append(s.grpcs, g)
	return true
}

// Close ends every Serve, cancels the calls under way and waits for them, and closes the data folder. Later calls do
// nothing.
func (s *Server) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	for _, g := range s.grpcs {
		g.Stop()
	}
	return s.store.close()
}
