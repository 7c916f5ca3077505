package dynamo

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/document"
	"github.com/throughline/throughline/internal/erasure"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/vector"
)

// DocumentStore keeps documents. It is safe for concurrent use.
type DocumentStore struct{ db *DB }

var (
	_ document.Writer = (*DocumentStore)(nil)
	_ document.Reader = (*DocumentStore)(nil)
)

// NewDocumentStore returns the documents of a DB.
func NewDocumentStore(db *DB) *DocumentStore { return &DocumentStore{db} }

// documentPut is one put of a document, over all of its attempts.
type documentPut struct {
	user conversation.UserID
	key  key
	to   document.Document
	// token is only in records that this put has written.
	token string
	// there is the record as it was read last, nil for none. It may have expired or be of an earlier generation.
	there      item
	generation int64
}

// PutDocument stores a document with one read and one transaction. The condition on what was read fails when another
// writer came first. The next attempt then replaces what that one wrote.
func (s *DocumentStore) PutDocument(ctx context.Context, user conversation.UserID, d document.Document,
) (document.Document, bool, error) {
	const op = "put document"
	ctx, cancel := context.WithTimeout(ctx, operationTimeout)
	defer cancel()
	k := documentKey(user, d.Namespace, d.Key)
	records, err := s.db.readCurrent(ctx, op, user, k)
	if err != nil {
		return document.Document{}, false, err
	}
	p := documentPut{
		user: user, key: k, to: d, token: newRandomDigits(s.db.random), there: records[k],
		generation: records.generation(user),
	}
	for b := s.db.backoff(); ; {
		it, created := p.record(s.db)
		t := s.db.transaction()
		place := t.put(it, isAsRead(p.there))
		generationPlace := t.check(generationKey(user), isGeneration(p.generation))
		failures, err := s.db.commit(ctx, op, t, b)
		if err != nil && b.ambiguous && s.isStored(ctx, p) {
			return decodeDocument(it), created, nil
		}
		if err != nil {
			return document.Document{}, false, err
		}
		if failures == nil {
			return decodeDocument(it), created, nil
		}
		if existing, failed := failures.existing(place); failed {
			if existing.string(attrWriteToken) == p.token { // an earlier attempt stored it, and its answer was lost
				return decodeDocument(existing), created, nil
			}
			p.there = existing
		}
		if existing, failed := failures.existing(generationPlace); failed {
			p.generation = existing.int64(attrGeneration)
			s.db.cache.saveGeneration(user, p.generation)
		}
		if err := b.afterConflict(ctx); err != nil {
			return document.Document{}, false, failed(op, err)
		}
	}
}

// isAsRead is the condition that a record is the one that was read, or that there is none.
func isAsRead(there item) expression.ConditionBuilder {
	switch {
	case there == nil:
		return notExists()
	case !there.has(attrVersion):
		return exists().And(expression.AttributeNotExists(field(attrVersion)))
	}
	return isVersion(there.int64(attrVersion))
}

// isStored reports whether an attempt without an answer has stored the document.
func (s *DocumentStore) isStored(ctx context.Context, p documentPut) bool {
	records, err := s.db.settle(ctx, "read document", p.key)
	return err == nil && records[p.key].string(attrWriteToken) == p.token
}

// record returns the record of a put, and whether it is a new document.
//
// Its version is above that of the record before, and above those of earlier documents of the key: it is at least the
// time in milliseconds. So a worker that indexed a deleted document does not take this one out of the due index.
func (p documentPut) record(db *DB) (it item, created bool) {
	now, d := db.now(), p.to
	isCurrent := p.there != nil && !p.there.expired(now) && p.there.int64(attrGeneration) >= p.generation
	if isCurrent {
		d.CreatedAt = p.there.time(attrCreatedAt)
	}
	d.Vectors = max(d.Vectors, int(p.there.int64(attrVectorCount)))
	it = encodeDocument(d).with(p.key.attributes())
	it[attrVersion] = intAttr(max(p.there.int64(attrVersion)+1, now.UnixMilli()))
	it[attrGeneration] = intAttr(p.generation)
	it[attrWriteToken] = stringAttr(p.token)
	if d.Vectors > 0 {
		it[attrDueAt], it[attrDueShard] = timeAttr(db.dueAfterIdle()), intAttr(dueShard(p.key))
	}
	return it, !isCurrent
}

func encodeDocument(d document.Document) item {
	it := item{
		attrNamespace: listAttr(d.Namespace), attrDocumentKey: stringAttr(d.Key), attrValue: stringAttr(string(d.Value)),
		attrCreatedAt: timeAttr(d.CreatedAt), attrUpdatedAt: timeAttr(d.UpdatedAt),
	}
	if d.Index != nil {
		it[attrIndexPaths] = listAttr(d.Index)
	}
	if d.Vectors > 0 {
		it[attrVectorCount] = intAttr(d.Vectors)
	}
	if !d.ExpiresAt.IsZero() {
		it[TTLAttribute] = intAttr(d.ExpiresAt.Unix())
	}
	return it
}

func decodeDocument(it item) document.Document {
	d := document.Document{
		Namespace: it.strings(attrNamespace), Key: it.string(attrDocumentKey),
		Value: json.RawMessage(it.string(attrValue)), CreatedAt: it.time(attrCreatedAt), UpdatedAt: it.time(attrUpdatedAt),
		Vectors: int(it.int64(attrVectorCount)),
	}
	if it.has(attrIndexPaths) {
		d.Index = append([]string{}, it.strings(attrIndexPaths)...)
	}
	if it.has(TTLAttribute) {
		d.ExpiresAt = time.Unix(it.int64(TTLAttribute), 0).UTC()
	}
	return d
}

