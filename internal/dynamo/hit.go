package dynamo

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/indexing"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/recall"
	"github.com/throughline/throughline/internal/sweep"
	"github.com/throughline/throughline/internal/vector"
)

// HitStore reads the records behind vector ids. It is safe for concurrent use.
type HitStore struct{ db *DB }

// NewHitStore returns the records of a DB that have vectors.
func NewHitStore(db *DB) *HitStore { return &HitStore{db} }

// RecallSource is what recall reads.
type RecallSource struct {
	*SessionReader
	*MessageStore
	*HitStore
}

var _ recall.Store = RecallSource{}

// NewRecallSource returns the stores that recall reads.
func NewRecallSource(db *DB) RecallSource {
	return RecallSource{NewSessionReader(db), NewMessageStore(db), NewHitStore(db)}
}

// IndexingSource is what the memory service reads and writes: the records to index, and how far they are indexed.
type IndexingSource struct {
	*SessionReader
	*MessageStore
	*HitStore
	db *DB
}

var _ indexing.Store = IndexingSource{}

// NewIndexingSource returns the stores of the memory service.
func NewIndexingSource(db *DB) IndexingSource {
	return IndexingSource{NewSessionReader(db), NewMessageStore(db), NewHitStore(db), db}
}

// SessionsAt reads sessions, consistently, 100 in one call. A session that is gone or of another generation is left
// out.
func (s IndexingSource) SessionsAt(ctx context.Context, refs []indexing.SessionRef,
) (map[indexing.SessionRef]conversation.Session, error) {
	keys := make([]key, 0, len(refs))
	for _, ref := range refs {
		if sk, ok := sessionSK(ref.Context, ref.SessionID); ok {
			keys = append(keys, key{partition(ref.User), sk})
		}
	}
	slices.SortFunc(keys, func(a, b key) int { return cmp.Or(cmp.Compare(a.pk, b.pk), cmp.Compare(a.sk, b.sk)) })
	records, err := s.db.read(ctx, "read sessions", slices.Compact(keys)...) // DynamoDB refuses a key that comes twice
	if err != nil {
		return nil, err
	}
	out := make(map[indexing.SessionRef]conversation.Session, len(refs))
	for _, ref := range refs {
		sk, _ := sessionSK(ref.Context, ref.SessionID)
		session, ok := decodeSession(records[key{partition(ref.User), sk}])
		if ok && session.Generation == ref.Generation {
			out[ref] = session
		}
	}
	return out, nil
}

// MarkIndexed raises the session's watermark to through, on condition that it is still the same session and that its
// watermark lies between the one that was read and through. A session in which everything is covered by that leaves the
// due index.
func (s IndexingSource) MarkIndexed(ctx context.Context, user conversation.UserID, session conversation.Session,
	through conversation.Watermark,
) error {
	sk, ok := sessionSK(session.Context, session.ID)
	if !ok {
		return fault.Missing("session")
	}
	u := setWatermark(expression.UpdateBuilder{}, attrIndexedSeq, attrIndexedAt, through)
	indexed := field(attrIndexedSeq)
	cond := isIncarnation(session).
		And(indexed.GreaterThanEqual(value(intAttr(session.Indexed.Seq))), indexed.LessThan(value(intAttr(through.Seq))))
	it, err := s.db.updateItem(ctx, key{partition(user), sk}, u, cond)
	if err == nil {
		return NewDueStore(s.db).settleCovered(ctx, user, it)
	}
	existing, conflict := conditionFailed(err)
	if !conflict {
		return failed("mark indexed", err)
	}
	now, ok := decodeSession(existing)
	if !ok || !now.IsSame(session) {
		return fault.Missing("session")
	}
	if isAmbiguous(err) && now.Indexed.Seq == through.Seq {
		return nil // an earlier attempt raised it, and its answer was lost
	}
	return fault.New(fault.Conflict, "the session is indexed as far already")
}

