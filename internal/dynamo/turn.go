package dynamo

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
)

var _ conversation.TurnStore = (*Store)(nil)

// longestHint bounds how long a repeat is told to wait for a turn that runs: turns end before their leases.
const longestHint = 2 * time.Second

// BeginTurn stores the user's message and takes the lease in one transaction.
func (s *Store) BeginTurn(ctx context.Context, user conversation.UserID, in conversation.Append, lease time.Duration) (conversation.Turn, error) {
	now := s.now()
	in, err := in.Prepare(now)
	if err != nil {
		return conversation.Turn{}, err
	}
	if len(in.Messages) != 1 {
		return conversation.Turn{}, fault.InvalidField("messages", "must hold one message")
	}
	turn := conversation.Turn{Idempotency: in.Idempotency}
	ext := extension{user: user, sessionID: in.SessionID, messages: in.Messages, now: now}
	if in.Idempotency.Set() {
		turn.Lease = randomDigits(s.random)
		ext.account = s.leaseAccount(user, in.Idempotency, turn.Lease, lease)
	}
	out, met, err := s.extend(ctx, ext)
	if err != nil {
		return conversation.Turn{}, err
	}
	if met != nil {
		return s.resume(ctx, user, turn, met, lease)
	}
	turn.Message, turn.Session = out.Messages[0], out.Session
	return turn, nil
}

func (s *Store) leaseAccount(user conversation.UserID, idem conversation.Idempotency, token string, lease time.Duration) accounting {
	return func(t *transaction, k key, a conversation.Appended) int {
		it := s.ledger(user, idem, a.Session.Generation)
		recordAppend(it, k, a)
		it[attrState] = text(stateRunning)
		it[attrLease] = text(token)
		it[attrLeaseUntil] = moment(s.now().Add(lease))
		return t.put(it, s.ledgerFree(a.Session.Generation))
	}
}

// resume answers a repeat: with what the first request stored, its answer, or a conflict while it runs.
func (s *Store) resume(ctx context.Context, user conversation.UserID, turn conversation.Turn, met item, lease time.Duration) (conversation.Turn, error) {
	if err := sameBody(met, turn.Idempotency); err != nil {
		return conversation.Turn{}, err
	}
	if met.text(attrState) == stateRunning && met.text(attrLease) != turn.Lease {
		if left := leaseLeft(met, s.now()); left > 0 {
			return conversation.Turn{}, running(left)
		}
		return s.takeOver(ctx, user, turn, met, lease)
	}
	return s.stored(ctx, user, turn, met)
}

func running(left time.Duration) error {
	f := fault.New(fault.Conflict, "the first request with this idempotency key still runs")
	f.RetryAfter = min(left, longestHint)
	return f
}

// takeOver gives this request the lease of one that did not renew it.
func (s *Store) takeOver(ctx context.Context, user conversation.UserID, turn conversation.Turn, met item, lease time.Duration) (conversation.Turn, error) {
	held := field(attrState).Equal(value(text(stateRunning))).
		And(field(attrLease).Equal(value(text(met.text(attrLease)))),
			field(attrLeaseUntil).Equal(value(text(met.text(attrLeaseUntil)))))
	now, err := s.updateItem(ctx, keyIn(met), s.leased(turn.Lease, lease), held)
	if it, lost := conditionFailed(err); lost {
		if it == nil {
			return conversation.Turn{}, running(longestHint)
		}
		return s.resume(ctx, user, turn, it, lease)
	}
	if err != nil {
		return conversation.Turn{}, failed("take over turn", err)
	}
	return s.stored(ctx, user, turn, now)
}

func (s *Store) leased(token string, lease time.Duration) expression.UpdateBuilder {
	return expression.Set(field(attrLease), value(text(token))).
		Set(field(attrLeaseUntil), value(moment(s.now().Add(lease))))
}

// stored rebuilds a turn from its idempotency record.
func (s *Store) stored(ctx context.Context, user conversation.UserID, turn conversation.Turn, met item) (conversation.Turn, error) {
	turn, err := s.question(ctx, user, turn, met)
	if err != nil {
		return conversation.Turn{}, err
	}
	if met.text(attrState) == stateDone {
		turn.Lease = ""
		turn.Answer, err = s.answer(ctx, user, met)
	}
	return turn, err
}

