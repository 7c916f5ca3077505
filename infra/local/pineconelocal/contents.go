package pineconelocal

import (
	"maps"
	"slices"
	"strings"
)

// defaultNamespace is the name that the service shows for the namespace without a name.
const defaultNamespace = "__default__"

// contents is what an index holds at one moment. The caller locks.
type contents struct {
	dimension  int // 0 until it is known
	namespaces map[string]*namespace
}

// namespace holds its records in the order of their ids.
type namespace struct {
	rows   []*record
	fields []string // the filterable ones of its schema; nil without a schema
}

// change is what one call writes to one namespace. Applying it cannot fail.
type change struct {
	namespace string
	dimension int      // that the index has from now on, unless 0
	create    bool     // make the namespace, if it doesn't exist
	fields    []string // its schema
	clear     bool     // remove all records
	drop      bool     // remove the namespace
	puts      []*record
	removes   []string
}

// isNothing reports whether the change leaves every index as it is.
func (ch *change) isNothing() bool {
	return !ch.create && !ch.clear && !ch.drop && len(ch.puts) == 0 && len(ch.removes) == 0
}

// canonical is the one name under which a namespace is kept.
func canonical(name string) string {
	if name == "" {
		return defaultNamespace
	}
	return name
}

// namespace is never nil; one that doesn't exist is empty.
func (c *contents) namespace(name string) *namespace {
	if ns, ok := c.namespaces[canonical(name)]; ok {
		return ns
	}
	return &namespace{}
}

func (c *contents) exists(name string) bool {
	_, ok := c.namespaces[canonical(name)]
	return ok
}

// names are those of all namespaces, sorted.
func (c *contents) names() []string {
	return slices.Sorted(maps.Keys(c.namespaces))
}

func (c *contents) apply(ch change) {
	name := canonical(ch.namespace)
	if ch.dimension != 0 {
		c.dimension = ch.dimension
	}
	if ch.drop {
		delete(c.namespaces, name)
		return
	}
	if ch.create && !c.exists(name) {
		c.namespaces[name] = &namespace{fields: ch.fields}
	}
	ns := c.namespace(name)
	if ch.clear {
		ns.rows = nil
	}
	for _, r := range ch.puts {
		ns.put(r)
	}
	for _, id := range ch.removes {
		ns.remove(id)
	}
}

// clone copies everything that apply changes.
func (c *contents) clone() *contents {
	out := &contents{dimension: c.dimension, namespaces: make(map[string]*namespace, len(c.namespaces))}
	for name, ns := range c.namespaces {
		out.namespaces[name] = &namespace{rows: slices.Clone(ns.rows), fields: ns.fields}
	}
	return out
}

// records counts those of all namespaces.
func (c *contents) records() int {
	n := 0
	for _, ns := range c.namespaces {
		n += len(ns.rows)
	}
	return n
}

// search finds where id is or belongs.
func (ns *namespace) search(id string) (int, bool) {
	return slices.BinarySearchFunc(ns.rows, id, func(r *record, id string) int { return strings.Compare(r.id, id) })
}

// get is nil when there is no such record.
func (ns *namespace) get(id string) *record {
	if i, ok := ns.search(id); ok {
		return ns.rows[i]
	}
	return nil
}

func (ns *namespace) put(r *record) {
	i, ok := ns.search(r.id)
	if ok {
		ns.rows[i] = r
		return
	}
	ns.rows = slices.Insert(ns.rows, i, r)
}

func (ns *namespace) remove(id string) {
	if i, ok := ns.search(id); ok {
		ns.rows = slices.Delete(ns.rows, i, i+1)
	}
}

// matching are the records that keep accepts, by id.
func (ns *namespace) matching(keep predicate) []*record {
	var out []*record
	for _, r := range ns.rows {
		if keep(r.fields()) {
			out = append(out, r)
		}
	}
	return out
}