// DeleteDocument deletes a document. One that may have vectors leaves a tombstone, by which the sweep deletes them when
// the stream's worker has not.
func (s *DocumentStore) DeleteDocument(ctx context.Context, user conversation.UserID, n document.Namespace, name string,
) error {
	const op = "delete document"
	ctx, cancel := context.WithTimeout(ctx, operationTimeout)
	defer cancel()
	k := documentKey(user, n, name)
	for b := s.db.backoff(); ; {
		records, err := s.db.readCurrent(ctx, op, user, k)
		if err != nil {
			return err
		}
		it, ok := records.current(user, k)
		if !ok && b.ambiguous { // an earlier attempt deleted it, and its answer was lost
			return nil
		}
		if !ok {
			return fault.Missing("document")
		}
		t := s.db.transaction()
		t.delete(k, isAsRead(it))
		if ids := documentVectors(k.sk, 0, int(it.int64(attrVectorCount))); len(ids) > 0 {
			now := s.db.now()
			t.replace(encodeTombstone(erasure.Tombstone{
				User: user, ID: vectorTombstoneSK(ids), Generation: records.generation(user), Emptied: true, Vectors: ids,
				DeletedAt: now,
			}, now.Add(vectorSweepAfter)))
		}
		t.check(generationKey(user), isGeneration(records.generation(user)))
		failures, err := s.db.commit(ctx, op, t, b)
		if err != nil || failures == nil {
			return err
		}
		if err := b.afterConflict(ctx); err != nil {
			return failed(op, err)
		}
	}
}

// documentVectors are the ids of the vectors of a document's parts, from one number until before another.
func documentVectors(sk string, from, to int) []string {
	var ids []string
	for i := from; i < to; i++ {
		ids = append(ids, vector.PartID(sk, i))
	}
	return ids
}

// Document returns one document.
func (s *DocumentStore) Document(ctx context.Context, user conversation.UserID, n document.Namespace, name string,
) (document.Document, error) {
	k := documentKey(user, n, name)
	records, err := s.db.readCurrent(ctx, "read document", user, k)
	if err != nil {
		return document.Document{}, err
	}
	it, ok := records.current(user, k)
	if !ok {
		return document.Document{}, fault.Missing("document")
	}
	return decodeDocument(it), nil
}

// Documents lists documents by namespace and key.
func (s *DocumentStore) Documents(ctx context.Context, user conversation.UserID, under document.Namespace,
	f document.Filter, page conversation.Page,
) ([]document.Document, conversation.Position, error) {
	prefix := documentsUnder(under)
	after, err := startAfter(user, page.After, prefix, afterAll(prefix), isDocumentSK)
	if err != nil {
		return nil, "", err
	}
	q := query{where: withPrefix(user, prefix), page: page.Limit + 1, after: after}
	records := s.db.query(ctx, "list documents", q)
	return collectCurrent(ctx, s.db, user, page.Limit, records, func(it item) (document.Document, bool) {
		d := decodeDocument(it)
		return d, f.Matches(d.Value)
	})
}

// A page of namespaces ends after so many queries, or so many records of expired or erased documents.
const (
	maxNamespaceQueries = 400
	maxPassedOver       = 2000
	passedOverPage      = 100
)

// Namespaces lists namespaces with one query for each, of one record: it asks for the first document behind the
// namespace before.
func (s *DocumentStore) Namespaces(ctx context.Context, user conversation.UserID, q document.NamespaceQuery,
	page conversation.Page,
) ([]document.Namespace, conversation.Position, error) {
	current, err := s.db.readCurrent(ctx, "read generation", user)
	if err != nil {
		return nil, "", err
	}
	all := documentsUnder(q.Fixed())
	w := namespaceWalk{db: s.db, user: user, generation: current.generation(user), from: all, end: afterAll(all)}
	if at := string(page.After); at != "" {
		if at < w.from || at > w.end {
			return nil, "", errPosition()
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
			return found, conversation.Position(documentsOf(n)), nil
		case q.Matches(n):
			found = append(found, slices.Clone(q.Cut(n)))
			w.skip(n, q.MaxDepth)
		default:
			w.from = afterAll(documentsOf(n))
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

// skip goes on behind a namespace that is on the list: of one as deep as may be, behind all that begin with its labels.
func (w *namespaceWalk) skip(n document.Namespace, maxDepth int) {
	if w.from = afterAll(documentsOf(n)); maxDepth > 0 && len(n) >= maxDepth {
		w.from = afterAll(documentsUnder(n[:maxDepth]))
	}
}

// next returns the namespace of the first document from the place on. ok is false at the end, and when too many records
// were passed over: the place is then behind them. The first query reads one record, because a document can be large.
func (w *namespaceWalk) next(ctx context.Context) (n document.Namespace, ok bool, err error) {
	only := []string{attrPK, attrSK, attrGeneration, attrNamespace}
	now := w.db.now()
	for size := 1; w.from < w.end; size = passedOverPage {
		q := query{where: between(w.user, w.from, w.end), only: only, page: size}
		read := 0
		for it, err := range w.db.queryWithExpired(ctx, "list namespaces", q) {
			if err != nil {
				return nil, false, err
			}
			if !it.expired(now) && it.int64(attrGeneration) >= w.generation {
				return it.strings(attrNamespace), true, nil
			}
			w.passedOver++
			w.from = it.string(attrSK) + "\x00"
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
