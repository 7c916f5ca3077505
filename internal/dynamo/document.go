package dynamo

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/document"
	"github.com/throughline/throughline/internal/dynamo/table"
	"github.com/throughline/throughline/internal/erasure"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/vector"
)

// DocumentStore keeps documents. It is safe for concurrent use.
type DocumentStore struct{ db *DB }

// NewDocumentStore returns the documents of a DB.
func NewDocumentStore(db *DB) *DocumentStore { return &DocumentStore{db} }

// documentPut is one put of a document, over all of its attempts.
type documentPut struct {
	user conversation.UserID
	key  table.Key
	to   document.Document
	// token is only in records that this put has written.
	token string
	// there is the record as it was read last, nil for none. It may have expired or be of an earlier generation.
	there table.Item
}

// PutDocument stores a document with one read and one transaction. The condition on what was read fails when another
// writer came first. The next attempt then replaces what that one wrote.
func (s *DocumentStore) PutDocument(ctx context.Context, user conversation.UserID, d document.Document,
) (document.Document, bool, error) {
	const op = "put document"
	ctx, cancel := context.WithTimeout(ctx, table.OperationTimeout)
	defer cancel()
	k := table.DocumentKey(user, d.Namespace, d.Key)
	records, err := s.db.ReadCurrent(ctx, op, user, k)
	if err != nil {
		return document.Document{}, false, err
	}
	p := documentPut{
		user: user, key: k, to: d, token: table.NewRandomDigits(s.db.Random), there: records[k],
	}
	var it table.Item
	created := false
	err = s.db.Retry(ctx, op, func(ctx context.Context, b *table.Backoff) (bool, error) {
		place := 0
		failures, err := s.db.commitAtGeneration(ctx, op, user, b, func(generation int64) (*table.Transaction, int) {
			it, created = p.record(s.db, generation)
			t := s.db.Transaction()
			place = t.Put(it, isAsRead(p.there))
			t.DoneIf(func(r table.RecordSet) bool { return r[k].String(table.AttrWriteToken) == p.token }, k)
			return t, t.Check(table.GenerationKey(user), table.IsGeneration(generation))
		})
		if existing, failed := failures[place]; failed {
			p.there = existing
		}
		return err != nil || failures == nil, err
	})
	if err != nil {
		return document.Document{}, false, err
	}
	return decodeDocument(it), created, nil
}

// isAsRead is the condition that a record is the one that was read, or that there is none.
func isAsRead(there table.Item) table.Condition {
	switch {
	case there == nil:
		return table.NotExists()
	case !there.Has(table.AttrVersion):
		return table.Exists().And(table.Lacks(table.AttrVersion))
	}
	return isVersion(there.Int64(table.AttrVersion))
}

// record returns the record of a put, and whether it is a new document.
//
// Its version is above that of the record before, and above those of earlier documents of the key: it is at least the
// time in milliseconds. So a worker that indexed a deleted document does not take this one out of the due index.
func (p documentPut) record(db *DB, generation int64) (it table.Item, created bool) {
	now, d := db.Now(), p.to
	isCurrent := p.there != nil && !p.there.Expired(now) && p.there.Int64(table.AttrGeneration) >= generation
	if isCurrent {
		d.CreatedAt = p.there.Time(table.AttrCreatedAt)
	}
	d.Vectors = max(d.Vectors, int(p.there.Int64(table.AttrVectorCount)))
	it = encodeDocument(d).With(p.key.Attributes())
	it.Set(table.AttrVersion, max(p.there.Int64(table.AttrVersion)+1, now.UnixMilli()))
	it.Set(table.AttrGeneration, generation)
	it.Set(table.AttrWriteToken, p.token)
	if d.Vectors > 0 {
		it.SetDue(p.key, db.DueAfterIdle())
	}
	return it, !isCurrent
}

func encodeDocument(d document.Document) table.Item {
	it := table.Encode(d)
	it[table.AttrNamespace], it[table.AttrValue] = table.ListAttr(d.Namespace), table.StringAttr(string(d.Value))
	if d.Index != nil {
		it.Set(table.AttrIndexPaths, d.Index)
	}
	return it
}

func decodeDocument(it table.Item) document.Document {
	d := table.Decode[document.Document](it)
	d.Namespace, d.Value = it.Strings(table.AttrNamespace), json.RawMessage(it.String(table.AttrValue))
	if it.Has(table.AttrIndexPaths) {
		d.Index = append([]string{}, it.Strings(table.AttrIndexPaths)...)
	}
	return d
}

// DeleteDocument deletes a document. One that may have vectors leaves a tombstone, by which the sweep deletes them when
// the stream's worker has not.
func (s *DocumentStore) DeleteDocument(ctx context.Context, user conversation.UserID, n document.Namespace, name string,
) error {
	const op = "delete document"
	k := table.DocumentKey(user, n, name)
	return s.db.Retry(ctx, op, func(ctx context.Context, b *table.Backoff) (bool, error) {
		records, err := s.db.ReadCurrent(ctx, op, user, k)
		if err != nil {
			return false, err
		}
		it, ok := records.Current(user, k)
		if !ok {
			return false, fault.Missing("document")
		}
		t := s.db.Transaction()
		t.Delete(k, isAsRead(it))
		if ids := vector.PartIDs(k.SK, 0, int(it.Int64(table.AttrVectorCount))); len(ids) > 0 {
			now := s.db.Now()
			t.Replace(encodeTombstone(erasure.Tombstone{
				User: user, ID: table.VectorTombstoneSK(ids), Generation: records.Generation(user), Emptied: true, Vectors: ids,
				DeletedAt: now,
			}, now.Add(erasure.FirstSweepAfter)))
		}
		t.Check(table.GenerationKey(user), table.IsGeneration(records.Generation(user)))
		t.DoneIf(func(r table.RecordSet) bool { return len(r) == 0 }, k)
		failures, err := s.db.Commit(ctx, op, t, b)
		return failures == nil, err
	})
}

