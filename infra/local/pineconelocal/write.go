package pineconelocal

import (
	"slices"

	"google.golang.org/protobuf/proto"
)

// upsert stores vectors, all or none. When several have one id, the last one stays.
func (s *Server) upsert(in, out message) error {
	vectors := in.messages("vectors")
	if err := checkUpsert(in, len(vectors)); err != nil {
		return err
	}
	puts := make([]*record, len(vectors))
	for i, v := range vectors {
		var err error
		if puts[i], err = readRecord(v); err != nil {
			return err
		}
	}
	err := s.index.write(func() (change, error) {
		dimension := s.index.dimension
		for _, r := range puts {
			if err := checkDimension(len(r.values), dimension); err != nil {
				return change{}, err
			}
			dimension = len(r.values)
		}
		c := change{namespace: in.string("namespace"), puts: puts}
		return c, s.index.checkQuota(c.namespace, s.maxNamespaces)
	})
	if err == nil {
		out.set("upserted_count", uint32(len(puts)))
	}
	return err
}

func checkUpsert(in message, vectors int) error {
	switch size := proto.Size(in.Interface()); {
	case vectors == 0:
		return invalid("At least one vector must be given")
	case vectors > maxUpsertVectors:
		return invalid("Request has %d vectors, which exceeds the limit of %d", vectors, maxUpsertVectors)
	case size > maxUpsertBytes:
		return invalid("Request size %dMB exceeds the maximum supported size of %dMB",
			(size+1<<20-1)>>20, maxUpsertBytes>>20)
	}
	return nil
}

// update replaces the dense values of one record. A record that doesn't exist is left so, without an error.
func (s *Server) update(in, _ message) error {
	values, id := in.floats("values"), in.string("id")
	if err := checkUpdate(in, id, values); err != nil {
		return err
	}
	return s.index.write(func() (change, error) {
		if err := checkDimension(len(values), s.index.dimension); err != nil {
			return change{}, err
		}
		c := change{namespace: in.string("namespace")}
		if old := s.index.namespace(c.namespace).get(id); old != nil {
			updated := *old
			updated.values = values
			c.puts = []*record{&updated}
		}
		return c, nil
	})
}

func checkUpdate(in message, id string, values []float32) error {
	if err := rejectFields(in, "sparse_values", "set_metadata", "filter", "dry_run"); err != nil {
		return err
	}
	if err := checkID(id); err != nil {
		return err
	}
	return checkDense(id, values)
}

// delete removes records by id, by a filter, or all of a namespace, which itself stays.
func (s *Server) delete(in, _ message) error {
	keep, err := checkDelete(in)
	if err != nil {
		return err
	}
	return s.index.write(func() (change, error) {
		c := change{namespace: in.string("namespace"), clear: in.bool("delete_all")}
		if !s.index.exists(c.namespace) {
			return c, errNoNamespace
		}
		ns := s.index.namespace(c.namespace)
		c.removes = slices.DeleteFunc(in.strings("ids"), func(id string) bool { return ns.get(id) == nil })
		if in.has("filter") {
			for _, r := range ns.records {
				if keep(r.metadata.GetFields()) {
					c.removes = append(c.removes, r.id)
				}
			}
		}
		return c, nil
	})
}

// checkDelete returns the compiled filter, if there is one.
func checkDelete(in message) (predicate, error) {
	ids := in.strings("ids")
	selectors := 0
	for _, given := range []bool{len(ids) > 0, in.bool("delete_all"), in.has("filter")} {
		if given {
			selectors++
		}
	}
	if selectors != 1 {
		return nil, invalid("Exactly one of 'ids', 'delete_all' and 'filter' must be given")
	}
	if in.has("filter") {
		return requireFilter(in.object("filter"))
	}
	if in.bool("delete_all") {
		return nil, nil
	}
	return nil, checkIDCount(len(ids))
}

// deleteNamespace removes a namespace with all its records.
func (s *Server) deleteNamespace(in, _ message) error {
	name := in.string("namespace")
	if err := checkNamespaceName(name); err != nil {
		return err
	}
	return s.index.write(func() (change, error) {
		if !s.index.exists(name) {
			return change{}, errNoNamespace
		}
		return change{namespace: name, drop: true}, nil
	})
}
