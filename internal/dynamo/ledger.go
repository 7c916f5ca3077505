package dynamo

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
)

// The states of an idempotency record. Only a chat turn is ever running.
const (
	stateDone    = "done"
	stateRunning = "running"
)

// ledger makes the idempotency record of a call: what it wrote, by keys and counters, never contents.
func (s *Store) ledger(user conversation.UserID, idem conversation.Idempotency, generation int64) item {
	now := s.now()
	it := key{partition(user), idempotencySK(idem)}.attributes()
	it[attrBodyHash] = text(idem.BodyHash)
	it[attrState] = text(stateDone)
	it[attrGeneration] = whole(generation)
	it[attrCreatedAt] = moment(now)
	it[TTLAttribute] = whole(now.Add(idempotencyLife).Unix())
	return it
}

// ledgerFree is the condition that no call has used the key: the record is absent, has expired, or is left over from
// before the user was erased.
func (s *Store) ledgerFree(generation int64) expression.ConditionBuilder {
	return expression.AttributeNotExists(field(attrPK)).
		Or(field(TTLAttribute).LessThanEqual(value(whole(s.now().Unix()))),
			field(attrGeneration).LessThan(value(whole(generation))))
}

// recordAppend adds to a ledger record what an append wrote and how the session stood after it.
func recordAppend(it item, sessionKey key, a conversation.Appended) {
	keys := make([]string, len(a.Messages))
	for i, m := range a.Messages {
		keys[i] = messageSK(m.Timestamp, m.ID[len(m.ID)-shortMillis-shortRandom:])
	}
	it[attrSessionSK] = text(sessionKey.sk)
	it[attrBorn] = whole(a.Session.CreatedAt.UnixMilli())
	it[attrCoachID] = text(a.Session.CoachID)
	it.setTexts(attrKeys, keys)
	it[attrMode], it[attrStatus] = text(a.Session.Mode), text(string(a.Session.Status))
	it[attrMessageCount] = whole(a.Session.MessageCount)
	it[attrLastSeq] = whole(a.Session.LastSeq)
	it[attrVersion] = whole(a.Session.Version)
	it.setTime(attrStartedAt, a.Session.StartedAt)
	it.setTime(attrLastMessageAt, a.Session.LastMessageAt)
}

// sameBody returns an IdempotencyMismatch error unless the record is of the same request.
func sameBody(it item, idem conversation.Idempotency) error {
	if it.text(attrBodyHash) != idem.BodyHash {
		return fault.New(fault.IdempotencyMismatch, "this idempotency key was used with another request body")
	}
	return nil
}

// replay answers a repeated append as the first call was answered, from the repeat's own messages and the keys that
// the ledger record has: what was deleted since is in the answer and stays deleted.
func (s *Store) replay(ctx context.Context, user conversation.UserID, in conversation.Append, it item) (conversation.Appended, error) {
	session, err := s.appendedTo(ctx, user, it)
	if err != nil {
		return conversation.Appended{}, err
	}
	out := conversation.Appended{Session: session, Replayed: true}
	keys := it.texts(attrKeys)
	for i, m := range in.Messages[:min(len(in.Messages), len(keys))] {
		at, short, _ := parseMessageSK(keys[i])
		again := session.Message(m, session.LastSeq-len(keys)+i+1, at)
		again.ID = messageID(user, at, short)
		out.Messages = append(out.Messages, again)
	}
	return out, nil
}

// accounted looks for the ledger record of an append to a session that is gone: a repeat is answered all the same. It
// returns a NotFound error where there is none.
func (s *Store) accounted(ctx context.Context, user conversation.UserID, idem conversation.Idempotency) (item, error) {
	k := key{partition(user), idempotencySK(idem)}
	f, err := s.readOf(ctx, "read idempotency record", user, k)
	if err != nil {
		return nil, err
	}
	it, ok := f.of(user, k)
	if !ok {
		return nil, fault.Missing("session")
	}
	return it, nil
}

// appendedTo is the session as it was after the append of a ledger record. Of one that is gone since, or made anew
// under the same id, title and attributes are gone too.
func (s *Store) appendedTo(ctx context.Context, user conversation.UserID, it item) (conversation.Session, error) {
	session, err := s.pick(ctx, user, []key{{partition(user), it.text(attrSessionSK)}})
	if err == nil && session.CreatedAt.UnixMilli() == it.whole(attrBorn) {
		session, err = s.describedAt(ctx, user, session, it.whole(attrVersion))
		return sessionAfter(session, it), err
	}
	if err != nil && !fault.Is(err, fault.NotFound) {
		return conversation.Session{}, err
	}
	gone := conversation.Session{CoachID: it.text(attrCoachID)}
	gone.Context, gone.ID, _ = parseSessionSK(it.text(attrSessionSK))
	return sessionAfter(gone, it), nil
}

// sessionAfter puts what a ledger record has of a session in place of what it has become since.
func sessionAfter(s conversation.Session, it item) conversation.Session {
	s.Mode, s.Status = it.text(attrMode), conversation.Status(it.text(attrStatus))
	s.MessageCount, s.LastSeq = int(it.whole(attrMessageCount)), int(it.whole(attrLastSeq))
	s.StartedAt, s.LastMessageAt = it.time(attrStartedAt), it.time(attrLastMessageAt)
	s.Version = it.whole(attrVersion)
	s.Summary = nil
	return s
}

// leaseLeft is how long a running turn's lease still holds.
func leaseLeft(it item, now time.Time) time.Duration { return it.time(attrLeaseUntil).Sub(now) }