// Document returns one document.
func (s *DocumentStore) Document(ctx context.Context, user conversation.UserID, n document.Namespace, name string,
) (document.Document, error) {
	k := table.DocumentKey(user, n, name)
	it, err := s.db.readOne(ctx, "document", user, k)
	if err != nil {
		return document.Document{}, err
	}
	return decodeDocument(it), nil
}

// Documents lists documents by namespace and key.
func (s *DocumentStore) Documents(ctx context.Context, user conversation.UserID, under document.Namespace,
	f document.Filter, page conversation.Page,
) ([]document.Document, conversation.Position, error) {
	prefix := table.DocumentsUnder(under)
	after, err := table.StartAfter(user, page.After, prefix, table.AfterAll(prefix), table.IsDocumentSK)
	if err != nil {
		return nil, "", err
	}
	q := table.Query{Where: table.WithPrefix(user, prefix), Page: page.Limit + 1, After: after}
	records := s.db.Query(ctx, "list documents", q)
	return collectCurrent(ctx, s.db, user, page.Limit, records, func(it table.Item) (document.Document, bool) {
		d := decodeDocument(it)
		return d, f.Matches(d.Value)
	})
}

// A page of namespaces ends after so many queries, or so many records of expired or erased documents.
const (
	maxNamespaceQueries = 100
	maxPassedOver       = 2000
	passedOverPage      = 100
)

// Namespaces lists namespaces with one query for each, of one record: it asks for the first document after the
// namespace before.
func (s *DocumentStore) Namespaces(ctx context.Context, user conversation.UserID, q document.NamespaceQuery,
	page conversation.Page,
) ([]document.Namespace, conversation.Position, error) {
	current, err := s.db.ReadCurrent(ctx, "read generation", user)
	if err != nil {
		return nil, "", err
	}
	all := table.DocumentsUnder(q.Fixed())
	w := namespaceWalk{db: s.db, user: user, generation: current.Generation(user), from: all, end: table.AfterAll(all)}
	if at := string(page.After); at != "" {
		if at < w.from || at > w.end {
			return nil, "", table.ErrPosition()
		}
		w.from = at
	}
	var found []document.Namespace
	for range maxNamespaceQueries {
		n, ok, err := w.next(ctx)
		if err != nil {
			return nil, "", err
		}
		switch {
		case !ok && w.passedOver < maxPassedOver:
			return found, "", nil
		case !ok:
			return found, conversation.Position(w.from), nil
		case q.Matches(n) && len(found) == page.Limit:
			return found, conversation.Position(table.DocumentsOf(n)), nil
		case q.Matches(n):
			found = append(found, slices.Clone(q.Cut(n)))
			w.skip(n, q.MaxDepth)
		default:
			w.from = table.AfterAll(table.DocumentsOf(n))
		}
	}
	return found, conversation.Position(w.from), nil
}

// namespaceWalk finds one namespace after the other.
type namespaceWalk struct {
	db         *DB
	user       conversation.UserID
	generation int64
	from, end  string
	passedOver int
}

// skip goes on after a namespace that is on the list. If it is as deep as may be, skip goes on after all namespaces
// that begin with its labels.
func (w *namespaceWalk) skip(n document.Namespace, maxDepth int) {
	if w.from = table.AfterAll(table.DocumentsOf(n)); maxDepth > 0 && len(n) >= maxDepth {
		w.from = table.AfterAll(table.DocumentsUnder(n[:maxDepth]))
	}
}

// next returns the namespace of the first document from the place on. ok is false at the end, and when too many records
// were passed over: the place is then after them. The first query reads one record, because a document can be large.
func (w *namespaceWalk) next(ctx context.Context) (n document.Namespace, ok bool, err error) {
	only := []string{table.AttrPK, table.AttrSK, table.AttrGeneration, table.AttrNamespace}
	now := w.db.Now()
	for size := 1; w.from < w.end; size = passedOverPage {
		q := table.Query{Where: table.Between(w.user, w.from, w.end), Only: only, Page: size}
		read := 0
		for it, err := range w.db.QueryWithExpired(ctx, "list namespaces", q) {
			if err != nil {
				return nil, false, err
			}
			if !it.Expired(now) && it.Int64(table.AttrGeneration) >= w.generation {
				return it.Strings(table.AttrNamespace), true, nil
			}
			w.passedOver++
			w.from = it.String(table.AttrSK) + "\x00"
			if w.passedOver >= maxPassedOver {
				return nil, false, nil
			}
			if read++; read == size {
				break
			}
		}
		if read < size {
			return nil, false, nil
		}
	}
	return nil, false, nil
}
