package dynamo

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/erasure"
	"github.com/throughline/throughline/internal/fault"
)

// errNotShared refuses what the messages of an app's own record do not allow.
func errNotShared() error {
	return fault.New(fault.Conflict, "the messages of this session are in the app's own record: migrate them first, or "+
		"delete them one by one")
}

// ClearSession begins the session anew, in one transaction: with another time of creation, so that all of its messages,
// summaries and memories are those of a deleted session of the same id. The tombstone says where they are.
func (s *DeletionStore) ClearSession(ctx context.Context, user conversation.UserID, id string, due time.Time,
) (erasure.Tombstone, error) {
	const op = "clear session"
	ctx, cancel := context.WithTimeout(ctx, operationTimeout)
	defer cancel()
	var tombstone erasure.Tombstone
	var empty conversation.Session
	for b := s.db.backoff(); ; {
		session, err := s.sessions.Session(ctx, user, id)
		switch {
		case err != nil:
			return erasure.Tombstone{}, err
		case b.ambiguous && session.IsSame(empty): // an earlier attempt emptied it, and its answer was lost
			return tombstone, nil
		case session.Placement != conversation.Shared:
			return erasure.Tombstone{}, errNotShared()
		}
		sk, _ := sessionSK(session.Context, session.ID)
		empty = session.Emptied(s.db.now())
		tombstone = erasure.Tombstone{
			User: user, ID: sessionTombstoneSK(sk, session), Generation: session.Generation, Session: &session,
			DeletedAt: s.db.now(),
		}
		t := s.db.transaction()
		t.update(key{partition(user), sk}, clearing(user, empty), isUnchanged(session))
		t.replace(encodeTombstone(tombstone, due))
		t.remove(markKey(user, sk)) // of an answer to one of the messages
		if session.Summary != nil {
			clearSpine(t, user, session, s.db.now())
		}
		failures, err := s.db.commit(ctx, op, t, b)
		if err != nil || failures == nil {
			s.db.cache.removeSession(user, id)
			return tombstone, err
		}
		if err := b.afterConflict(ctx); err != nil {
			return erasure.Tombstone{}, failed(op, err)
		}
	}
}

// clearing is the update of a session's record to that of a session without messages. What the app has in the record
// stays.
func clearing(user conversation.UserID, s conversation.Session) expression.UpdateBuilder {
	own := func(name string) string { return name }
	u := removeSessionSummary(removeDue(setCounters(user, s)), own).
		Set(field(attrSessionCreatedAt), value(intAttr(s.CreatedAt.UnixMilli())))
	for _, name := range []string{attrSummarizedSeq, attrIndexedSeq, attrExtractedSeq} {
		u = u.Set(field(name), value(intAttr(0)))
	}
	for _, name := range []string{
		attrSummarizedAt, attrIndexedAt, attrExtractedAt, attrReading, attrDeletedSeqs, attrLeftAt, attrIndexingUntil,
		attrEmbeddedSeq, attrOutgrown,
	} {
		u = u.Remove(field(name))
	}
	return u
}
