package pineconelocal

import (
	"cmp"
	"runtime"
	"slices"
	"sort"
	"strings"
	"sync"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/throughline/throughline/internal/vector"
)

// query finds the records most similar to a vector. A namespace that doesn't exist has no matches.
func (s *Server) query(in, out message) error {
	keep, err := checkQuery(in)
	if err != nil {
		return err
	}
	q, records, err := s.prepare(in)
	if err != nil {
		return err
	}
	out.set("namespace", in.string("namespace"))
	out.setReadUnits(1)
	for _, m := range topK(records, in.uint("top_k"), keep, q) {
		o := out.appendTo("matches")
		m.record.write(o, in.bool("include_values"), in.bool("include_metadata"))
		o.set("score", m.score)
	}
	if size := proto.Size(out.Interface()); size > maxResultBytes {
		return invalid("Query result of %d bytes exceeds the limit of %d bytes:"+
			" lower top_k, or leave out values or metadata", size, maxResultBytes)
	}
	return nil
}

func checkQuery(in message) (predicate, error) {
	if err := rejectFields(in, "queries", "id"); err != nil {
		return nil, err
	}
	k := in.uint("top_k")
	switch {
	case k < 1 || k > maxTopK:
		return nil, invalid("top_k must be between 1 and %d, got %d", maxTopK, k)
	case k > maxTopKWithContent && (in.bool("include_values") || in.bool("include_metadata")):
		return nil, invalid("top_k must be between 1 and %d when values or metadata are included, got %d",
			maxTopKWithContent, k)
	}
	return parseFilter(in.object("filter"))
}

// target is what the stored records are compared with.
type target struct {
	values []float32
	sparse vector.Sparse
}

// prepare returns the target of a query and the records to compare with it.
func (s *Server) prepare(in message) (q target, records []*record, err error) {
	q.values = in.floats("vector")
	if q.sparse, err = readSparse(in, "sparse_vector"); err != nil {
		return q, nil, err
	}
	if err := checkFinite(q.values); err != nil {
		return q, nil, err
	}
	s.index.read(func() {
		records = slices.Clone(s.index.namespace(in.string("namespace")).records)
		err = checkQueryDimension(len(q.values), s.index.dimension)
	})
	return q, records, err
}

// checkQueryDimension accepts any vector while the index has no dimension, because it is empty then.
func checkQueryDimension(got, index int) error {
	if got == 0 && index == 0 {
		return invalid("'vector' must be provided")
	}
	return checkDimension(got, index)
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

// recordsPerWorker is the least work that is worth a goroutine.
const recordsPerWorker = 2048

// topK returns the k best of the records that keep accepts, the best first. It scans them in parallel. No two matches
// are equal, so the answer doesn't depend on how the work is split.
func topK(records []*record, k int, keep predicate, q target) []match {
	workers := max(1, min(runtime.GOMAXPROCS(0), len(records)/recordsPerWorker))
	found := make([][]match, workers)
	var wg sync.WaitGroup
	for w := range workers {
		part := records[w*len(records)/workers : (w+1)*len(records)/workers]
		wg.Go(func() { found[w] = scan(part, k, keep, q) })
	}
	wg.Wait()
	all := slices.Concat(found...)
	slices.SortFunc(all, compareMatches)
	return all[:min(k, len(all))]
}

// scan returns the k best matches in their order.
func scan(records []*record, k int, keep predicate, q target) []match {
	var best []match
	for _, r := range records {
		if !keep(r.metadata.GetFields()) {
			continue
		}
		m := match{r, q.score(r)}
		i, _ := slices.BinarySearchFunc(best, m, compareMatches)
		if i == k {
			continue
		}
		if len(best) == k {
			best = best[:k-1]
		}
		best = slices.Insert(best, i, m)
	}
	return best
}

// score returns the product of both sides of r, which has the dimension of the query.
func (q target) score(r *record) float32 {
	return dot(q.values, r.values) + float32(q.sparse.Dot(r.sparse))
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

// readSparse reads and checks a field of type SparseValues. It returns its indices in ascending order; an unset field
// has none.
func readSparse(m message, name protoreflect.Name) (vector.Sparse, error) {
	if !m.has(name) {
		return vector.Sparse{}, nil
	}
	s := vector.Sparse{Indices: m.message(name).uints("indices"), Values: m.message(name).floats("values")}
	if err := checkSparse(s); err != nil {
		return s, err
	}
	sort.Sort(byIndex(s))
	for i := 1; i < len(s.Indices); i++ {
		if s.Indices[i] == s.Indices[i-1] {
			return s, invalid("Sparse vector must not contain duplicate indices, got %d twice", s.Indices[i])
		}
	}
	return s, nil
}

type byIndex vector.Sparse

func (s byIndex) Len() int           { return len(s.Indices) }
func (s byIndex) Less(i, j int) bool { return s.Indices[i] < s.Indices[j] }
func (s byIndex) Swap(i, j int) {
	s.Indices[i], s.Indices[j] = s.Indices[j], s.Indices[i]
	s.Values[i], s.Values[j] = s.Values[j], s.Values[i]
}
