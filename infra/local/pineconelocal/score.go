package pineconelocal

import "math"

// scorer compares stored records with one query vector.
type scorer struct {
	metric Metric
	values []float32
	norm   float32
	sparse sparse
}

func newScorer(metric Metric, values []float32, sp sparse) scorer {
	return scorer{metric: metric, values: values, norm: norm(values), sparse: sp}
}

// score is what the service would answer for r, which has the query's dimension.
func (s *scorer) score(r *record) float32 {
	switch s.metric {
	case Cosine:
		if s.norm == 0 || r.norm == 0 {
			return 0
		}
		return dot(s.values, r.values) / (s.norm * r.norm)
	case Euclidean:
		return squaredDistance(s.values, r.values)
	default:
		return dot(s.values, r.values) + s.sparse.dot(r.sparse)
	}
}

// before reports whether a is a better match than b: by score, and by id where the scores are equal.
func (s *scorer) before(a, b match) bool {
	if a.score != b.score {
		return (a.score > b.score) != (s.metric == Euclidean)
	}
	return a.record.id < b.record.id
}

// dot is the scalar product of two vectors of one length. Four sums let the processor work on four products at once.
func dot(a, b []float32) float32 {
	b = b[:len(a)]
	var s0, s1, s2, s3 float32
	for len(a) >= 4 && len(b) >= 4 {
		s0 += a[0] * b[0]
		s1 += a[1] * b[1]
		s2 += a[2] * b[2]
		s3 += a[3] * b[3]
		a, b = a[4:], b[4:]
	}
	for i := range a {
		s0 += a[i] * b[i]
	}
	return (s0 + s1) + (s2 + s3)
}

func squaredDistance(a, b []float32) float32 {
	b = b[:len(a)]
	var sum float32
	for i := range a {
		d := a[i] - b[i]
		sum += d * d
	}
	return sum
}

func norm(a []float32) float32 {
	return float32(math.Sqrt(float64(dot(a, a))))
}