// ClaimIndexing claims the messages of a session for one worker until a time, unless another one has claimed them. It
// returns the session as it is now.
func (s IndexingSource) ClaimIndexing(ctx context.Context, user conversation.UserID, session conversation.Session,
	now, until time.Time,
) (conversation.Session, bool, error) {
	free := expression.AttributeNotExists(field(attrIndexingUntil)).
		Or(field(attrIndexingUntil).LessThan(value(timeAttr(now))))
	u := expression.Set(field(attrIndexingUntil), value(timeAttr(until)))
	return s.updateClaim(ctx, user, session, u, free, func(existing item, err error) bool {
		return isAmbiguous(err) && existing.time(attrIndexingUntil).Equal(conversation.Milliseconds(until))
	})
}

// EndIndexing ends a worker's claim, if it still has it, and returns the session as it is now.
func (s IndexingSource) EndIndexing(ctx context.Context, user conversation.UserID, session conversation.Session,
	until time.Time,
) (conversation.Session, error) {
	isOwn := field(attrIndexingUntil).Equal(value(timeAttr(until)))
	u := expression.Remove(field(attrIndexingUntil))
	now, _, err := s.updateClaim(ctx, user, session, u, isOwn, func(item, error) bool { return false })
	return now, err
}

// updateClaim changes a session's claim on a condition, which wasMet finds to have been met by an attempt whose answer
// was lost. It returns the session as it is now, and whether the claim was changed.
func (s IndexingSource) updateClaim(ctx context.Context, user conversation.UserID, session conversation.Session,
	u expression.UpdateBuilder, cond expression.ConditionBuilder, wasMet func(existing item, err error) bool,
) (conversation.Session, bool, error) {
	sk, ok := sessionSK(session.Context, session.ID)
	if !ok {
		return session, false, fault.Missing("session")
	}
	stored, err := s.db.updateItem(ctx, key{partition(user), sk}, u, isIncarnation(session).And(cond))
	changed := err == nil
	if existing, conflict := conditionFailed(err); conflict {
		stored, changed, err = existing, wasMet(existing, err), nil
	}
	if err != nil {
		return session, false, failed("claim indexing", err)
	}
	now, ok := decodeSession(stored)
	if !ok || !now.IsSame(session) {
		return session, false, fault.Missing("session")
	}
	return now, changed, nil
}

// MarkRecordIndexed takes a memory, check-in or document whose vector is written out of the due index, unless it has
// another version. One that expires is due again then.
func (s IndexingSource) MarkRecordIndexed(ctx context.Context, user conversation.UserID, r indexing.RecordRef) error {
	prefix := livePrefix
	if r.Past {
		prefix = pastPrefix
	}
	kind := memoryKind
	if _, ok := conversation.TimeOfID(checkInKind, r.ID); ok {
		kind = checkInKind
	}
	isDue := isVersion(r.Version).And(expression.AttributeExists(field(attrDueAt)))
	k := key{partition(user), recordSK(prefix, kind, r.ID)}
	if isDocumentSK(r.ID) {
		k.sk = r.ID
	}
	u := removeDue(expression.UpdateBuilder{})
	if !r.ExpiresAt.IsZero() {
		u = endFailures(endClaim(setDue(expression.UpdateBuilder{}, k, r.ExpiresAt)))
	}
	_, err := s.db.updateItem(ctx, k, u, isDue)
	return failed("mark indexed", ignoreConditionFailed(err))
}

// RecordDue returns the memory, check-in or document of a due record. A document may have expired: its vectors are
// still to be deleted.
func (s IndexingSource) RecordDue(ctx context.Context, d sweep.Due) (indexing.RecordRef, error) {
	k := dueKey(d)
	if isDocumentSK(k.sk) {
		return s.documentDue(ctx, d)
	}
	records, err := s.db.readCurrent(ctx, "read record", d.User, k)
	if err != nil {
		return indexing.RecordRef{}, err
	}
	it, found := records.current(d.User, k)
	for _, kind := range []string{memoryKind, checkInKind} {
		if id, live, ok := parseRecordSK(k.sk, kind); ok && found {
			return indexing.RecordRef{
				ID: id, Generation: it.int64(attrGeneration), Version: it.int64(attrVersion), Past: !live,
			}, nil
		}
	}
	return indexing.RecordRef{}, fault.Missing("record")
}

