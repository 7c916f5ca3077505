package pineconelocal

import (
	"cmp"
	"slices"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// sparse is a sparse vector: its entries in the order of their indices, each index once.
type sparse []entry

type entry struct {
	index uint32
	value float32
}

// readSparse reads and checks a field of type SparseValues; an unset one is nil.
func readSparse(m message, name protoreflect.Name, metric Metric) (sparse, error) {
	if !m.has(name) {
		return nil, nil
	}
	if metric != DotProduct {
		return nil, invalid("Index configuration does not support sparse values" +
			" - only indexes that are sparse or using dotproduct are supported")
	}
	indices, values := m.sub(name).uints("indices"), m.sub(name).floats("values")
	if err := checkSparse(indices, values); err != nil {
		return nil, err
	}
	out := make(sparse, len(indices))
	for i := range out {
		out[i] = entry{indices[i], values[i]}
	}
	slices.SortFunc(out, func(a, b entry) int { return cmp.Compare(a.index, b.index) })
	for i := 1; i < len(out); i++ {
		if out[i].index == out[i-1].index {
			return nil, invalid("Sparse vector must not contain duplicate indices, got %d twice", out[i].index)
		}
	}
	return out, nil
}

func checkSparse(indices []uint32, values []float32) error {
	switch {
	case len(indices) != len(values):
		return invalid("Sparse vector has %d indices and %d values, they must be as many", len(indices), len(values))
	case len(values) == 0:
		return invalid("Sparse vector must contain at least one value")
	case len(values) > maxSparse:
		return invalid("Sparse vector has %d values, which exceeds the limit of %d", len(values), maxSparse)
	}
	return checkFinite(values)
}

// write fills the field sparse_values.
func (s sparse) write(m message) {
	if len(s) == 0 {
		return
	}
	indices, values := make([]uint32, len(s)), make([]float32, len(s))
	for i, e := range s {
		indices[i], values[i] = e.index, e.value
	}
	setItems(m.open("sparse_values"), "indices", indices)
	setItems(m.open("sparse_values"), "values", values)
}

// dot is the sum of the products at the indices that both have.
func (s sparse) dot(t sparse) float32 {
	var sum float32
	for i, j := 0, 0; i < len(s) && j < len(t); {
		switch {
		case s[i].index < t[j].index:
			i++
		case s[i].index > t[j].index:
			j++
		default:
			sum += s[i].value * t[j].value
			i, j = i+1, j+1
		}
	}
	return sum
}
