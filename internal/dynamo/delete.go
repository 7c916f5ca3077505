package dynamo

import (
	"context"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo/table"
	"github.com/throughline/throughline/internal/erasure"
	"github.com/throughline/throughline/internal/fault"
)

// DeletionStore deletes messages and sessions. It is safe for concurrent use.
type DeletionStore struct {
	db       *DB
	sessions *SessionReader
	messages *MessageStore
}

// NewDeletionStore returns what deletes messages and sessions of a DB.
func NewDeletionStore(db *DB) *DeletionStore {
	return &DeletionStore{db, NewSessionReader(db), NewMessageStore(db)}
}

// Message reads a message of a session, consistently.
func (s *DeletionStore) Message(ctx context.Context, user conversation.UserID, sessionID, messageID string,
) (conversation.Message, error) {
	sk, ok := table.ParseMessageID(user, messageID)
	if !ok {
		return conversation.Message{}, fault.Missing("message")
	}
	k := table.UserKey(user, sk)
	records, err := s.db.ReadCurrent(ctx, "read message", user, k)
	if err != nil {
		return conversation.Message{}, err
	}
	it, _ := records.Current(user, k)
	m, ok := table.DecodeMessage(it)
	if !ok {
		return s.adoptedMessage(ctx, user, sessionID, sk)
	}
	if m.SessionID != sessionID {
		return conversation.Message{}, fault.Missing("message")
	}
	return m, nil
}

// DeleteMessage deletes a message and corrects its session in one transaction, on condition that the session is as it
// was read. It tries again when another writer came first.
func (s *DeletionStore) DeleteMessage(ctx context.Context, user conversation.UserID, m conversation.Message,
	vectors []string, due time.Time,
) (tombstone erasure.Tombstone, err error) {
	const op = "delete message"
	sk, ok := table.ParseMessageID(user, m.ID)
	if !ok {
		return erasure.Tombstone{}, fault.Missing("message")
	}
	begun := erasure.Tombstone{
		User: user, ID: table.MessageTombstoneSK(sk), Generation: m.Generation, Message: &m, DeletedAt: s.db.Now(),
		Vectors: vectors,
	}
	err = s.db.Retry(ctx, op, func(ctx context.Context, b *table.Backoff) (bool, error) {
		d, err := s.newMessageDeletion(ctx, table.UserKey(user, sk), begun, due)
		if err != nil {
			return false, err
		}
		tombstone = d.tombstone
		failures, err := s.db.Commit(ctx, op, d.tx, b)
		if err != nil {
			return false, err
		}
		if failures == nil {
			s.db.cache.saveSession(user, d.after)
			return true, nil
		}
		if _, failed := failures[d.messagePlace]; failed {
			return false, fault.Missing("message")
		}
		return false, nil
	})
	return tombstone, err
}

// messageDeletion is the transaction that deletes a message, with the place of the deletion itself.
type messageDeletion struct {
	tx           *table.Transaction
	messagePlace int
	after        conversation.Session
	tombstone    erasure.Tombstone
}

