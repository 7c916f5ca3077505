package pineconelocal_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/pinecone-io/go-pinecone/v5/pinecone"

	"github.com/throughline/throughline/infra/local/pineconelocal"
)

// BenchmarkQuery asks a namespace of the size that a year of conversations makes, through the client.
func BenchmarkQuery(b *testing.B) {
	const records, dimension = 20_000, 1536
	random := rand.New(rand.NewPCG(1, 2))
	values := func() []float32 {
		v := make([]float32, dimension)
		for i := range v {
			v[i] = random.Float32() - 0.5
		}
		return v
	}
	for _, metric := range []pineconelocal.Metric{pineconelocal.DotProduct, pineconelocal.Cosine} {
		b.Run(string(metric), func(b *testing.B) {
			conn := connect(b, pineconelocal.Options{Metric: metric})
			for i := 0; i < records; i += 200 {
				batch := make([]*pinecone.Vector, 200)
				for j := range batch {
					batch[j] = vector(fmt.Sprintf("id-%d", i+j), values()...)
				}
				upsert(b, conn, batch...)
			}
			query := pinecone.QueryByVectorValuesRequest{Vector: values(), TopK: 20}
			for b.Loop() {
				matches(b, conn, query)
			}
		})
	}
}
