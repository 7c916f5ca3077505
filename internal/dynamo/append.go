package dynamo

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
)

// Append stores the messages, the session's counters and the idempotency record in one transaction. Its answer's
// session carries no summary: that is not part of what an append decides, and a repeat has to answer the same.
func (s *Store) Append(ctx context.Context, user conversation.UserID, in conversation.Append) (conversation.Appended, error) {
	now := s.now()
	in, err := in.Prepare(now)
	if err != nil {
		return conversation.Appended{}, err
	}
	ext := extension{user: user, sessionID: in.SessionID, messages: in.Messages, now: now}
	if in.Idempotency.Set() {
		ext.account = s.account(user, in.Idempotency)
	}
	out, met, err := s.extend(ctx, ext)
	if fault.Is(err, fault.NotFound) && in.Idempotency.Set() {
		met, err = s.accounted(ctx, user, in.Idempotency)
	}
	if err != nil || met == nil {
		return out, err
	}
	if err := sameBody(met, in.Idempotency); err != nil {
		return conversation.Appended{}, err
	}
	return s.replay(ctx, user, in, met)
}

// account returns what adds an append's idempotency record to its transaction.
func (s *Store) account(user conversation.UserID, idem conversation.Idempotency) accounting {
	return func(t *transaction, k key, a conversation.Appended) int {
		it := s.ledger(user, idem, a.Session.Generation)
		recordAppend(it, k, a)
		return t.put(it, s.ledgerFree(a.Session.Generation))
	}
}

// accounting adds the write of an idempotency record and returns its place.
type accounting func(*transaction, key, conversation.Appended) int

// extension is one append as the store works on it.
type extension struct {
	user      conversation.UserID
	sessionID string
	messages  []conversation.NewMessage
	now       time.Time
	account   accounting // nil without an idempotency key
}

// extend appends until it is done, refused, or out of time. A session that moved on is taken from what the failed
// condition returned. met is the idempotency record that stood in the way, when one did.
func (s *Store) extend(ctx context.Context, e extension) (out conversation.Appended, met item, err error) {
	const op = "append messages"
	ctx, cancel := context.WithTimeout(ctx, operationTimeout)
	defer cancel()
	leave, err := s.turns.enter(ctx, memoKey{e.user, e.sessionID})
	if err != nil {
		return out, nil, failed(op, err)
	}
	defer leave()
	session, warm := s.known.session(e.user, e.sessionID)
	if !warm {
		if session, err = s.Session(ctx, e.user, e.sessionID); err != nil {
			return out, nil, err
		}
	}
	for p, l := s.patience(), new(line); ; {
		attempt, err := s.attempt(e, session, l)
		if err != nil {
			return out, nil, failed(op, err)
		}
		refused, err := s.commit(ctx, op, attempt.tx, p)
		if err != nil {
			s.known.forget(e.user, e.sessionID)
			return out, nil, err
		}
		done, met, err := s.settled(ctx, e, attempt, refused)
		if done || met != nil || err != nil {
			return attempt.result, met, err
		}
		if session, err = s.repaired(ctx, e, attempt, refused, l, p); err != nil {
			return out, nil, failed(op, err)
		}
	}
}

// attempt is one transaction of an append, made for the session as it was thought to stand.
type attempt struct {
	tx      *transaction
	result  conversation.Appended
	session int // places in the transaction
	first   int
	account int
}

func (s *Store) attempt(e extension, session conversation.Session, l *line) (attempt, error) {
	messages, after := session.Extend(e.messages, e.now)
	after.Summary = nil
	a := attempt{tx: s.transaction(), result: conversation.Appended{Messages: messages, Session: after}, account: -1}
	k, err := s.addSessionUpdate(&a, e, session, after, l)
	if err != nil {
		return a, err
	}
	for i := range messages {
		at := messages[i].Timestamp
		messages[i].ID = messageID(e.user, at, newShortID(at, randomDigits(s.random)))
		it, err := encodeMessage(e.user, session, messages[i])
		if err != nil {
			return a, err
		}
		place := a.tx.put(it, expression.AttributeNotExists(field(attrPK)))
		if i == 0 {
			a.first = place
		}
	}
	if e.account != nil {
		a.account = e.account(a.tx, k, a.result)
	}
	return a, nil
}

func (s *Store) addSessionUpdate(a *attempt, e extension, before, after conversation.Session, l *line) (key, error) {
	sk, ok := sessionSK(before.Context, before.ID)
	if !ok || before.Placement != conversation.Shared {
		return key{}, errBadKey
	}
	k := key{partition(e.user), sk}
	u, standing := l.take(s.due(counters(after), k), standsAs(before))
	a.session = a.tx.update(k, u, standing)
	return k, nil
}

// due makes a session that is not in the due index fall due one idle time from now.
func (s *Store) due(u expression.UpdateBuilder, k key) expression.UpdateBuilder {
	at := conversation.Milliseconds(s.now().Add(s.idle))
	return u.
		Set(field(attrDueAt), field(attrDueAt).IfNotExists(value(moment(at)))).
		Set(field(attrDueShard), field(attrDueShard).IfNotExists(value(whole(dueShard(k)))))
}

// settled reports whether the attempt was carried out, by itself or by an earlier try whose answer was lost; met is
// the idempotency record that refused it.
func (s *Store) settled(ctx context.Context, e extension, a attempt, refused *refusal) (done bool, met item, err error) {
	done, err = s.carriedOut(ctx, e, a, refused)
	if done || err != nil {
		s.known.keep(e.user, a.result.Session)
		return done, nil, err
	}
	met, _ = refused.met(a.account)
	return false, met, nil
}

// carriedOut looks for the attempt's own writes behind a refusal. Only this call knows the random part of its message
// ids: a record under one of them is its own.
func (s *Store) carriedOut(ctx context.Context, e extension, a attempt, refused *refusal) (bool, error) {
	if refused == nil {
		return true, nil
	}
	own := a.result.Messages[0].ID
	if it, _ := refused.met(a.first); it.text(attrMessageID) == own {
		return true, nil
	}
	if !refused.unsure {
		return false, nil
	}
	sk, _ := parseMessageID(e.user, own)
	f, err := s.read(ctx, "append messages", key{partition(e.user), sk})
	return len(f) > 0, err
}

// repaired returns the session to try again with, when the line has come to this writer.
func (s *Store) repaired(ctx context.Context, e extension, a attempt, refused *refusal, l *line, p *patience) (conversation.Session, error) {
	it, lost := refused.met(a.session)
	if !lost { // a message's key was taken; the next attempt draws other ids
		return s.Session(ctx, e.user, e.sessionID)
	}
	if session, ok := decodeSession(it); ok {
		var err error
		if it, err = s.queue(ctx, it, session, l, p); err != nil {
			return session, err
		}
	}
	if session, ok := decodeSession(it); ok {
		return session, nil
	}
	s.known.forget(e.user, e.sessionID)
	if it != nil {
		return conversation.Session{}, fault.Missing("session")
	}
	return s.Session(ctx, e.user, e.sessionID) // it may have been made anew in another context
}
