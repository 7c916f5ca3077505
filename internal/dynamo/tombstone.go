package dynamo

import (
	"context"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/erasure"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/sweep"
)

// TombstoneStore keeps the records of deletions until they have been swept. It is safe for concurrent use.
type TombstoneStore struct{ db *DB }

var _ erasure.TombstoneStore = (*TombstoneStore)(nil)

// NewTombstoneStore returns the tombstones of a DB.
func NewTombstoneStore(db *DB) *TombstoneStore { return &TombstoneStore{db} }

// encodeTombstone returns a tombstone's record. It holds where the deleted session or message was, and none of its
// content.
func encodeTombstone(t erasure.Tombstone, due time.Time) item {
	k := key{partition(t.User), t.ID}
	it := k.attributes()
	it[attrGeneration] = intAttr(t.Generation)
	it[attrEmptied] = boolAttr(t.Emptied)
	it[attrSweeps] = intAttr(t.Sweeps)
	it.setStrings(attrVectors, t.Vectors)
	it[attrDueAt] = timeAttr(due)
	it[attrDueShard] = intAttr(dueShard(k))
	it.setTime(attrDeletedAt, t.DeletedAt)
	if m := t.Message; m != nil {
		sk, _ := sessionSK(m.Context, m.SessionID)
		it[attrSessionSK] = stringAttr(sk)
		it[attrSeq] = intAttr(m.Seq)
		it.setStrings(attrDeletedIDs, t.Others)
		it.setTime(attrTimestamp, m.Timestamp)
	}
	if s := t.Session; s != nil {
		sk, _ := sessionSK(s.Context, s.ID)
		it[attrSessionSK] = stringAttr(sk)
		it[attrCreatedAt] = timeAttr(s.CreatedAt)
		it[attrMessageCount] = intAttr(s.MessageCount)
		it.setTime(attrStartedAt, s.StartedAt)
		it.setTime(attrLastMessageAt, s.LastMessageAt)
	}
	return it
}

func decodeTombstone(it item) (t erasure.Tombstone, ok bool) {
	k := keyOf(it)
	user, isUser := parsePartition(k.pk)
	t = erasure.Tombstone{
		User: user, ID: k.sk, Generation: it.int64(attrGeneration), Emptied: it.bool(attrEmptied),
		Sweeps: int(it.int64(attrSweeps)), Vectors: it.strings(attrVectors), Others: it.strings(attrDeletedIDs),
		Namespace: k.sk == generationSK,
		Erasing:   it.bool(attrErasing), DeletedAt: it.time(attrDeletedAt), RetiredIndex: it.string(attrRetiredIndex),
	}
	context, id, inSession := parseSessionSK(it.string(attrSessionSK))
	switch {
	case inSession && it.int64(attrSeq) > 0:
		t.Message = &conversation.Message{
			ID:      messageOfTombstone(user, k.sk),
			Context: context, SessionID: id, Seq: int(it.int64(attrSeq)), Timestamp: it.time(attrTimestamp),
			Generation: t.Generation,
		}
	case inSession:
		t.Session = &conversation.Session{
			ID: id, Context: context, CreatedAt: it.time(attrCreatedAt), Generation: t.Generation,
			MessageCount: int(it.int64(attrMessageCount)), StartedAt: it.time(attrStartedAt),
			LastMessageAt: it.time(attrLastMessageAt),
		}
	}
	return t, isUser && isTombstone(k)
}

// isTombstone reports whether a key is of a tombstone. The generation of an erased user is one, too.
func isTombstone(k key) bool { return k.sk == generationSK || strings.HasPrefix(k.sk, tombstonePrefix) }

// SaveTombstone stores how far a deletion has come. It does nothing when the tombstone is gone, because the user was
// erased.
func (s *TombstoneStore) SaveTombstone(ctx context.Context, t erasure.Tombstone, due time.Time) error {
	u := endFailures(endClaim(expression.Set(field(attrSweeps), value(intAttr(t.Sweeps)))))
	for name, v := range encodeTombstone(t, due) {
		switch name {
		case attrPK, attrSK, attrGeneration, attrSweeps:
		default:
			u = u.Set(field(name), value(v))
		}
	}
	return s.update(ctx, "save tombstone", t, u)
}

// SaveVectorTombstone stores the tombstone of vectors, on condition that the user's generation is still theirs.
func (s *TombstoneStore) SaveVectorTombstone(ctx context.Context, t erasure.Tombstone, due time.Time) error {
	t.ID = vectorTombstoneSK(t.Vectors)
	tx := s.db.transaction()
	tx.replace(encodeTombstone(t, due))
	tx.check(generationKey(t.User), isGeneration(t.Generation))
	_, err := s.db.commit(ctx, "save tombstone", tx, s.db.backoff())
	return err
}

// DeleteTombstone deletes a tombstone that needs no further sweep. The user's generation stays and is no longer due. It
// names no retired index any more.
func (s *TombstoneStore) DeleteTombstone(ctx context.Context, t erasure.Tombstone) error {
	const op = "delete tombstone"
	if t.Namespace {
		return s.update(ctx, op, t, removeDue(expression.Remove(field(attrRetiredIndex))))
	}
	err := s.db.deleteItem(ctx, key{partition(t.User), t.ID}, exists())
	return failed(op, ignoreConditionFailed(err))
}

// update changes a tombstone on condition that it is of the same generation: another erasure has one of its own. The
// one of a user must be of the same move, too.
func (s *TombstoneStore) update(ctx context.Context, op string, t erasure.Tombstone, u expression.UpdateBuilder) error {
	isSame := field(attrGeneration).Equal(value(intAttr(t.Generation)))
	if t.Namespace {
		isSame = exists().And(isGeneration(t.Generation), isIndex(attrRetiredIndex, t.RetiredIndex))
	}
	_, err := s.db.updateItem(ctx, key{partition(t.User), t.ID}, u, isSame)
	return failed(op, ignoreConditionFailed(err))
}

// Tombstone reads the tombstone of a due record.
func (s *TombstoneStore) Tombstone(ctx context.Context, d sweep.Due) (erasure.Tombstone, error) {
	k := dueKey(d)
	if !isTombstone(k) {
		return erasure.Tombstone{}, fault.Missing("tombstone")
	}
	records, err := s.db.read(ctx, "read tombstone", k)
	if err != nil {
		return erasure.Tombstone{}, err
	}
	t, ok := decodeTombstone(records[k])
	if !ok {
		return erasure.Tombstone{}, fault.Missing("tombstone")
	}
	return t, nil
}

// removeBeside deletes what a session has under keys of its own: the mark that it is new, the app's array that is
// parked, the mark of an answer that is being generated.
func removeBeside(t *transaction, user conversation.UserID, session conversation.Session, sk string) {
	for _, its := range []string{freshSK(session.CreatedAt, sk), parkedPrefix + sk, answerPrefix + sk} {
		t.remove(key{partition(user), its})
	}
}
