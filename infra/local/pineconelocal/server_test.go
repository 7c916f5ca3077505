package pineconelocal_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/pinecone-io/go-pinecone/v5/pinecone"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/throughline/throughline/infra/local/pineconelocal"
)

func TestNewRefuses(t *testing.T) {
	withData := t.TempDir()
	run(t, withData, func(conn *pinecone.IndexConnection) { upsert(t, conn, vector("a", 1, 2)) })
	for name, opts := range map[string]pineconelocal.Options{
		"metric":          {Metric: "manhattan"},
		"dimension":       {Dimension: 20_001},
		"lag":             {Lag: -1},
		"missing folder":  {DataDir: filepath.Join(t.TempDir(), "missing")},
		"other dimension": {DataDir: withData, Dimension: 3},
	} {
		if s, err := pineconelocal.New(opts); err == nil {
			t.Errorf("%s: no error", name)
			_ = s.Close()
		}
	}
}

func TestDoors(t *testing.T) {
	s := build(t, pineconelocal.Options{})
	front := dial(t, serve(t, s), "")
	fault := status.Error(codes.Unavailable, "injected")
	seen := make(chan string, 10)
	faulty := func(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		seen <- info.FullMethod
		if info.FullMethod == "/VectorService/Query" {
			return nil, fault
		}
		return next(ctx, req)
	}
	back := dial(t, serve(t, s, faulty), "")

	upsert(t, back, vector("a", 1))
	if got := <-seen; got != "/VectorService/Upsert" {
		t.Errorf("the door saw %s", got)
	}
	query := pinecone.QueryByVectorValuesRequest{Vector: []float32{1}, TopK: 1}
	if _, err := back.QueryByVectorValues(t.Context(), &query); refusal(err) != "Unavailable: injected" {
		t.Errorf("through the faulty door: %v", err)
	}
	if got := matches(t, front, query); len(got) != 1 {
		t.Errorf("through the other door: %v", got)
	}
}

func TestRequireKey(t *testing.T) {
	s := build(t, pineconelocal.Options{})
	guarded, open := serve(t, s, pineconelocal.RequireKey), serve(t, s)
	stats := func(host string) error {
		client, err := pinecone.NewClientBase(pinecone.NewClientBaseParams{}) // sends no key
		if err != nil {
			t.Fatal(err)
		}
		conn, err := client.Index(pinecone.NewIndexConnParams{Host: host})
		if err != nil {
			t.Fatal(err)
		}
		_, err = conn.DescribeIndexStats(t.Context())
		return errors.Join(err, conn.Close())
	}
	if err := stats(guarded); status.Code(err) != codes.Unauthenticated {
		t.Errorf("without a key at a guarded door: %v", err)
	}
	if err := stats(open); err != nil {
		t.Errorf("without a key at an open door: %v", err)
	}
	describe(t, dial(t, guarded, ""))
}

func TestServeAfterClose(t *testing.T) {
	s := build(t, pineconelocal.Options{})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Serve(l); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Serve: %v", err)
	}
}

func TestConcurrentUse(t *testing.T) {
	for name, opts := range map[string]pineconelocal.Options{
		"at once":        {},
		"with a lag":     {Lag: time.Millisecond},
		"with a journal": {DataDir: t.TempDir()},
	} {
		t.Run(name, func(t *testing.T) {
			s := build(t, opts)
			conn := dial(t, serve(t, s), "")
			var wg sync.WaitGroup
			for w := range 8 {
				ns := conn.WithNamespace(fmt.Sprintf("user-%d", w%4))
				wg.Go(func() { mixedWork(t, ns, w) })
			}
			wg.Wait()
		})
	}
}

// mixedWork does every kind of call on records of its own and on those of the other workers.
func mixedWork(t *testing.T, conn *pinecone.IndexConnection, worker int) {
	ctx := context.Background()
	for i := range 25 {
		v := vector(fmt.Sprintf("w%d-%d", worker, i), float32(i+1), 1)
		v.Metadata = object(t, map[string]any{"worker": worker})
		_, upserted := conn.UpsertVectors(ctx, []*pinecone.Vector{v})
		_, queried := conn.QueryByVectorValues(ctx,
			&pinecone.QueryByVectorValuesRequest{Vector: []float32{1, 1}, TopK: 20, IncludeMetadata: true})
		_, listed := conn.ListVectors(ctx, &pinecone.ListVectorsRequest{})
		_, described := conn.DescribeIndexStats(ctx)
		_, marked := conn.UpdateVectorsByMetadata(ctx, &pinecone.UpdateVectorsByMetadataRequest{
			Filter: object(t, map[string]any{"worker": worker}), Metadata: object(t, map[string]any{"round": i}),
		})
		var deleted error
		if i%3 == 0 {
			deleted = conn.DeleteVectorsById(ctx, []string{v.Id})
		}
		if err := errors.Join(upserted, queried, listed, described, marked, deleted); err != nil {
			t.Error(err)
		}
	}
}
