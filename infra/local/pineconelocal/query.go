package pineconelocal

import (
	"cmp"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/throughline/throughline/internal/vector"
)

// target is what a query compares with the stored records.
type target struct {
	dense  []float32
	sparse vector.Sparse
	keep   predicate
}

// query finds the records most similar to a vector. A namespace that doesn't exist has no matches.
func (x *index) query(in, out message) error {
	withMetadata := in.Get(in.field("include_metadata")).Bool()
	k, q := in.number("top_k"), target{dense: in.floats("vector")}
	err := cmp.Or(checkNamespace(in),
		require(k >= 1 && k <= maxTopK, "top_k must be between 1 and %d, got %d", maxTopK, k),
		require(!withMetadata || k <= maxTopKWithContent,
			"top_k must be between 1 and %d when values or metadata are included, got %d", maxTopKWithContent, k),
		checkFinite(q.dense), checkDimension(len(q.dense), x.dimension))
	if err != nil {
		return err
	}
	if q.sparse, err = readSparse(in, "sparse_vector"); err != nil {
		return err
	}
	if q.keep, err = parseFilter(in.object("filter").AsMap()); err != nil {
		return err
	}
	for _, m := range q.topK(x.namespace(in).records, k) {
		o := out.add("matches")
		o.set("id", m.record.id)
		o.set("score", m.score)
		if metadata := m.record.stored.object("metadata"); withMetadata && metadata != nil {
			o.Set(o.field("metadata"), protoreflect.ValueOfMessage(metadata.ProtoReflect()))
		}
	}
	size := proto.Size(out.Interface())
	return require(size <= maxResultBytes,
		"Query result of %d bytes exceeds the limit of %d bytes: lower top_k, or leave out metadata", size, maxResultBytes)
}

// match is a record with its score.
type match struct {
	record *record
	score  float32
}

// compareMatches orders matches by score, the best first, and equal scores by id.
func compareMatches(a, b match) int {
	return cmp.Or(cmp.Compare(b.score, a.score), strings.Compare(a.record.id, b.record.id))
}

// topK returns the k best of the records that the target keeps, the best first.
func (q target) topK(records []*record, k int) []match {
	var best []match
	for _, r := range records {
		if !q.keep(r.fields) {
			continue
		}
		m := match{r, dot(q.dense, r.dense) + float32(q.sparse.Dot(r.sparse))}
		if i, _ := slices.BinarySearchFunc(best, m, compareMatches); i < k {
			best = slices.Insert(best[:min(len(best), k-1)], i, m)
		}
	}
	return best
}

// dot returns the product of two vectors of one length. Four sums let the processor work on four products at once.
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
