package pineconelocal_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"github.com/pinecone-io/go-pinecone/v5/pinecone"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/throughline/throughline/infra/local/pineconelocal"
)

func TestNewRefusesOptions(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string]pineconelocal.Options{
		"missing folder": {DataDir: filepath.Join(t.TempDir(), "missing")},
	} {
		if s, err := pineconelocal.New(opts); err == nil {
			t.Errorf("%s: no error", name)
			_ = s.Close()
		}
	}
}

func TestInterceptorsBelongToTheirListener(t *testing.T) {
	t.Parallel()
	s := build(t, pineconelocal.Options{})
	plain := dial(t, serve(t, s))
	seen := make(chan string, 10)
	fail := func(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		seen <- info.FullMethod
		if info.FullMethod == "/VectorService/Query" {
			return nil, status.Error(codes.Unavailable, "injected")
		}
		return next(ctx, req)
	}
	failing := dial(t, serve(t, s, fail))

	upsert(t, failing, dense("a", 1))
	if got := <-seen; got != "/VectorService/Upsert" {
		t.Errorf("the interceptor saw %s", got)
	}
	request := pinecone.QueryByVectorValuesRequest{Vector: []float32{1}, TopK: 1}
	_, err := failing.QueryByVectorValues(t.Context(), &request)
	wantStatus(t, err, "Unavailable: injected")
	if got := query(t, plain, request); len(got) != 1 {
		t.Errorf("through the other listener: %v", got)
	}
}

func TestWhatIsNotServedIsRefused(t *testing.T) {
	t.Parallel()
	conn := connect(t, pineconelocal.Options{})
	ctx, some := t.Context(), object(t, map[string]any{"k": "v"})
	_, byID := conn.QueryByVectorId(ctx, &pinecone.QueryByVectorIdRequest{VectorId: "a", TopK: 1})
	_, counted := conn.DescribeIndexStatsFiltered(ctx, some)
	_, namespaces := conn.ListNamespaces(ctx, &pinecone.ListNamespacesParams{})
	for want, err := range map[string]error{
		"QueryRequest.id is not served locally":                   byID,
		"DeleteRequest.filter is not served locally":              conn.DeleteVectorsByFilter(ctx, some),
		"DeleteRequest.delete_all is not served locally":          conn.DeleteAllVectorsInNamespace(ctx),
		"DescribeIndexStatsRequest.filter is not served locally":  counted,
		"unknown method ListNamespaces for service VectorService": namespaces,
	} {
		wantStatus(t, err, "Unimplemented: "+want)
	}
}

func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string]pineconelocal.Options{
		"in memory":       {},
		"with a database": {DataDir: t.TempDir()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn := connect(t, opts)
			var wg sync.WaitGroup
			for worker := range 8 {
				ns := conn.WithNamespace(fmt.Sprintf("user-%d", worker%4))
				wg.Go(func() { callEverything(t, ns, worker) })
			}
			wg.Wait()
		})
	}
}

// callEverything makes every kind of call, on records of its own and on those of the other workers.
func callEverything(t *testing.T, conn *pinecone.IndexConnection, worker int) {
	ctx := context.Background()
	for i := range 25 {
		v := dense(fmt.Sprintf("w%d-%d", worker, i), float32(i+1), 1)
		v.Metadata = object(t, map[string]any{"worker": worker})
		_, upserted := conn.UpsertVectors(ctx, []*pinecone.Vector{v})
		_, queried := conn.QueryByVectorValues(ctx,
			&pinecone.QueryByVectorValuesRequest{Vector: []float32{1, 1}, TopK: 20, IncludeMetadata: true})
		_, listed := conn.ListVectors(ctx, &pinecone.ListVectorsRequest{})
		_, counted := conn.DescribeIndexStats(ctx)
		var deleted error
		if i%3 == 0 {
			deleted = conn.DeleteVectorsById(ctx, []string{v.Id})
		}
		if err := errors.Join(upserted, queried, listed, counted, deleted); err != nil {
			t.Error(err)
		}
	}
}
