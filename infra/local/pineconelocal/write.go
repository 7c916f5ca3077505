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

// delete removes records by id. Records that don't exist are left so.
func (s *Server) delete(in, _ message) error {
	ids := in.strings("ids")
	if err := rejectFields(in, "delete_all", "filter"); err != nil {
		return err
	}
	if err := checkIDCount(len(ids)); err != nil {
		return err
	}
	return s.index.write(func() (change, error) {
		c := change{namespace: in.string("namespace")}
		if !s.index.exists(c.namespace) {
			return c, errNoNamespace
		}
		ns := s.index.namespace(c.namespace)
		c.removes = slices.DeleteFunc(ids, func(id string) bool { return ns.get(id) == nil })
		return c, nil
	})
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