func (s *DeletionStore) newMessageDeletion(ctx context.Context, k table.Key, tombstone erasure.Tombstone, due time.Time,
) (messageDeletion, error) {
	user, m := tombstone.User, *tombstone.Message
	sk, _ := table.SessionSK(m.Context, m.SessionID)
	sessionKey := table.UserKey(user, sk)
	before, record, err := s.sessions.record(ctx, user, sessionKey)
	if err != nil {
		return messageDeletion{}, err
	}
	first, last, err := s.endsWithout(ctx, user, before, m)
	if err != nil {
		return messageDeletion{}, err
	}
	d := messageDeletion{tx: s.db.Transaction(), after: before.Without(m, first, last), tombstone: tombstone}
	layout, dropsSummary := table.LayoutOf(before), before.Summary != nil && d.after.Summary == nil
	u := layout.SetOwn(table.Update{}, before, d.after, table.AttrVersion, table.AttrDeletedSeqs)
	if before.IsMigrated() {
		u = table.SetCounters(user, d.after).Set(table.AttrDeletedSeqs, d.after.Deleted.String())
		u = dueAfter(s.db, u, user, before, d.after, dropsSummary)
	}
	if path := layout.Path; before.Version > 0 { // an app's own record has none of these
		u = u.SetWatermark(path(table.AttrSummarizedSeq), path(table.AttrSummarizedAt), d.after.Summarized)
		if dropsSummary {
			u = dropSummary(d.tx, &d.tombstone, before, u, s.db.Now())
		}
	}
	isAsRead := table.IsUnchanged(before).And(hasSameSummary(before))
	if before.Adopted == nil {
		// A message of an earlier session of the same id has a seq of that session.
		d.messagePlace = d.tx.Delete(k, table.IsOf(before))
	} else {
		d.messagePlace = d.tx.Remove(k)
		var isSame table.Condition
		if u, isSame, d.after, err = s.db.adoption.Remove(u, record, before, d.after, m); err != nil {
			return d, err
		}
		isAsRead = isAsRead.And(isSame)
	}
	d.tx.Update(sessionKey, u, isAsRead)
	d.tx.Replace(encodeTombstone(d.tombstone, due))
	d.tx.DoneIf(func(r table.RecordSet) bool { return len(r) > 0 }, table.UserKey(user, d.tombstone.ID))
	return d, nil
}

// dropSummary deletes the summary of a session, which covers what is being deleted, with the session's copy of it and
// what the spine of its coach may be drawn from. The tombstone gets its vector, and u is the update of the session.
func dropSummary(tx *table.Transaction, t *erasure.Tombstone, session conversation.Session, u table.Update,
	now time.Time,
) table.Update {
	if k, id, ok := summaryOf(t.User, session); ok {
		tx.Remove(k)
		t.Vectors = append(t.Vectors, id)
	}
	clearSpine(tx, t.User, session, now)
	return removeSessionSummary(u, table.LayoutOf(session).Path)
}

// summaryOf returns the key of a session's summary and its vector id. ok is false where the context is not registered.
func summaryOf(user conversation.UserID, session conversation.Session) (k table.Key, vector string, ok bool) {
	appContext, err := conversation.AppContextOf(session.Context)
	if err != nil {
		return table.Key{}, "", false
	}
	sk, ok := table.SummarySK(appContext.Summary.Type, session.ID)
	return table.UserKey(user, sk), strings.TrimPrefix(sk, table.SummaryPrefix), ok
}

// hasSameSummary is the condition that nobody has saved a summary since the session was read, because a new summary
// may cover the message.
func hasSameSummary(s conversation.Session) table.Condition {
	covered := table.Field(table.LayoutOf(s).Path(table.AttrSummaryCoveredSeq))
	if s.Summary == nil {
		return expression.AttributeNotExists(covered)
	}
	return covered.Equal(table.Value(s.Summary.CoveredThrough))
}

// endsWithout returns the first and the last message that a session has without one, nil where none is left.
func (s *DeletionStore) endsWithout(ctx context.Context, user conversation.UserID, session conversation.Session,
	without conversation.Message,
) (first, last *conversation.Message, err error) {
	session.Deleted = session.Deleted.Add(without.Seq)
	for _, end := range []struct {
		descending bool
		to         **conversation.Message
	}{{false, &first}, {true, &last}} {
		r := messageRange{session: session, limit: 1, descending: end.descending}
		messages, _, _, err := s.messages.readRange(ctx, user, r)
		if err != nil {
			return nil, nil, err
		}
		if len(messages) > 0 {
			*end.to = &messages[0]
		}
	}
	return first, last, nil
}

