package dynamo

import (
	"context"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo/table"
	"github.com/throughline/throughline/internal/erasure"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/sweep"
)

// TombstoneStore keeps the records of deletions until they have been swept. It is safe for concurrent use.
type TombstoneStore struct{ db *DB }

// NewTombstoneStore returns the tombstones of a DB.
func NewTombstoneStore(db *DB) *TombstoneStore { return &TombstoneStore{db} }

// SaveGone stores the tombstone of a session whose record the app has deleted, from which the sweep goes on. A session
// that has one, is there again, or is of an earlier generation is left alone.
func (s *TombstoneStore) SaveGone(ctx context.Context, user conversation.UserID, session conversation.Session) error {
	const op = "delete session"
	k, now := table.KeyOfSession(user, session), s.db.Now()
	tombstone := encodeTombstone(tombstoneOf(k, session, now), now)
	records, err := s.db.ReadCurrent(ctx, op, user, k, table.KeyOf(tombstone))
	isOld := records.Generation(user) != session.Generation
	if err != nil || isOld || len(records[k]) > 0 || len(records[table.KeyOf(tombstone)]) > 0 {
		return err
	}
	t := s.db.Transaction()
	t.Put(tombstone, table.NotExists())
	t.Check(k, table.NotExists())
	t.Check(table.GenerationKey(user), table.IsGeneration(session.Generation))
	removeBeside(t, k, session)
	if session.Summary != nil {
		clearSpine(t, user, session, now)
	}
	_, err = s.db.Commit(ctx, op, t, s.db.Backoff())
	s.db.cache.removeSession(user, session.ID)
	return err
}

// encodeTombstone returns a tombstone's record. It holds where the deleted session or message was, and none of its
// content.
func encodeTombstone(t erasure.Tombstone, due time.Time) table.Item {
	k := table.UserKey(t.User, t.ID)
	it := table.Encode(t).With(k.Attributes())
	it.SetDue(k, due)
	if m := t.Message; m != nil {
		sk, _ := table.SessionSK(m.Context, m.SessionID)
		it.Set(table.AttrSessionSK, sk)
		it.Set(table.AttrSeq, m.Seq)
		it.SetTime(table.AttrTimestamp, m.Timestamp)
	}
	if s := t.Session; s != nil {
		sk, _ := table.SessionSK(s.Context, s.ID)
		it.Set(table.AttrSessionSK, sk)
		it.Set(table.AttrCreatedAt, s.CreatedAt)
		it.Set(table.AttrMessageCount, s.MessageCount)
		it.SetTime(table.AttrStartedAt, s.StartedAt)
		it.SetTime(table.AttrLastMessageAt, s.LastMessageAt)
	}
	return it
}

// tombstoneOf returns the tombstone of the session at a key.
func tombstoneOf(k table.Key, session conversation.Session, now time.Time) erasure.Tombstone {
	user, _ := table.ParsePartition(k.PK)
	return erasure.Tombstone{
		User: user, ID: table.SessionTombstoneSK(k.SK, session), Generation: session.Generation, Session: &session,
		DeletedAt: now, Version: session.Version + 1,
	}
}

func decodeTombstone(it table.Item) (t erasure.Tombstone, ok bool) {
	k := table.KeyOf(it)
	user, isUser := table.ParsePartition(k.PK)
	t = table.Decode[erasure.Tombstone](it)
	t.User, t.ID, t.Namespace = user, k.SK, k.SK == table.GenerationSK
	context, id, inSession := table.ParseSessionSK(it.String(table.AttrSessionSK))
	switch {
	case inSession && it.Int64(table.AttrSeq) > 0:
		t.Message = &conversation.Message{
			ID:      table.MessageOfTombstone(user, k.SK),
			Context: context, SessionID: id, Seq: int(it.Int64(table.AttrSeq)), Timestamp: it.Time(table.AttrTimestamp),
			Generation: t.Generation,
		}
	case inSession:
		t.Session = &conversation.Session{
			ID: id, Context: context, CreatedAt: it.Time(table.AttrCreatedAt), Generation: t.Generation,
			MessageCount: int(it.Int64(table.AttrMessageCount)), StartedAt: it.Time(table.AttrStartedAt),
			LastMessageAt: it.Time(table.AttrLastMessageAt),
		}
	}
	return t, isUser && table.IsTombstone(k)
}

// SaveTombstone stores how far a deletion has come. It does nothing when the tombstone is gone, because the user was
// erased.
func (s *TombstoneStore) SaveTombstone(ctx context.Context, t erasure.Tombstone, due time.Time) error {
	u := table.Set(table.AttrSweeps, t.Sweeps).EndClaim().EndFailures()
	for name, v := range encodeTombstone(t, due) {
		switch name {
		case table.AttrPK, table.AttrSK, table.AttrGeneration, table.AttrSweeps:
		default:
			u = u.Set(name, v)
		}
	}
	return s.update(ctx, "save tombstone", t, u)
}

// SaveVectorTombstone stores the tombstone of vectors, on condition that the user's generation is still theirs.
func (s *TombstoneStore) SaveVectorTombstone(ctx context.Context, t erasure.Tombstone, due time.Time) error {
	t.ID = table.VectorTombstoneSK(t.Vectors)
	tx := s.db.Transaction()
	tx.Replace(encodeTombstone(t, due))
	tx.Check(table.GenerationKey(t.User), table.IsGeneration(t.Generation))
	_, err := s.db.Commit(ctx, "save tombstone", tx, s.db.Backoff())
	return err
}

// DeleteTombstone deletes a tombstone that needs no further sweep. The user's generation stays and is no longer due.
// The files that the receipt has named are gone then.
func (s *TombstoneStore) DeleteTombstone(ctx context.Context, t erasure.Tombstone) error {
	const op = "delete tombstone"
	if t.Namespace {
		return s.update(ctx, op, t, table.Update{}.RemoveDue().Remove(table.AttrFiles))
	}
	return s.db.DeleteWhere(ctx, op, table.UserKey(t.User, t.ID), table.Exists())
}

// update changes a tombstone on condition that it is of the same generation: another erasure has one of its own.
func (s *TombstoneStore) update(ctx context.Context, op string, t erasure.Tombstone, u table.Update) error {
	isSame := table.Is(table.AttrGeneration, t.Generation)
	if t.Namespace {
		isSame = table.Exists().And(table.IsGeneration(t.Generation))
	}
	return s.db.UpdateWhere(ctx, op, table.UserKey(t.User, t.ID), u, isSame)
}

// Tombstone reads the tombstone of a due record.
func (s *TombstoneStore) Tombstone(ctx context.Context, d sweep.Due) (erasure.Tombstone, error) {
	k := dueKey(d)
	if !table.IsTombstone(k) {
		return erasure.Tombstone{}, fault.Missing("tombstone")
	}
	records, err := s.db.Read(ctx, "read tombstone", k)
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
func removeBeside(t *table.Transaction, k table.Key, session conversation.Session) {
	t.Remove(k.Beside(table.FreshSK(session.CreatedAt, k.SK)))
	t.Remove(k.Beside(table.ParkedPrefix + k.SK))
	t.Remove(k.Beside(table.AnswerPrefix + k.SK))
}