// question reads the message that a turn began with. A turn is generated again or told again only while both it and
// its session are there.
func (s *Store) question(ctx context.Context, user conversation.UserID, turn conversation.Turn, met item) (conversation.Turn, error) {
	pk := partition(user)
	sessionKey := key{pk, met.text(attrSessionSK)}
	keys := []key{sessionKey}
	for _, sk := range met.texts(attrKeys) {
		keys = append(keys, key{pk, sk})
	}
	f, err := s.readOf(ctx, "replay turn", user, keys...)
	if err != nil {
		return turn, err
	}
	record, _ := f.of(user, sessionKey)
	session, ok := decodeSession(record)
	if !ok {
		return turn, fault.Missing("session")
	}
	turn.Session = sessionAfter(session, met)
	if turn.Message, ok = decodeMessage(f[keys[len(keys)-1]]); !ok {
		return turn, fault.Missing("message")
	}
	return turn, nil
}

func (s *Store) answer(ctx context.Context, user conversation.UserID, met item) (*conversation.Message, error) {
	k := key{partition(user), met.text(attrAnswerKey)}
	f, err := s.read(ctx, "read answer", k)
	if err != nil {
		return nil, err
	}
	m, ok := decodeMessage(f[k])
	if !ok {
		return nil, fault.Missing("message")
	}
	return &m, nil
}

// RenewTurn keeps the lease for that much longer. Without an idempotency key there is none to keep.
func (s *Store) RenewTurn(ctx context.Context, user conversation.UserID, turn conversation.Turn, lease time.Duration) error {
	if !turn.Idempotency.Set() {
		return nil
	}
	k := key{partition(user), idempotencySK(turn.Idempotency)}
	mine := field(attrState).Equal(value(text(stateRunning))).And(field(attrLease).Equal(value(text(turn.Lease))))
	_, err := s.updateItem(ctx, k, s.leased(turn.Lease, lease), mine)
	if _, lost := conditionFailed(err); lost {
		return fault.New(fault.Conflict, "another request has taken this turn over")
	}
	return failed("renew turn", err)
}

// FinishTurn stores the answer and ends the turn in one transaction. Whoever finishes first is heard, also when its
// lease had lapsed: an answer that is there is never thrown away for one that may come.
func (s *Store) FinishTurn(ctx context.Context, user conversation.UserID, turn conversation.Turn, answer conversation.NewMessage) (conversation.Message, error) {
	now := s.now()
	in := conversation.Append{SessionID: turn.Session.ID, Messages: []conversation.NewMessage{answer}}
	in, err := in.Prepare(now)
	if err != nil {
		return conversation.Message{}, err
	}
	ext := extension{user: user, sessionID: in.SessionID, messages: in.Messages, now: now}
	if turn.Idempotency.Set() {
		ext.account = s.answerAccount(user, turn.Idempotency)
	}
	out, met, err := s.extend(ctx, ext)
	if err != nil {
		return conversation.Message{}, err
	}
	if met == nil {
		return out.Messages[0], nil
	}
	first, err := s.answer(ctx, user, met)
	if err != nil {
		return conversation.Message{}, err
	}
	return *first, nil
}

// answerAccount ends the turn's record. One that is gone, after 24 hours, is made anew: the answer counts all the same.
func (s *Store) answerAccount(user conversation.UserID, idem conversation.Idempotency) accounting {
	k := key{partition(user), idempotencySK(idem)}
	return func(t *transaction, _ key, a conversation.Appended) int {
		sk, _ := parseMessageID(user, a.Messages[0].ID)
		u := expression.Set(field(attrState), value(text(stateDone))).Set(field(attrAnswerKey), value(text(sk)))
		for name, v := range s.ledger(user, idem, a.Session.Generation) {
			if name != attrPK && name != attrSK && name != attrState {
				u = u.Set(field(name), field(name).IfNotExists(value(v)))
			}
		}
		open := expression.AttributeNotExists(field(attrPK)).Or(field(attrState).Equal(value(text(stateRunning))))
		return t.update(k, u, open)
	}
}
