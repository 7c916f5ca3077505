package pineconelocal

import (
	"context"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
)

// recordsPerReadUnit is how many fetched records cost one read unit.
const recordsPerReadUnit = 10

// query finds the records most like a vector or a stored record. A namespace or an id that doesn't exist has no
// matches.
func (s *Server) query(_ context.Context, in, out message) error {
	keep, err := checkQuery(in)
	if err != nil {
		return err
	}
	sc, rows, err := s.prepare(in)
	if err != nil {
		return err
	}
	out.set("namespace", in.text("namespace"))
	out.setReadUnits(1)
	if sc == nil {
		return nil
	}
	for _, m := range topK(rows, in.count("top_k"), keep, sc) {
		o := out.add("matches")
		m.record.write(o, in.flag("include_values"), in.flag("include_metadata"))
		o.set("score", m.score)
	}
	if size := proto.Size(out.Interface()); size > maxResultBytes {
		return invalid("Query result of %d bytes exceeds the limit of %d bytes:"+
			" lower top_k, or leave out values or metadata", size, maxResultBytes)
	}
	return nil
}

func checkQuery(in message) (predicate, error) {
	if err := checkNamespace(in.text("namespace")); err != nil {
		return nil, err
	}
	k, byID := in.count("top_k"), in.text("id") != ""
	switch {
	case len(in.subs("queries")) > 0:
		return nil, invalid("'queries' is not supported, use 'vector' or 'id'")
	case byID && (len(in.floats("vector")) > 0 || in.has("sparse_vector")):
		return nil, invalid("Cannot provide both 'id' and a vector")
	case k < 1 || k > maxTopK:
		return nil, invalid("top_k must be between 1 and %d, got %d", maxTopK, k)
	case k > maxTopKWithContent && (in.flag("include_values") || in.flag("include_metadata")):
		return nil, invalid("top_k must be between 1 and %d when values or metadata are included, got %d",
			maxTopKWithContent, k)
	}
	return parseFilter(in.object("filter"))
}

// prepare finds the vector to compare with and the records to search. The scorer is nil when there is no record with
// the query's id.
func (s *Server) prepare(in message) (sc *scorer, rows []*record, err error) {
	sp, err := readSparse(in, "sparse_vector", s.store.metric)
	if err != nil {
		return nil, nil, err
	}
	values := in.floats("vector")
	if err := checkFinite(values); err != nil {
		return nil, nil, err
	}
	s.store.read(func(visible *contents) {
		ns := visible.namespace(in.text("namespace"))
		rows = slices.Clone(ns.rows)
		if in.text("id") == "" {
			err = checkQueryDimension(len(values), visible.dimension)
		} else if r := ns.get(in.text("id")); r != nil {
			values, sp = r.values, r.sparse
		} else {
			values = nil
		}
	})
	if err != nil || len(values) == 0 {
		return nil, nil, err
	}
	made := newScorer(s.store.metric, values, sp)
	return &made, rows, nil
}

// checkQueryDimension accepts any vector as long as the index has no dimension: it is empty then.
func checkQueryDimension(got, index int) error {
	if got == 0 && index == 0 {
		return invalid("Either 'vector' or 'id' must be provided")
	}
	return checkDimension(got, index)
}

// fetch reads records by id; ids that don't exist are left out.
func (s *Server) fetch(_ context.Context, in, out message) error {
	if err := checkNamespace(in.text("namespace")); err != nil {
		return err
	}
	ids := in.texts("ids")
	if err := checkIDCount(len(ids)); err != nil {
		return err
	}
	var found []*record
	s.store.read(func(visible *contents) {
		ns := visible.namespace(in.text("namespace"))
		for _, id := range ids {
			if r := ns.get(id); r != nil {
				found = append(found, r)
			}
		}
	})
	writeFetched(in, out, found)
	return nil
}

func writeFetched(in, out message, found []*record) {
	for _, r := range found {
		r.write(out.put("vectors", r.id), true, true)
	}
	out.set("namespace", in.text("namespace"))
	out.setReadUnits(max(1, (len(found)+recordsPerReadUnit-1)/recordsPerReadUnit))
}

// fetchByMetadata reads the records that match a filter, page by page, in the order of their ids.
func (s *Server) fetchByMetadata(_ context.Context, in, out message) error {
	if err := checkNamespace(in.text("namespace")); err != nil {
		return err
	}
	keep, err := requireFilter(in.object("filter"))
	if err != nil {
		return err
	}
	p, err := readPage(in, "", maxIDs)
	if err != nil {
		return err
	}
	var found []*record
	s.store.read(func(visible *contents) {
		rows := visible.namespace(in.text("namespace")).rows
		start, _ := slices.BinarySearchFunc(rows, p.after, afterID)
		for _, r := range rows[start:] {
			if len(found) <= p.limit && keep(r.fields()) {
				found = append(found, r)
			}
		}
	})
	found = cutPage(p, found, out, func(r *record) string { return r.id })
	writeFetched(in, out, found)
	return nil
}

// afterID orders a record against the last id of the page before: that id itself counts as passed.
func afterID(r *record, last string) int {
	if r.id <= last {
		return -1
	}
	return 1
}

// list names the ids with a prefix, page by page, in their order.
func (s *Server) list(_ context.Context, in, out message) error {
	if err := checkNamespace(in.text("namespace")); err != nil {
		return err
	}
	p, err := readPage(in, in.text("prefix"), maxListLimit)
	if err != nil {
		return err
	}
	var ids []string
	s.store.read(func(visible *contents) {
		ns := visible.namespace(in.text("namespace"))
		start, _ := slices.BinarySearchFunc(ns.rows, p.after, afterID)
		if p.after < p.prefix {
			start, _ = ns.search(p.prefix)
		}
		for _, r := range ns.rows[start:] {
			if len(ids) > p.limit || !strings.HasPrefix(r.id, p.prefix) {
				break
			}
			ids = append(ids, r.id)
		}
	})
	for _, id := range cutPage(p, ids, out, func(id string) string { return id }) {
		out.add("vectors").set("id", id)
	}
	out.set("namespace", in.text("namespace"))
	out.setReadUnits(1)
	return nil
}

// describeIndexStats counts records, those that match a filter if there is one.
func (s *Server) describeIndexStats(_ context.Context, in, out message) error {
	keep, err := parseFilter(in.object("filter"))
	if err != nil {
		return err
	}
	total := 0
	s.store.read(func(visible *contents) {
		for name, ns := range visible.namespaces {
			n := len(ns.matching(keep))
			total += n
			out.put("namespaces", name).set("vector_count", uint32(n))
		}
		if visible.dimension > 0 {
			out.set("dimension", uint32(visible.dimension))
		}
	})
	out.set("total_vector_count", uint32(total))
	out.set("metric", string(s.store.metric))
	out.set("vector_type", "dense")
	return nil
}