func (s IndexingSource) documentDue(ctx context.Context, d sweep.Due) (indexing.RecordRef, error) {
	const op = "read document"
	current, err := s.db.readCurrent(ctx, op, d.User)
	if err != nil {
		return indexing.RecordRef{}, err
	}
	only := []string{attrGeneration, attrVersion, attrVectorCount}
	for it, err := range s.db.queryWithExpired(ctx, op, query{where: between(d.User, d.ID, d.ID), only: only}) {
		if err != nil {
			return indexing.RecordRef{}, err
		}
		if it.int64(attrGeneration) >= current.generation(d.User) {
			return indexing.RecordRef{
				ID: d.ID, Generation: it.int64(attrGeneration), Version: it.int64(attrVersion),
				Vectors: int(it.int64(attrVectorCount)),
			}, nil
		}
	}
	return indexing.RecordRef{}, fault.Missing("document")
}

// Resolve reads the records behind vector ids, in their order, consistently. One call reads 100 keys. The parts of one
// long text are one hit, under the id of the first part. Records that are deleted, superseded, expired or of another
// generation are left out, and so are ids that are not of this user.
func (s *HitStore) Resolve(ctx context.Context, user conversation.UserID, generation int64, ids []string,
) ([]recall.Hit, error) {
	var keys []key
	keysByID := map[string][]key{}
	taken := map[key]bool{}
	for _, id := range ids {
		candidates := vectorKeys(user, id)
		if len(candidates) == 0 || taken[candidates[0]] {
			continue
		}
		taken[candidates[0]] = true
		keysByID[id] = candidates
		keys = append(keys, candidates...)
	}
	if len(keys) == 0 {
		return nil, nil
	}
	records, err := s.db.read(ctx, "resolve hits", keys...)
	if err != nil {
		return nil, err
	}
	var hits []recall.Hit
	for _, id := range ids {
		if h, ok := s.hit(records, keysByID[id], generation); ok {
			h.ID = id
			hits = append(hits, h)
			delete(keysByID, id)
		}
	}
	return hits, nil
}

// vectorKeys returns the keys at which the record of a vector id may be: a long-term record is live or past.
func vectorKeys(user conversation.UserID, id string) []key {
	if keys := keysOfWhole(user, id); keys != nil {
		return keys
	}
	if whole, ok := vector.CutPart(id); ok {
		return keysOfWhole(user, whole)
	}
	return nil
}

func keysOfWhole(user conversation.UserID, id string) []key {
	pk := partition(user)
	if isDocumentSK(id) {
		return []key{{pk, id}}
	}
	if sk, ok := parseMessageID(user, id); ok {
		return []key{{pk, sk}}
	}
	if recordType, session, ok := strings.Cut(id, "#"); ok {
		if sk, ok := summarySK(conversation.RecordType(recordType), session); ok {
			return []key{{pk, sk}}
		}
		return nil
	}
	for _, kind := range []string{memoryKind, checkInKind} {
		if _, ok := conversation.TimeOfID(kind, id); ok {
			return []key{{pk, recordSK(livePrefix, kind, id)}, {pk, recordSK(pastPrefix, kind, id)}}
		}
	}
	return nil
}

func (s *HitStore) hit(records recordSet, candidates []key, generation int64) (recall.Hit, bool) {
	for _, k := range candidates {
		if it, ok := records[k]; ok && it.int64(attrGeneration) == generation {
			return s.decodeHit(it)
		}
	}
	return recall.Hit{}, false
}

func (s *HitStore) decodeHit(it item) (recall.Hit, bool) {
	sk := it.string(attrSK)
	if m, ok := decodeMessage(it); ok {
		return recall.Hit{Message: &m}, true
	}
	if sum, ok := decodeSummary(it); ok {
		return recall.Hit{Summary: &sum}, true
	}
	if _, _, ok := parseRecordSK(sk, memoryKind); ok {
		m := memories.decode(it)
		return recall.Hit{Memory: &m}, m.Valid(longterm.InLastZone(s.db.now()))
	}
	if _, _, ok := parseRecordSK(sk, checkInKind); ok {
		c := checkIns.decode(it)
		return recall.Hit{CheckIn: &c}, true
	}
	if isDocumentSK(sk) {
		d := decodeDocument(it)
		return recall.Hit{Document: &d}, true
	}
	return recall.Hit{}, false
}
