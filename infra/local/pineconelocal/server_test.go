package pineconelocal_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/pinecone-io/go-pinecone/v5/pinecone"

	"github.com/throughline/throughline/infra/local/pineconelocal"
)

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
