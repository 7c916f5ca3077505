package pineconelocal

// recordsPerReadUnit is how many fetched records cost one read unit.
const recordsPerReadUnit = 10

// fetch reads records by id; ids that don't exist are left out.
func (s *Server) fetch(in, out message) error {
	ids := in.strings("ids")
	if err := checkIDCount(len(ids)); err != nil {
		return err
	}
	found := 0
	s.index.read(func() {
		ns := s.index.namespace(in.string("namespace"))
		for _, id := range ids {
			if r := ns.get(id); r != nil {
				r.write(out.putInto("vectors", id), true, true)
				found++
			}
		}
	})
	out.set("namespace", in.string("namespace"))
	out.setReadUnits(max(1, (found+recordsPerReadUnit-1)/recordsPerReadUnit))
	return nil
}

// list returns the ids of a namespace that begin with a prefix, page by page, in their order. The token of the next
// page is the last id of this one.
func (s *Server) list(in, out message) error {
	limit := maxListLimit
	if in.has("limit") {
		limit = in.uint("limit")
	}
	if limit < 1 || limit > maxListLimit {
		return invalid("limit must be between 1 and %d, got %d", maxListLimit, limit)
	}
	s.index.read(func() {
		ns := s.index.namespace(in.string("namespace"))
		records := ns.withPrefix(in.string("prefix"), in.string("pagination_token"))
		page := records[:min(limit, len(records))]
		for _, r := range page {
			out.appendTo("vectors").set("id", r.id)
		}
		if len(page) < len(records) {
			out.mutable("pagination").set("next", page[len(page)-1].id)
		}
	})
	out.set("namespace", in.string("namespace"))
	out.setReadUnits(1)
	return nil
}

// describeIndexStats counts the records of each namespace.
func (s *Server) describeIndexStats(in, out message) error {
	if err := rejectFields(in, "filter"); err != nil {
		return err
	}
	total := 0
	s.index.read(func() {
		for name, ns := range s.index.namespaces {
			total += len(ns.records)
			out.putInto("namespaces", name).set("vector_count", uint32(len(ns.records)))
		}
		if s.index.dimension > 0 {
			out.set("dimension", uint32(s.index.dimension))
		}
	})
	out.set("total_vector_count", uint32(total))
	out.set("metric", "dotproduct")
	out.set("vector_type", "dense")
	return nil
}

// describeNamespace counts the records of one namespace.
func (s *Server) describeNamespace(in, out message) error {
	name := in.string("namespace")
	if err := checkNamespaceName(name); err != nil {
		return err
	}
	err := errNoNamespace
	s.index.read(func() {
		if s.index.exists(name) {
			err = nil
			out.set("name", canonical(name))
			out.set("record_count", uint64(len(s.index.namespace(name).records)))
		}
	})
	return err
}
