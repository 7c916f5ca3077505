package pinecone_test

import (
	"fmt"
	"testing"

	"github.com/throughline/throughline/internal/testing/pineconetest"
	"github.com/throughline/throughline/internal/testing/vectortest"
	"github.com/throughline/throughline/internal/vector"
)

func TestIndexConforms(t *testing.T) {
	t.Parallel()
	for _, namespaces := range []int{0, 2} {
		t.Run(fmt.Sprint("namespaces ", namespaces), func(t *testing.T) {
			t.Parallel()
			vectortest.Run(t, func(t *testing.T) vector.Index {
				host := pineconetest.Host(t, vectortest.Dimensions)
				return pineconetest.Dial(t, host, namespaces)
			})
		})
	}
}
