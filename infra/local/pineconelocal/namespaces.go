package pineconelocal

import (
	"context"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// createNamespace makes an empty namespace, with its schema if there is one. The schema is kept and shown; every
// field can be filtered all the same.
func (s *Server) createNamespace(_ context.Context, in, out message) error {
	name := in.text("name")
	if err := checkNamespaceName(name); err != nil {
		return err
	}
	ch := change{namespace: name, create: true, fields: readSchema(in)}
	err := s.store.write(in, func(written *contents) (change, error) {
		if written.exists(name) {
			return ch, status.Errorf(codes.AlreadyExists, "Namespace '%s' already exists", name)
		}
		return ch, nil
	})
	if err == nil {
		writeNamespace(out, canonical(name), &namespace{fields: ch.fields})
	}
	return err
}

func checkNamespaceName(name string) error {
	if name == "" {
		return invalid("Namespace name must not be empty")
	}
	return checkNamespace(name)
}

// readSchema names the filterable fields of a schema, sorted.
func readSchema(in message) []string {
	if !in.has("schema") {
		return nil
	}
	fields := []string{}
	schema := in.sub("schema")
	schema.Get(schema.field("fields")).Map().Range(func(k protoreflect.MapKey, v protoreflect.Value) bool {
		if (message{v.Message()}).flag("filterable") {
			fields = append(fields, k.String())
		}
		return true
	})
	slices.Sort(fields)
	return fields
}

func writeSchema(m message, fields []string) {
	for _, f := range fields {
		m.put("fields", f).set("filterable", true)
	}
}

func writeNamespace(out message, name string, ns *namespace) {
	out.set("name", name)
	out.set("record_count", uint64(len(ns.rows)))
	if ns.fields != nil {
		writeSchema(out.open("schema"), ns.fields)
		setItems(out.open("indexed_fields"), "fields", ns.fields)
	}
}

// describeNamespace counts the records of one namespace.
func (s *Server) describeNamespace(_ context.Context, in, out message) error {
	name := in.text("namespace")
	if err := checkNamespaceName(name); err != nil {
		return err
	}
	err := errNoNamespace
	s.store.read(func(visible *contents) {
		if visible.exists(name) {
			err = nil
			writeNamespace(out, canonical(name), visible.namespace(name))
		}
	})
	return err
}

// listNamespaces describes the namespaces with a prefix, page by page, in the order of their names.
func (s *Server) listNamespaces(_ context.Context, in, out message) error {
	p, err := readPage(in, in.text("prefix"), maxListLimit)
	if err != nil {
		return err
	}
	s.store.read(func(visible *contents) {
		names := slices.DeleteFunc(visible.names(), func(n string) bool { return !strings.HasPrefix(n, p.prefix) })
		out.set("total_count", int32(len(names)))
		names = slices.DeleteFunc(names, func(n string) bool { return n <= p.after })
		for _, n := range cutPage(p, names, out, func(n string) string { return n }) {
			writeNamespace(out.add("namespaces"), n, visible.namespace(n))
		}
	})
	return nil
}

// deleteNamespace removes a namespace with all its records.
func (s *Server) deleteNamespace(_ context.Context, in, _ message) error {
	name := in.text("namespace")
	if err := checkNamespaceName(name); err != nil {
		return err
	}
	return s.store.write(in, func(written *contents) (change, error) {
		if !written.exists(name) {
			return change{}, errNoNamespace
		}
		return change{namespace: name, drop: true}, nil
	})
}
