package pineconelocal

import (
	"context"
	"maps"
	"slices"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
)

var errNoNamespace = status.Error(codes.NotFound, "Namespace not found")

// upsert stores vectors, all or none; of several with one id the last one stays.
func (s *Server) upsert(_ context.Context, in, out message) error {
	vectors := in.subs("vectors")
	if err := checkUpsert(in, len(vectors)); err != nil {
		return err
	}
	puts := make([]*record, len(vectors))
	for i, v := range vectors {
		var err error
		if puts[i], err = readRecord(v, s.store.metric); err != nil {
			return err
		}
	}
	err := s.store.write(in, func(written *contents) (change, error) {
		dimension := written.dimension
		for _, r := range puts {
			if err := checkDimension(len(r.values), dimension); err != nil {
				return change{}, err
			}
			dimension = len(r.values)
		}
		return change{namespace: in.text("namespace"), dimension: dimension, create: true, puts: puts}, nil
	})
	if err == nil {
		out.set("upserted_count", uint32(len(puts)))
	}
	return err
}

func checkUpsert(in message, vectors int) error {
	if err := checkNamespace(in.text("namespace")); err != nil {
		return err
	}
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

// update changes one record by its id, or the metadata of all that match a filter. A record or a namespace that
// doesn't exist is left so, without an error.
func (s *Server) update(_ context.Context, in, out message) error {
	if err := checkUpdate(in); err != nil {
		return err
	}
	patch, err := readPatch(in, s.store.metric)
	if err != nil {
		return err
	}
	if in.text("id") == "" {
		return s.updateMatching(in, out, patch)
	}
	return s.store.write(in, func(written *contents) (change, error) {
		if err := patch.fits(written.dimension); err != nil {
			return change{}, err
		}
		old := written.namespace(in.text("namespace")).get(in.text("id"))
		if old == nil {
			return change{}, nil
		}
		r, err := patch.apply(old)
		return change{namespace: in.text("namespace"), puts: []*record{r}}, err
	})
}

func checkUpdate(in message) error {
	hasID, hasFilter := in.text("id") != "", in.has("filter")
	hasVector := len(in.floats("values")) > 0 || in.has("sparse_values")
	switch {
	case hasID == hasFilter:
		return invalid("Exactly one of 'id' and 'filter' must be given")
	case hasFilter && hasVector:
		return invalid("Only metadata can be updated by a filter")
	case !hasVector && !in.has("set_metadata"):
		return invalid("At least one of 'values', 'sparse_values' and 'set_metadata' must be given")
	case hasID && in.flag("dry_run"):
		return invalid("'dry_run' needs a filter")
	}
	return checkNamespace(in.text("namespace"))
}

// updateMatching merges metadata into every record that the filter accepts, and counts them.
func (s *Server) updateMatching(in, out message, p patch) error {
	keep, err := requireFilter(in.object("filter"))
	if err != nil {
		return err
	}
	return s.store.write(in, func(written *contents) (change, error) {
		ch := change{namespace: in.text("namespace")}
		for _, old := range written.namespace(ch.namespace).matching(keep) {
			r, err := p.apply(old)
			if err != nil {
				return change{}, err
			}
			ch.puts = append(ch.puts, r)
		}
		out.set("matched_records", int32(len(ch.puts)))
		if in.flag("dry_run") {
			ch.puts = nil
		}
		return ch, nil
	})
}

// patch is what an update changes; what is nil stays as it was.
type patch struct {
	values   []float32
	sparse   sparse
	metadata *structpb.Struct
}

func readPatch(in message, metric Metric) (patch, error) {
	p := patch{values: in.floats("values"), metadata: in.object("set_metadata")}
	if err := checkDense(in.text("id"), p.values); err != nil {
		return p, err
	}
	if err := checkMetadata(p.metadata); err != nil {
		return p, err
	}
	var err error
	p.sparse, err = readSparse(in, "sparse_values", metric)
	return p, err
}

func (p *patch) fits(dimension int) error {
	if len(p.values) == 0 {
		return nil
	}
	return checkDimension(len(p.values), dimension)
}

// apply makes the record anew; metadata fields that the patch doesn't name stay.
func (p *patch) apply(old *record) (*record, error) {
	r := *old
	if len(p.values) > 0 {
		r.values, r.norm = p.values, norm(p.values)
	}
	if p.sparse != nil {
		r.sparse = p.sparse
	}
	if p.metadata != nil {
		merged := maps.Clone(p.metadata.GetFields())
		if old.metadata != nil {
			merged = maps.Clone(old.fields())
			maps.Copy(merged, p.metadata.GetFields())
		}
		r.metadata = &structpb.Struct{Fields: merged}
	}
	return &r, checkMetadata(r.metadata)
}

// delete removes records by id, by filter, or all of a namespace, which itself stays.
func (s *Server) delete(_ context.Context, in, _ message) error {
	keep, err := checkDelete(in)
	if err != nil {
		return err
	}
	return s.store.write(in, func(written *contents) (change, error) {
		ch := change{namespace: in.text("namespace"), clear: in.flag("delete_all")}
		if !written.exists(ch.namespace) {
			return ch, errNoNamespace
		}
		ns := written.namespace(ch.namespace)
		if in.has("filter") {
			for _, r := range ns.matching(keep) {
				ch.removes = append(ch.removes, r.id)
			}
			return ch, nil
		}
		ch.removes = slices.DeleteFunc(in.texts("ids"), func(id string) bool { return ns.get(id) == nil })
		return ch, nil
	})
}

// checkDelete returns the compiled filter, if there is one.
func checkDelete(in message) (predicate, error) {
	if err := checkNamespace(in.text("namespace")); err != nil {
		return nil, err
	}
	ids := in.texts("ids")
	ways := 0
	for _, given := range []bool{len(ids) > 0, in.flag("delete_all"), in.has("filter")} {
		if given {
			ways++
		}
	}
	if ways != 1 {
		return nil, invalid("Exactly one of 'ids', 'delete_all' and 'filter' must be given")
	}
	if in.has("filter") {
		return requireFilter(in.object("filter"))
	}
	if in.flag("delete_all") {
		return nil, nil
	}
	return nil, checkIDCount(len(ids))
}
