package dynamo

import (
	"context"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo/table"
	"github.com/throughline/throughline/internal/erasure"
	"github.com/throughline/throughline/internal/fault"
)

// errNotShared refuses what the messages of an app's own record do not allow.
func errNotShared() error {
	return fault.New(fault.Conflict, "the messages of this session are in the app's own record: migrate them first, or "+
		"delete them one by one")
}

// sharedSession returns a session of the shared store. One in an app's own record is moved there first where the stage
// of its user says so, as an append moves it. It returns a Conflict error for one that stays.
func (r *SessionReader) sharedSession(ctx context.Context, user conversation.UserID, id string,
) (conversation.Session, error) {
	s, err := r.Session(ctx, user, id)
	if err != nil || s.Adopted == nil {
		return s, err
	}
	write, err := r.db.adoption.Route(ctx, user, s)
	if err != nil {
		return s, err
	}
	if s = write.Before(); s.Adopted != nil {
		return s, errNotShared()
	}
	return s, nil
}

// ClearSession begins the session anew, in one transaction: with another time of creation, so that all of its messages,
// summaries and memories are those of a deleted session of the same id. The tombstone says where they are.
func (s *DeletionStore) ClearSession(ctx context.Context, user conversation.UserID, id string, due time.Time,
) (tombstone erasure.Tombstone, err error) {
	const op = "clear session"
	err = s.db.Retry(ctx, op, func(ctx context.Context, b *table.Backoff) (bool, error) {
		session, err := s.sessions.sharedSession(ctx, user, id)
		if err != nil {
			return false, err
		}
		k := table.KeyOfSession(user, session)
		empty := session.Emptied(s.db.Now())
		tombstone = tombstoneOf(k, session, s.db.Now())
		t := s.db.Transaction()
		t.Update(k, clearing(user, empty), table.IsUnchanged(session))
		t.Replace(encodeTombstone(tombstone, due))
		t.Remove(markKey(user, k.SK)) // of an answer to one of the messages
		if session.Summary != nil {
			clearSpine(t, user, session, s.db.Now())
		}
		t.DoneIf(func(r table.RecordSet) bool {
			now, ok := s.db.DecodeSession(r[k])
			return ok && now.IsSame(empty)
		}, k)
		failures, err := s.db.Commit(ctx, op, t, b)
		if err != nil || failures == nil {
			s.db.cache.removeSession(user, id)
		}
		return failures == nil, err
	})
	return tombstone, err
}

// clearing is the update of a session's record to that of a session without messages. What the app has in the record
// stays.
func clearing(user conversation.UserID, s conversation.Session) table.Update {
	own := func(name string) string { return name }
	var none conversation.Watermark
	return removeSessionSummary(table.SetCounters(user, s).RemoveDue(), own).
		Set(table.AttrSessionCreatedAt, s.CreatedAt.UnixMilli()).
		SetWatermark(table.AttrSummarizedSeq, table.AttrSummarizedAt, none).
		SetWatermark(table.AttrIndexedSeq, table.AttrIndexedAt, none).
		SetWatermark(table.AttrExtractedSeq, table.AttrExtractedAt, none).
		Remove(table.AttrReading, table.AttrDeletedSeqs, table.AttrForgottenSeqs, table.AttrLeftAt, table.AttrIndexingUntil,
			table.AttrOutgrown)
}
