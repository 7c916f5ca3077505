package pineconelocal

import (
	"cmp"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/throughline/throughline/internal/vector"
)

var errNoNamespace = status.Error(codes.NotFound, "Namespace not found")

// index holds the records of all namespaces. Its methods answer calls.
type index struct {
	dimension     int // 0 until it is known
	maxNamespaces int
	namespaces    map[string]*namespace
}

// namespace holds its records in the order of their ids.
type namespace struct{ records []*record }

// record is one stored vector: the client's message, and what queries compare.
type record struct {
	id     string
	stored message
	dense  []float32
	sparse vector.Sparse
	fields map[string]any // the metadata
}

// namespace returns that of a request, or an empty one where there is none.
func (x *index) namespace(in message) *namespace {
	if ns := x.namespaces[in.text("namespace")]; ns != nil {
		return ns
	}
	return &namespace{}
}

// search returns where the record of an id is, or where it belongs.
func (ns *namespace) search(id string) (int, bool) {
	return slices.BinarySearchFunc(ns.records, id, func(r *record, id string) int { return strings.Compare(r.id, id) })
}

// upsert stores vectors, all or none. When several have one id, the last one stays.
func (x *index) upsert(in, out message) error {
	if err := checkUpsert(in); err != nil {
		return err
	}
	var puts []*record
	dimension := x.dimension
	for _, v := range in.messages("vectors") {
		r, err := readRecord(v)
		if err == nil {
			err = checkDimension(len(r.dense), dimension)
		}
		if err != nil {
			return err
		}
		dimension, puts = len(r.dense), append(puts, r)
	}
	name := in.text("namespace")
	ns := x.namespaces[name]
	if ns == nil && x.maxNamespaces > 0 && len(x.namespaces) >= x.maxNamespaces {
		// The service's own words ("Pinecone Database limits"). Its status 403 is PermissionDenied in gRPC.
		return status.Error(codes.PermissionDenied, "Request failed. You've reached the max namespaces allowed in "+
			"serverless index local. To add more namespaces, upgrade your plan.")
	}
	if ns == nil {
		ns = &namespace{}
		x.namespaces[name] = ns
	}
	for _, r := range puts {
		i, found := ns.search(r.id)
		if found {
			ns.records[i] = r
			continue
		}
		ns.records = slices.Insert(ns.records, i, r)
	}
	x.dimension = dimension
	out.set("upserted_count", uint32(len(puts)))
	return nil
}

// readRecord reads and checks a vector.
func readRecord(v message) (*record, error) {
	r := &record{id: v.text("id"), stored: v, dense: v.floats("values"), fields: v.object("metadata").AsMap()}
	var err error
	if r.sparse, err = readSparse(v, "sparse_values"); err != nil {
		return nil, err
	}
	return r, checkRecord(r)
}

// delete removes records by id. Records that don't exist are left so.
func (x *index) delete(in, _ message) error {
	ids, err := readIDs(in)
	if err != nil {
		return err
	}
	ns := x.namespaces[in.text("namespace")]
	if ns == nil {
		return errNoNamespace
	}
	ns.records = slices.DeleteFunc(ns.records, func(r *record) bool { return slices.Contains(ids, r.id) })
	return nil
}

// deleteNamespace removes a namespace with all its records.
func (x *index) deleteNamespace(in, _ message) error {
	name := in.text("namespace")
	if x.namespaces[name] == nil {
		return errNoNamespace
	}
	delete(x.namespaces, name)
	return nil
}

// fetch reads records by id; ids that don't exist are left out.
func (x *index) fetch(in, out message) error {
	ids, err := readIDs(in)
	if err != nil {
		return err
	}
	ns := x.namespace(in)
	for _, id := range ids {
		if i, found := ns.search(id); found {
			proto.Merge(out.put("vectors", id).Interface(), ns.records[i].stored.Interface())
		}
	}
	return nil
}

// list returns the ids of a namespace that begin with a prefix, page by page, in their order. The token of the next
// page is the last id of this one.
func (x *index) list(in, out message) error {
	limit := maxListLimit
	if in.has("limit") {
		limit = in.number("limit")
	}
	err := cmp.Or(checkNamespace(in),
		require(limit >= 1 && limit <= maxListLimit, "limit must be between 1 and %d, got %d", maxListLimit, limit))
	if err != nil {
		return err
	}
	ns, prefix, after := x.namespace(in), in.text("prefix"), in.text("pagination_token")
	at, found := ns.search(max(prefix, after))
	if found && after != "" {
		at++
	}
	for n, r := range ns.records[at:] {
		if !strings.HasPrefix(r.id, prefix) {
			break
		}
		if n == limit {
			out.message("pagination").set("next", ns.records[at+n-1].id)
			break
		}
		out.add("vectors").set("id", r.id)
	}
	return nil
}

// describeIndexStats counts the records of each namespace.
func (x *index) describeIndexStats(_, out message) error {
	for name, ns := range x.namespaces {
		out.put("namespaces", name).set("vector_count", uint32(len(ns.records)))
	}
	if x.dimension > 0 {
		out.set("dimension", uint32(x.dimension))
	}
	return nil
}

// describeNamespace counts the records of one namespace.
func (x *index) describeNamespace(in, out message) error {
	name := in.text("namespace")
	if x.namespaces[name] == nil {
		return errNoNamespace
	}
	out.set("name", name)
	out.set("record_count", uint64(len(x.namespaces[name].records)))
	return nil
}
