package dynamo

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo/table"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/indexing"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/recall"
	"github.com/throughline/throughline/internal/sweep"
	"github.com/throughline/throughline/internal/vector"
)

// HitStore reads the records that vectors were made of. It is safe for concurrent use.
type HitStore struct{ db *DB }

// NewHitStore returns the records of a DB that have vectors.
func NewHitStore(db *DB) *HitStore { return &HitStore{db} }

// RecallSource is what recall reads.
type RecallSource struct {
	*SessionReader
	*MessageStore
	*HitStore
}

// NewRecallSource returns the stores that recall reads.
func NewRecallSource(db *DB) RecallSource {
	return RecallSource{NewSessionReader(db), NewMessageStore(db), NewHitStore(db)}
}

// IndexingSource is what the indexing service reads and writes: the records to index, and how far they are indexed.
type IndexingSource struct {
	*SessionReader
	*MessageStore
	*HitStore
	db *DB
}

// NewIndexingSource returns the stores of the indexing service.
func NewIndexingSource(db *DB) IndexingSource {
	return IndexingSource{NewSessionReader(db), NewMessageStore(db), NewHitStore(db), db}
}

// SessionsAt reads sessions, consistently, 100 in one call. A session that is gone or of another generation is left
// out.
func (s IndexingSource) SessionsAt(ctx context.Context, refs []indexing.SessionRef,
) (map[indexing.SessionRef]conversation.Session, error) {
	keys := make([]table.Key, 0, len(refs))
	for _, ref := range refs {
		if sk, ok := table.SessionSK(ref.Context, ref.SessionID); ok {
			keys = append(keys, table.UserKey(ref.User, sk))
		}
	}
	slices.SortFunc(keys, func(a, b table.Key) int { return cmp.Or(cmp.Compare(a.PK, b.PK), cmp.Compare(a.SK, b.SK)) })
	records, err := s.db.Read(ctx, "read sessions", slices.Compact(keys)...) // DynamoDB refuses a key that comes twice
	if err != nil {
		return nil, err
	}
	out := make(map[indexing.SessionRef]conversation.Session, len(refs))
	for _, ref := range refs {
		sk, _ := table.SessionSK(ref.Context, ref.SessionID)
		session, ok := s.db.DecodeSession(records[table.UserKey(ref.User, sk)])
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
	u := table.Update{}.SetWatermark(table.AttrIndexedSeq, table.AttrIndexedAt, through)
	indexed := table.Field(table.AttrIndexedSeq)
	cond := table.IsIncarnation(session).
		And(indexed.GreaterThanEqual(table.Value(session.Indexed.Seq)),
			indexed.LessThan(table.Value(through.Seq)))
	it, err := s.db.UpdateOnce(ctx, table.KeyOfSession(user, session), u, cond, func(existing table.Item) bool {
		now, ok := s.db.DecodeSession(existing)
		return ok && now.IsSame(session) && now.Indexed.Seq == through.Seq
	})
	if err == nil {
		return NewDueStore(s.db).settleCovered(ctx, user, it)
	}
	existing, conflict := table.ConditionFailed(err)
	if !conflict {
		return table.Failed("mark indexed", err)
	}
	now, ok := s.db.DecodeSession(existing)
	if !ok || !now.IsSame(session) {
		return fault.Missing("session")
	}
	return fault.New(fault.Conflict, "the session is indexed as far already")
}

// ClaimIndexing claims the messages of a session for one worker until a time, unless another one has claimed them. It
// returns the session as it is now.
func (s IndexingSource) ClaimIndexing(ctx context.Context, user conversation.UserID, session conversation.Session,
	now, until time.Time,
) (conversation.Session, bool, error) {
	free := table.Lacks(table.AttrIndexingUntil).Or(table.IsBelow(table.AttrIndexingUntil, now))
	u := table.Set(table.AttrIndexingUntil, until)
	return s.updateClaim(ctx, user, session, u, free, func(existing table.Item) bool {
		return existing.Time(table.AttrIndexingUntil).Equal(conversation.Milliseconds(until))
	})
}

// EndIndexing ends a worker's claim, if it still has it, and returns the session as it is now.
func (s IndexingSource) EndIndexing(ctx context.Context, user conversation.UserID, session conversation.Session,
	until time.Time,
) (conversation.Session, error) {
	isOwn := table.Is(table.AttrIndexingUntil, until)
	u := table.Remove(table.AttrIndexingUntil)
	now, _, err := s.updateClaim(ctx, user, session, u, isOwn, func(table.Item) bool { return false })
	return now, err
}

// updateClaim changes a session's claim on a condition, unless isDone. It returns the session as it is now, and whether
// the claim was changed.
func (s IndexingSource) updateClaim(ctx context.Context, user conversation.UserID, session conversation.Session,
	u table.Update, cond table.Condition, isDone func(existing table.Item) bool,
) (conversation.Session, bool, error) {
	k := table.KeyOfSession(user, session)
	stored, err := s.db.UpdateOnce(ctx, k, u, table.IsIncarnation(session).And(cond), isDone)
	changed := err == nil
	if existing, conflict := table.ConditionFailed(err); conflict {
		stored, err = existing, nil
	}
	if err != nil {
		return session, false, table.Failed("claim indexing", err)
	}
	now, ok := s.db.DecodeSession(stored)
	if !ok || !now.IsSame(session) {
		return session, false, fault.Missing("session")
	}
	return now, changed, nil
}

// MarkRecordIndexed takes a memory, check-in or document whose vector is written out of the due index, unless it has
// another version. One that expires is due again then.
func (s IndexingSource) MarkRecordIndexed(ctx context.Context, user conversation.UserID, r indexing.RecordRef) error {
	prefix := table.LivePrefix
	if r.Past {
		prefix = table.PastPrefix
	}
	kind := table.MemoryKind
	if _, ok := conversation.TimeOfID(table.CheckInKind, r.ID); ok {
		kind = table.CheckInKind
	}
	isDue := isVersion(r.Version).And(table.Has(table.AttrDueAt))
	k := table.UserKey(user, table.RecordSK(prefix, kind, r.ID))
	if table.IsDocumentSK(r.ID) {
		k.SK = r.ID
	}
	u := table.Update{}.RemoveDue()
	if !r.ExpiresAt.IsZero() {
		u = table.Update{}.SetDue(k, r.ExpiresAt).EndClaim().EndFailures()
	}
	return s.db.UpdateWhere(ctx, "mark indexed", k, u, isDue)
}

// RecordDue returns the memory, check-in or document of a due record. A document may have expired: its vectors are
// still to be deleted.
func (s IndexingSource) RecordDue(ctx context.Context, d sweep.Due) (indexing.RecordRef, error) {
	k := dueKey(d)
	if table.IsDocumentSK(k.SK) {
		return s.documentDue(ctx, d)
	}
	it, err := s.db.readOne(ctx, "record", d.User, k)
	if err != nil {
		return indexing.RecordRef{}, err
	}
	for _, kind := range []string{table.MemoryKind, table.CheckInKind} {
		if id, live, ok := table.ParseRecordSK(k.SK, kind); ok {
			return indexing.RecordRef{
				ID: id, Generation: it.Int64(table.AttrGeneration), Version: it.Int64(table.AttrVersion), Past: !live,
			}, nil
		}
	}
	return indexing.RecordRef{}, fault.Missing("record")
}

func (s IndexingSource) documentDue(ctx context.Context, d sweep.Due) (indexing.RecordRef, error) {
	const op = "read document"
	current, err := s.db.ReadCurrent(ctx, op, d.User)
	if err != nil {
		return indexing.RecordRef{}, err
	}
	only := []string{table.AttrGeneration, table.AttrVersion, table.AttrVectorCount}
	for it, err := range s.db.QueryWithExpired(ctx, op,
		table.Query{Where: table.Between(d.User, d.ID, d.ID), Only: only}) {
		if err != nil {
			return indexing.RecordRef{}, err
		}
		if it.Int64(table.AttrGeneration) >= current.Generation(d.User) {
			return indexing.RecordRef{
				ID: d.ID, Generation: it.Int64(table.AttrGeneration), Version: it.Int64(table.AttrVersion),
				Vectors: int(it.Int64(table.AttrVectorCount)),
			}, nil
		}
	}
	return indexing.RecordRef{}, fault.Missing("document")
}

// Resolve reads the records of vector ids, in their order, consistently. One call reads 100 keys. The parts of one
// long text are one hit, under the id of the first part. Records that are deleted, superseded, expired or of another
// generation are left out, and so are ids that are not of this user.
func (s *HitStore) Resolve(ctx context.Context, user conversation.UserID, generation int64, ids []string,
) ([]recall.Hit, error) {
	var keys []table.Key
	keysByID := map[string][]table.Key{}
	taken := map[table.Key]bool{}
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
	records, err := s.db.Read(ctx, "resolve hits", keys...)
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
func vectorKeys(user conversation.UserID, id string) []table.Key {
	if keys := keysOfWhole(user, id); keys != nil {
		return keys
	}
	if whole, ok := vector.CutPart(id); ok {
		return keysOfWhole(user, whole)
	}
	return nil
}

func keysOfWhole(user conversation.UserID, id string) []table.Key {
	if table.IsDocumentSK(id) {
		return []table.Key{table.UserKey(user, id)}
	}
	if sk, ok := table.ParseMessageID(user, id); ok {
		return []table.Key{table.UserKey(user, sk)}
	}
	if recordType, session, ok := strings.Cut(id, "#"); ok {
		if sk, ok := table.SummarySK(conversation.RecordType(recordType), session); ok {
			return []table.Key{table.UserKey(user, sk)}
		}
		return nil
	}
	switch {
	case memories.IsID(id):
		return memories.keys(user, id)
	case checkIns.IsID(id):
		return checkIns.keys(user, id)
	}
	return nil
}

func (s *HitStore) hit(records table.RecordSet, candidates []table.Key, generation int64) (recall.Hit, bool) {
	for _, k := range candidates {
		if it, ok := records[k]; ok && it.Int64(table.AttrGeneration) == generation {
			return s.decodeHit(it)
		}
	}
	return recall.Hit{}, false
}

func (s *HitStore) decodeHit(it table.Item) (recall.Hit, bool) {
	sk := it.String(table.AttrSK)
	if m, ok := table.DecodeMessage(it); ok {
		return recall.Hit{Message: &m}, true
	}
	if sum, ok := decodeSummary(it); ok {
		return recall.Hit{Summary: &sum}, true
	}
	if _, _, ok := table.ParseRecordSK(sk, table.MemoryKind); ok {
		m := memories.decode(it)
		return recall.Hit{Memory: &m}, m.Valid(longterm.InLastZone(s.db.Now()))
	}
	if _, _, ok := table.ParseRecordSK(sk, table.CheckInKind); ok {
		c := checkIns.decode(it)
		return recall.Hit{CheckIn: &c}, true
	}
	if table.IsDocumentSK(sk) {
		d := decodeDocument(it)
		return recall.Hit{Document: &d}, true
	}
	return recall.Hit{}, false
}
