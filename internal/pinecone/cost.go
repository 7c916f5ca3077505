package pinecone

import "github.com/throughline/throughline/internal/vector"

// What an upsert costs: a unit for each KB, and at least leastUnits ("Understanding cost").
const (
	unitBytes  = 1024
	leastUnits = 5
)

// WriteUnits returns about how many write units an upsert of records costs.
func WriteUnits(records []vector.Record, dimensions int) int64 {
	bytes := 0
	for _, r := range records {
		bytes += len(r.ID) + 4*dimensions + 8*len(r.Sparse.Indices)
		for name, value := range r.Metadata {
			text, _ := value.(string)
			bytes += len(name) + max(len(text), 8)
		}
	}
	return max(leastUnits, int64((bytes+unitBytes-1)/unitBytes))
}
