package pinecone_test

import (
	"strings"
	"testing"

	"github.com/throughline/throughline/internal/pinecone"
	"github.com/throughline/throughline/internal/vector"
)

func TestWriteUnits(t *testing.T) {
	t.Parallel()
	const dimensions = 256 // 1 KB
	large := vector.Record{ID: "m", Metadata: map[string]any{"text": strings.Repeat("x", 7000), "seq": 1.0}}
	for name, test := range map[string]struct {
		records []vector.Record
		want    int64
	}{
		"the least":   {[]vector.Record{{ID: "m"}}, 5},
		"by its size": {[]vector.Record{large}, 8},
		"of several":  {[]vector.Record{large, large}, 16},
	} {
		if got := pinecone.WriteUnits(test.records, dimensions); got != test.want {
			t.Errorf("%s: %d units, want %d", name, got, test.want)
		}
	}
}
