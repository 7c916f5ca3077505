package memstore

import (
	"context"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/document"
	"github.com/throughline/throughline/internal/erasure"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/sweep"
	"github.com/throughline/throughline/internal/vector"
)

// storedDocument is a document with the version of its record.
type storedDocument struct {
	document.Document
	version int64
}

func (d storedDocument) isExpired(now time.Time) bool {
	return !d.ExpiresAt.IsZero() && !d.ExpiresAt.After(now)
}

const documentPrefix = "document/"

// documentID is the id of a document, also of its vector: its labels and its key, each without '/' and '#'.
func documentID(n document.Namespace, key string) string {
	return namespaceID(n) + ":" + url.QueryEscape(key)
}

func namespaceID(n document.Namespace) string {
	var b strings.Builder
	b.WriteString(documentPrefix)
	for _, label := range n {
		b.WriteString(url.QueryEscape(label) + "/")
	}
	return b.String()
}

// DocumentReader reads documents.
type DocumentReader struct{ *DB }

// Documents keeps documents.
type Documents struct{ DocumentReader }

var (
	_ document.Writer = Documents{}
	_ document.Reader = Documents{}
)

// PutDocument stores a document. Its version is above those of earlier documents of the key: it is at least the time in
// milliseconds.
func (s Documents) PutDocument(_ context.Context, user conversation.UserID, in document.Document,
) (document.Document, bool, error) {
	u, unlock := s.lock(user)
	defer unlock()
	id, now := documentID(in.Namespace, in.Key), s.now()
	before, there := u.documents[id]
	isCurrent := there && !before.isExpired(now)
	d := storedDocument{copied(in), max(before.version+1, now.UnixMilli())}
	if isCurrent {
		d.CreatedAt = before.CreatedAt
	}
	d.Vectors = max(d.Vectors, before.Vectors)
	u.documents[id] = d
	if delete(u.due, id); d.Vectors > 0 {
		u.setDue(sweep.Records, id, s.dueAfterIdle())
	}
	return copied(d.Document), !isCurrent, nil
}

// DeleteDocument deletes a document. One that may have vectors leaves a tombstone.
func (s Documents) DeleteDocument(_ context.Context, user conversation.UserID, n document.Namespace, key string) error {
	u, unlock := s.lock(user)
	defer unlock()
	id, now := documentID(n, key), s.now()
	d, ok := u.documents[id]
	if !ok || d.isExpired(now) {
		return fault.Missing("document")
	}
	delete(u.documents, id)
	delete(u.due, id)
	if ids := vector.PartIDs(id, 0, d.Vectors); len(ids) > 0 {
		u.addVectorTombstone(ids, now, now.Add(erasure.FirstSweepAfter))
	}
	return nil
}

// Document returns one document.
func (s DocumentReader) Document(_ context.Context, user conversation.UserID, n document.Namespace, key string,
) (document.Document, error) {
	u, unlock := s.lock(user)
	defer unlock()
	d, ok := u.documents[documentID(n, key)]
	if !ok || d.isExpired(s.now()) {
		return document.Document{}, fault.Missing("document")
	}
	return copied(d.Document), nil
}

// under returns the documents in a namespace and below it.
func (s DocumentReader) under(user conversation.UserID, n document.Namespace) []document.Document {
	u, unlock := s.lock(user)
	defer unlock()
	var out []document.Document
	for _, d := range u.documents {
		isUnder := len(d.Namespace) >= len(n) && slices.Equal(d.Namespace[:len(n)], n)
		if isUnder && !d.isExpired(s.now()) {
			out = append(out, d.Document)
		}
	}
	return out
}

// Documents lists documents by namespace and key.
func (s DocumentReader) Documents(_ context.Context, user conversation.UserID, under document.Namespace,
	f document.Filter, page conversation.Page,
) ([]document.Document, conversation.Position, error) {
	l := listing[document.Document]{
		name:  "documents under " + namespaceID(under),
		key:   func(d document.Document) string { return documentID(d.Namespace, d.Key) },
		size:  func(d document.Document) int { return len(d.Value) },
		picks: func(d document.Document) bool { return f.Matches(d.Value) },
	}
	return l.page(s.under(user, under), page)
}

// Namespaces lists namespaces.
func (s DocumentReader) Namespaces(_ context.Context, user conversation.UserID, q document.NamespaceQuery,
	page conversation.Page,
) ([]document.Namespace, conversation.Position, error) {
	found := map[string]document.Namespace{}
	for _, d := range s.under(user, nil) {
		if q.Matches(d.Namespace) {
			n := q.Cut(d.Namespace)
			found[namespaceID(n)] = n
		}
	}
	l := listing[document.Namespace]{name: "namespaces", key: namespaceID}
	return l.page(slices.Collect(maps.Values(found)), page)
}
