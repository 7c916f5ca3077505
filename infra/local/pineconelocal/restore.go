package pineconelocal

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// rewriteBatch is the most records that one frame of a rewritten journal holds: it must pass as an upsert again.
const rewriteBatch = 10

// restore replays the journal in dir, and rewrites it when most of it is history. From then on it keeps the writes.
func (s *Server) restore(dir string) error {
	writes, err := s.writes()
	if err != nil {
		return err
	}
	path, upserted := filepath.Join(dir, journalName), 0
	j, err := openJournal(path, func(request message) error {
		write, ok := writes[request.Descriptor().FullName()]
		if !ok {
			return fmt.Errorf("%s is not a write", request.Descriptor().FullName())
		}
		if request.Descriptor().Name() == "UpsertRequest" {
			upserted += len(request.subs("vectors"))
		}
		return write(request)
	})
	if err != nil {
		return err
	}
	s.store.journal = j
	live := s.store.written
	if j.frames > 2*(live.records()+len(live.namespaces)+1) || upserted > 2*live.records()+rewriteBatch {
		return s.compact(path)
	}
	return nil
}

// writes are the calls that a journal may hold, by the type of the request.
func (s *Server) writes() (map[protoreflect.FullName]func(message) error, error) {
	methods, err := clientMethods()
	if err != nil {
		return nil, err
	}
	handlers, out := s.handlers(), map[protoreflect.FullName]func(message) error{}
	for _, name := range []protoreflect.Name{"Upsert", "Update", "Delete", "CreateNamespace", "DeleteNamespace"} {
		m := methods.ByName(name)
		out[m.Input().FullName()] = func(request message) error {
			return handlers[string(name)](context.Background(), request, newMessage(m.Output().FullName()))
		}
	}
	return out, nil
}

// compact replaces the journal by one that makes the present contents.
func (s *Server) compact(path string) error {
	if err := s.store.journal.close(); err != nil {
		return err
	}
	j, err := rewriteJournal(path, s.store.written.requests())
	if err != nil {
		return fmt.Errorf("rewrite %s: %w", path, err)
	}
	s.store.journal = j
	return nil
}

// requests make these contents out of an empty index.
func (c *contents) requests() []message {
	var out []message
	for _, name := range c.names() {
		ns := c.namespaces[name]
		create := newMessage("CreateNamespaceRequest")
		create.set("name", name)
		if ns.fields != nil {
			writeSchema(create.open("schema"), ns.fields)
		}
		out = append(out, create)
		for batch := range slices.Chunk(ns.rows, rewriteBatch) {
			upsert := newMessage("UpsertRequest")
			upsert.set("namespace", name)
			for _, r := range batch {
				r.write(upsert.add("vectors"), true, true)
			}
			out = append(out, upsert)
		}
	}
	return out
}