// DeleteSession deletes a session's record and stores a tombstone that says where its messages are. After that no
// append finds the session. It tries again when another writer came first.
func (s *DeletionStore) DeleteSession(ctx context.Context, user conversation.UserID, id string, due time.Time,
) (tombstone erasure.Tombstone, err error) {
	const op = "delete session"
	err = s.db.Retry(ctx, op, func(ctx context.Context, b *table.Backoff) (bool, error) {
		session, err := s.sessions.Session(ctx, user, id)
		if fault.Is(err, fault.NotFound) {
			tombstone, err = s.UnfinishedDeletion(ctx, user, id)
			return true, err
		}
		if err == nil && session.Adopted != nil {
			session, err = s.db.adoption.Spanning(ctx, user, session)
		}
		if err != nil {
			return false, err
		}
		k := table.KeyOfSession(user, session)
		tombstone = tombstoneOf(k, session, s.db.Now())
		t := s.db.Transaction()
		t.Delete(k, table.IsUnchanged(session))
		t.Replace(encodeTombstone(tombstone, due))
		t.DoneIf(func(r table.RecordSet) bool { return len(r) == 0 }, k)
		removeBeside(t, k, session)
		if session.Summary != nil {
			clearSpine(t, user, session, s.db.Now())
		}
		failures, err := s.db.Commit(ctx, op, t, b)
		if err != nil || failures == nil {
			s.db.cache.removeSession(user, id)
		}
		return failures == nil, err
	})
	return tombstone, err
}

// UnfinishedDeletion returns the tombstone of a session of that id whose messages are not all deleted.
func (s *DeletionStore) UnfinishedDeletion(ctx context.Context, user conversation.UserID, id string,
) (erasure.Tombstone, error) {
	if !conversation.ValidID(id) {
		return erasure.Tombstone{}, fault.Missing("session")
	}
	for _, k := range table.SessionKeys(user, id) {
		q := table.Query{Where: table.WithPrefix(user, table.SessionTombstonePrefix(k.SK))}
		for it, err := range s.db.Query(ctx, "read tombstone", q) {
			if err != nil {
				return erasure.Tombstone{}, err
			}
			if t, ok := decodeTombstone(it); ok && t.Session != nil && !t.Emptied {
				return t, nil
			}
		}
	}
	return erasure.Tombstone{}, fault.Missing("session")
}

// RemainingMessages returns one page of the messages that are left of a deleted session, from the table.
func (s *DeletionStore) RemainingMessages(ctx context.Context, t erasure.Tombstone, page conversation.Page,
) ([]conversation.Message, conversation.Position, error) {
	if t.Session.MessageCount == 0 {
		return nil, "", nil
	}
	sk, _ := table.SessionSK(t.Session.Context, t.Session.ID)
	source := table.SourceID(t.User, sk)
	low, high := table.MessageBounds(t.Session.StartedAt, t.Session.LastMessageAt.Add(time.Millisecond))
	after, err := table.StartAfter(t.User, page.After, low, high, table.IsMessageSK)
	if err != nil {
		return nil, "", err
	}
	q := table.Query{Where: table.Between(t.User, low, high), Page: page.Limit + 1, After: after}
	p := table.Pager[conversation.Message]{Limit: page.Limit}
	return p.Collect(s.db.Query(ctx, "read messages", q), func(it table.Item) (conversation.Message, bool) {
		if it.String(table.AttrSourceID) != source || !table.IsMessageOf(it, *t.Session) {
			return conversation.Message{}, false
		}
		return table.DecodeMessage(it)
	})
}

// DeleteMessages deletes the records of messages. It needs no condition, because their keys are never used again.
func (s *DeletionStore) DeleteMessages(ctx context.Context, user conversation.UserID, messages []conversation.Message,
) error {
	const op = "delete messages"
	keys := make([]table.Key, 0, len(messages))
	for _, m := range messages {
		sk, ok := table.ParseMessageID(user, m.ID)
		if !ok {
			return table.Failed(op, table.ErrInvalidKey)
		}
		keys = append(keys, table.UserKey(user, sk))
	}
	return table.Failed(op, s.db.DeleteAll(ctx, keys))
}
