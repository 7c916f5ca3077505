package pineconelocal

import (
	"slices"

	"google.golang.org/protobuf/types/known/structpb"
)

// record is one stored vector. It is never changed once it is stored: an update stores another one, so that readers
// need no lock.
type record struct {
	id       string
	values   []float32
	norm     float32 // of values
	sparse   sparse
	metadata *structpb.Struct // nil when the record has none
}

// readRecord reads and checks a vector to upsert. The dimension is checked later, against the index.
func readRecord(m message, metric Metric) (*record, error) {
	r := &record{id: m.text("id"), values: m.floats("values"), metadata: m.object("metadata")}
	if err := checkID(r.id); err != nil {
		return nil, err
	}
	if err := checkDense(r.id, r.values); err != nil {
		return nil, err
	}
	if err := checkMetadata(r.metadata); err != nil {
		return nil, err
	}
	var err error
	if r.sparse, err = readSparse(m, "sparse_values", metric); err != nil {
		return nil, err
	}
	r.norm = norm(r.values)
	return r, nil
}

// checkDense holds the rules for stored dense values, but for their number.
func checkDense(id string, values []float32) error {
	if err := checkFinite(values); err != nil {
		return err
	}
	isZero := func(v float32) bool { return v == 0 }
	if len(values) > 0 && !slices.ContainsFunc(values, func(v float32) bool { return !isZero(v) }) {
		return invalid("Dense vectors must contain at least one non-zero value. Vector ID '%s' contains only zeros", id)
	}
	return nil
}

// write fills a Vector or a ScoredVector.
func (r *record) write(m message, values, metadata bool) {
	m.set("id", r.id)
	if values {
		setItems(m, "values", r.values)
		r.sparse.write(m)
	}
	if metadata {
		m.setObject("metadata", r.metadata)
	}
}

// fields of the metadata; reading a nil map is fine.
func (r *record) fields() map[string]*structpb.Value { return r.metadata.GetFields() }
