package pineconelocal

import (
	"slices"
	"strings"
	"sync"

	"go.etcd.io/bbolt"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/throughline/throughline/internal/vector"
)

// defaultNamespace is the name that the service shows for the namespace without a name.
const defaultNamespace = "__default__"

var errNoNamespace = status.Error(codes.NotFound, "Namespace not found")

// index holds the records of all namespaces in memory, and writes each change to a database first when it has one.
type index struct {
	database *bbolt.DB // nil when the index is only in memory

	mu         sync.RWMutex
	dimension  int // 0 until it is known
	namespaces map[string]*namespace
}

// namespace holds its records in the order of their ids.
type namespace struct{ records []*record }

// record is one stored vector. It never changes once it is stored: an update stores another one, so that a query can
// read it without a lock.
type record struct {
	id       string
	values   []float32
	sparse   vector.Sparse
	metadata *structpb.Struct // nil when the record has none
}

// change is what one call writes to one namespace. Applying it can't fail.
type change struct {
	namespace string
	drop      bool // remove the namespace
	puts      []*record
	removes   []string
}

func (c *change) isEmpty() bool {
	return !c.drop && len(c.puts) == 0 && len(c.removes) == 0
}

// write plans a change on the present records and makes it: all of it, or nothing when plan or the database fails.
func (x *index) write(plan func() (change, error)) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	c, err := plan()
	if err != nil || c.isEmpty() {
		return err
	}
	c.namespace = canonical(c.namespace)
	if err := x.save(c); err != nil {
		return status.Errorf(codes.Unavailable, "save the write: %v", err)
	}
	x.apply(c)
	return nil
}

// read calls f while no write can happen. What f keeps must be copied, except the records themselves.
func (x *index) read(f func()) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	f()
}

func (x *index) apply(c change) {
	if c.drop {
		delete(x.namespaces, c.namespace)
		return
	}
	ns := x.namespaces[c.namespace]
	if ns == nil {
		ns = &namespace{}
		x.namespaces[c.namespace] = ns
	}
	for _, r := range c.puts {
		x.dimension = len(r.values)
		ns.put(r)
	}
	for _, id := range c.removes {
		ns.remove(id)
	}
}

// canonical returns the name under which a namespace is stored.
func canonical(name string) string {
	if name == "" {
		return defaultNamespace
	}
	return name
}

func (x *index) exists(name string) bool { return x.namespaces[canonical(name)] != nil }

// checkQuota refuses a further namespace when the index has as many as the plan allows, with the service's own words
// ("Pinecone Database limits", section "Namespaces per serverless index"). The service answers 403, which is
// PermissionDenied in gRPC.
func (x *index) checkQuota(name string, allowed int) error {
	if allowed == 0 || x.exists(name) || len(x.namespaces) < allowed {
		return nil
	}
	return status.Error(codes.PermissionDenied, "Request failed. You've reached the max namespaces allowed in "+
		"serverless index local. To add more namespaces, upgrade your plan.")
}

// namespace returns an empty namespace for one that doesn't exist.
func (x *index) namespace(name string) *namespace {
	if ns := x.namespaces[canonical(name)]; ns != nil {
		return ns
	}
	return &namespace{}
}

// search returns where the record of an id is, or where it belongs.
func (ns *namespace) search(id string) (int, bool) {
	return slices.BinarySearchFunc(ns.records, id, func(r *record, id string) int { return strings.Compare(r.id, id) })
}

// get returns nil when there is no such record.
func (ns *namespace) get(id string) *record {
	if i, ok := ns.search(id); ok {
		return ns.records[i]
	}
	return nil
}

// withPrefix returns the records after an id whose ids begin with prefix.
func (ns *namespace) withPrefix(prefix, after string) []*record {
	first, _ := ns.search(prefix)
	next, found := ns.search(after)
	if found {
		next++
	}
	records := ns.records[max(first, next):]
	for i, r := range records {
		if !strings.HasPrefix(r.id, prefix) {
			return records[:i]
		}
	}
	return records
}

func (ns *namespace) put(r *record) {
	i, ok := ns.search(r.id)
	if ok {
		ns.records[i] = r
		return
	}
	ns.records = slices.Insert(ns.records, i, r)
}

func (ns *namespace) remove(id string) {
	if i, ok := ns.search(id); ok {
		ns.records = slices.Delete(ns.records, i, i+1)
	}
}

// readRecord reads and checks a Vector. The dimension is checked later, against the index.
func readRecord(m message) (*record, error) {
	r := &record{id: m.string("id"), values: m.floats("values"), metadata: m.object("metadata")}
	if err := checkID(r.id); err != nil {
		return nil, err
	}
	if err := checkDense(r.id, r.values); err != nil {
		return nil, err
	}
	if err := checkMetadata(r.metadata); err != nil {
		return nil, err
	}
	var err error
	r.sparse, err = readSparse(m, "sparse_values")
	return r, err
}

// write fills a Vector or a ScoredVector.
func (r *record) write(m message, values, metadata bool) {
	m.set("id", r.id)
	if values {
		setList(m, "values", r.values)
	}
	if values && len(r.sparse.Indices) > 0 {
		setList(m.mutable("sparse_values"), "indices", r.sparse.Indices)
		setList(m.mutable("sparse_values"), "values", r.sparse.Values)
	}
	if metadata {
		m.setObject("metadata", r.metadata)
	}
}
