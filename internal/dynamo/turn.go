package dynamo

import (
	"context"
	"errors"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo/table"
	"github.com/throughline/throughline/internal/fault"
)

// TurnStore keeps chat turns: a question, the lease of the request that answers it, and the answer. Both messages are
// stored as appends are. It is safe for concurrent use.
type TurnStore struct {
	db       *DB
	sessions *SessionReader
	cuts     *DeletionStore
}

// NewTurnStore returns the turns of a DB.
func NewTurnStore(db *DB) *TurnStore {
	return &TurnStore{db, NewSessionReader(db), NewDeletionStore(db)}
}

// BeginTurn stores the user's message and takes the lease in one transaction.
func (s *TurnStore) BeginTurn(ctx context.Context, user conversation.UserID, in conversation.Append,
	lease time.Duration,
) (conversation.Turn, error) {
	now := s.db.Now()
	if in.Replaces != nil {
		return s.replaceTurn(ctx, user, in, lease)
	}
	in, err := in.Prepare(now)
	if err != nil {
		return conversation.Turn{}, err
	}
	turn := conversation.Turn{Idempotency: in.Idempotency}
	permit := newAnswerPermit(s.db, user, lease)
	if in.Idempotency.Set() {
		turn.Lease = table.NewRandomDigits(s.db.Random)
		in.Messages[len(in.Messages)-1].Turn = table.IdempotencySK(in.Idempotency)
	}
	a := newAppender(s.db, s.sessions, user, in, now)
	a.refusesDuplicates = true
	a.guards = beginning(s.db, user, permit)
	if in.Idempotency.Set() {
		a.addRecord = s.recordTurn(user, &turn, permit, lease)
	}
	out, existing, err := a.append(ctx)
	if err != nil {
		return conversation.Turn{}, err
	}
	if existing != nil {
		return s.resume(ctx, user, turn, existing, lease)
	}
	turn.Message, turn.Session, turn.Permit = out.Messages[len(out.Messages)-1], out.Session, permit.id()
	if turn.AnswerID == "" {
		turn.AnswerID = s.planAnswer(user, turn.Message.Timestamp)
	}
	return turn, nil
}

// recordTurn adds the idempotency record of a turn that begins, and the mark of its session. It sets the turn's
// AnswerID.
func (s *TurnStore) recordTurn(user conversation.UserID, turn *conversation.Turn, permit *permit, lease time.Duration,
) func(*table.Transaction, table.Key, conversation.Appended) int {
	return func(t *table.Transaction, k table.Key, done conversation.Appended) int {
		now, generation := s.db.Now(), done.Session.Generation
		record := newIdempotencyRecord(user, turn.Idempotency, generation, now)
		recordAppend(record, k, done)
		turn.AnswerID = s.planAnswer(user, done.Session.LastMessageAt)
		record[table.AttrAnswerSK] = answerSK(user, *turn)
		record.Set(table.AttrState, stateRunning)
		record.Set(table.AttrLease, turn.Lease)
		record.Set(table.AttrLeaseUntil, now.Add(lease))
		record.SetString(table.AttrPermit, permit.id())
		t.Replace(newMark(user, *turn, k.SK, generation, now))
		return t.Put(record, isFreeKey(generation, now))
	}
}

// planAnswer returns a new id for the answer to a question of that time. The time in it is the current one, or else the
// first after the question.
func (s *TurnStore) planAnswer(user conversation.UserID, asked time.Time) string {
	at := conversation.Milliseconds(s.db.Now())
	if !at.After(asked) {
		at = asked.Add(time.Millisecond)
	}
	return newMessageID(s.db, user, at)
}

// answerSK is the attribute of a running turn's record by which a request that joins it knows the answer's id.
func answerSK(user conversation.UserID, turn conversation.Turn) types.AttributeValue {
	sk, _ := table.ParseMessageID(user, turn.AnswerID)
	return table.StringAttr(sk)
}

// askedAt returns when the question of a turn's record was asked.
func askedAt(record table.Item) (at time.Time) {
	for _, sk := range record.Strings(table.AttrMessageSKs) {
		at, _, _ = table.ParseMessageSK(sk)
	}
	return at
}

// resume answers a repeated request: with a Conflict while the first one runs, with the turn to go on with when the
// first one's lease has expired, and with the stored answer when the turn is done.
func (s *TurnStore) resume(ctx context.Context, user conversation.UserID, turn conversation.Turn, record table.Item,
	lease time.Duration,
) (conversation.Turn, error) {
	if err := turn.Idempotency.CheckBody(record.String(table.AttrBodyHash)); err != nil {
		return conversation.Turn{}, err
	}
	turn.Permit = record.String(table.AttrPermit)
	if record.String(table.AttrState) == stateReplaced {
		return conversation.Turn{}, conversation.TurnReplaced()
	}
	if record.String(table.AttrState) == stateRunning && record.String(table.AttrLease) != turn.Lease {
		if left := record.Time(table.AttrLeaseUntil).Sub(s.db.Now()); left > 0 {
			return conversation.Turn{}, conversation.TurnRuns(left)
		}
		return s.takeOver(ctx, user, turn, record, lease)
	}
	return s.replay(ctx, user, turn, record)
}

// takeOver gives this request a lease that has expired, and the permit of the request that had it, while the turn's
// message is there and the user has tokens left.
func (s *TurnStore) takeOver(ctx context.Context, user conversation.UserID, turn conversation.Turn, record table.Item,
	lease time.Duration,
) (conversation.Turn, error) {
	isExpired := table.Is(table.AttrState, stateRunning).
		And(table.Is(table.AttrLease, record.String(table.AttrLease)),
			table.Is(table.AttrLeaseUntil, record.String(table.AttrLeaseUntil)))
	permit := newAnswerPermit(s.db, user, lease)
	permit.takeOver(record.String(table.AttrPermit))
	guards := beginning(s.db, user, permit)
	turn, err := s.addQuestion(ctx, user, turn, record)
	if err != nil {
		return conversation.Turn{}, err
	}
	turn.AnswerID = s.planAnswer(user, askedAt(record))
	for {
		t := s.db.Transaction()
		u := s.setLease(turn.Lease, lease).Set(table.AttrAnswerSK, answerSK(user, turn))
		if permit != nil {
			u = u.Set(table.AttrPermit, permit.id())
		}
		turnPlace := t.Update(table.KeyOf(record), u, isExpired)
		generation := record.Int64(table.AttrGeneration)
		places := guards.add(t, conversation.Session{Generation: generation})
		t.Replace(newMark(user, turn, record.String(table.AttrSessionSK), generation, s.db.Now()))
		failures, err := s.db.Commit(ctx, "take over turn", t, s.db.Backoff())
		if err != nil {
			return conversation.Turn{}, err
		}
		if failures == nil {
			turn.Permit = permit.id()
			return turn, nil
		}
		if changed, failed := failures[turnPlace]; failed {
			if changed == nil {
				return conversation.Turn{}, conversation.TurnRuns(conversation.MaxRetryAfter)
			}
			return s.resume(ctx, user, turn, changed, lease)
		}
		if err := guards.refused(places, failures); err != nil {
			return conversation.Turn{}, err
		}
	}
}

func (s *TurnStore) setLease(token string, lease time.Duration) table.Update {
	return table.Set(table.AttrLease, token).
		Set(table.AttrLeaseUntil, s.db.Now().Add(lease))
}

// replay returns the turn of an idempotency record, with its answer when it is done.
func (s *TurnStore) replay(ctx context.Context, user conversation.UserID, turn conversation.Turn, record table.Item,
) (conversation.Turn, error) {
	turn, err := s.addQuestion(ctx, user, turn, record)
	if err != nil {
		return turn, err
	}
	if record.String(table.AttrState) == stateDone {
		turn.Lease, turn.Permit, turn.AnswerID = "", "", ""
		turn.Answer, err = s.answer(ctx, user, record)
	}
	return turn, err
}

// addQuestion reads the message that a turn began with. It returns a NotFound error when that message or its session
// has been deleted.
func (s *TurnStore) addQuestion(ctx context.Context, user conversation.UserID, turn conversation.Turn,
	record table.Item,
) (conversation.Turn, error) {
	pk := table.Partition(user)
	sessionKey := table.NewKey(pk, record.String(table.AttrSessionSK))
	keys := []table.Key{sessionKey}
	for _, sk := range record.Strings(table.AttrMessageSKs) {
		keys = append(keys, table.NewKey(pk, sk))
	}
	records, err := s.db.ReadCurrent(ctx, "replay turn", user, keys...)
	if err != nil {
		return turn, err
	}
	session, ok := s.db.Session(records, user, sessionKey)
	if !ok {
		return turn, fault.Missing("session")
	}
	turn.Session = withCountersOf(session, record)
	question, _, ok := s.db.message(records, user, sessionKey.SK, keys[len(keys)-1].SK)
	if !ok || question.Generation != session.Generation || !question.SessionCreatedAt.Equal(session.CreatedAt) {
		return turn, fault.Missing("message")
	}
	turn.Message = question
	return turn, nil
}

func (s *TurnStore) answer(ctx context.Context, user conversation.UserID, record table.Item,
) (*conversation.Message, error) {
	sk, session := record.String(table.AttrAnswerSK), record.String(table.AttrSessionSK)
	keys := []table.Key{table.UserKey(user, sk)}
	if session != "" {
		keys = append(keys, table.UserKey(user, session))
	}
	records, err := s.db.ReadCurrent(ctx, "read answer", user, keys...)
	if err != nil {
		return nil, err
	}
	m, _, ok := s.db.message(records, user, session, sk)
	if !ok {
		return nil, fault.Missing("message")
	}
	return &m, nil
}

// releasedLease is the lease of a turn that was released. No request has it, so a renewal that was on its way when its
// turn was released, and arrives later, does not take the turn again.
const releasedLease = "released"

// RenewTurn extends the lease to that much from now. Without an idempotency key there is no lease. A permit is taken
// for the time of the longest turn and is not extended.
func (s *TurnStore) RenewTurn(ctx context.Context, user conversation.UserID, turn conversation.Turn,
	lease time.Duration,
) error {
	return s.replaceLease(ctx, user, turn, turn.Lease, lease)
}

// ReleaseTurn gives back the lease and the permit, and charges the turn.
func (s *TurnStore) ReleaseTurn(ctx context.Context, user conversation.UserID, turn conversation.Turn) error {
	return errors.Join(s.replaceLease(ctx, user, turn, releasedLease, 0),
		permitOf(s.db, user, turn.Permit).releaseNow(ctx), s.charge(ctx, user, turn), s.unmark(ctx, user, turn))
}

// charge adds to the user's tokens of the day what a turn has spent that stores no answer.
func (s *TurnStore) charge(ctx context.Context, user conversation.UserID, turn conversation.Turn) error {
	return NewQuotaStore(s.db).Spend(ctx, user, turn.Session.Generation, turn.Spent)
}

// replaceLease replaces the turn's lease. A release whose answer was lost may find its own lease there.
func (s *TurnStore) replaceLease(ctx context.Context, user conversation.UserID, turn conversation.Turn,
	token string, lease time.Duration,
) error {
	if !turn.Idempotency.Set() {
		return nil
	}
	k := table.UserKey(user, table.IdempotencySK(turn.Idempotency))
	isHeld := table.Is(table.AttrState, stateRunning).
		And(table.Is(table.AttrLease, turn.Lease))
	_, err := s.db.UpdateOnce(ctx, k, s.setLease(token, lease), isHeld, func(existing table.Item) bool {
		return token == releasedLease && existing.String(table.AttrLease) == releasedLease
	})
	if _, lost := table.ConditionFailed(err); lost {
		return conversation.TurnTaken()
	}
	return table.Failed("renew turn", err)
}

// FinishTurn stores the answer and ends the turn in one transaction. The first answer counts, even if its lease has
// expired: another request's answer that is still to come does not replace it. An answer to a message that was deleted
// meanwhile is a Conflict.
func (s *TurnStore) FinishTurn(ctx context.Context, user conversation.UserID, turn conversation.Turn,
	answer conversation.NewMessage,
) (conversation.Message, error) {
	now := s.db.Now()
	in := conversation.Append{SessionID: turn.Session.ID, Messages: []conversation.NewMessage{answer}}
	in, err := in.Prepare(now)
	if err != nil {
		return conversation.Message{}, err
	}
	a := newAppender(s.db, s.sessions, user, in, now)
	a.refusesDuplicates = true
	a.of, a.answers, a.planned = &turn.Session, turn.Message.Seq, turn.AnswerID
	a.messages[0].Turn = table.IdempotencySK(turn.Idempotency) // also without a key, by which a stream knows it
	if sk, ok := table.ParseMessageID(user, turn.AnswerID); ok {
		a.messages[0].Timestamp, _, _ = table.ParseMessageSK(sk)
	}
	if turn.Idempotency.Set() {
		a.addRecord = s.recordAnswer(user, turn.Idempotency)
	}
	a.guards = guards{
		spending(s.db, user, turn.Spent), permitOf(s.db, user, turn.Permit).returning(),
		unmarking(user, turn),
	}
	out, existing, err := a.append(ctx)
	if err != nil {
		return conversation.Message{}, err
	}
	if existing == nil {
		return out.Messages[0], nil
	}
	if existing.String(table.AttrState) == stateReplaced {
		return conversation.Message{}, conversation.TurnReplaced()
	}
	if !turn.SpentOnce {
		if err := s.charge(ctx, user, turn); err != nil {
			return conversation.Message{}, err
		}
	}
	first, err := s.answer(ctx, user, existing)
	if err != nil {
		return conversation.Message{}, err
	}
	return *first, nil
}

// recordAnswer ends the turn's idempotency record. A record that has been deleted, after 24 hours, is created again.
func (s *TurnStore) recordAnswer(user conversation.UserID, idem conversation.Idempotency,
) func(*table.Transaction, table.Key, conversation.Appended) int {
	k := table.UserKey(user, table.IdempotencySK(idem))
	return func(t *table.Transaction, _ table.Key, done conversation.Appended) int {
		sk, _ := table.ParseMessageID(user, done.Messages[0].ID)
		u := table.Set(table.AttrState, stateDone).Set(table.AttrAnswerSK, sk)
		for name, v := range newIdempotencyRecord(user, idem, done.Session.Generation, s.db.Now()) {
			if name != table.AttrPK && name != table.AttrSK && name != table.AttrState {
				u = u.SetIfNone(name, v)
			}
		}
		isOpen := table.NotExists().Or(table.Is(table.AttrState, stateRunning))
		return t.Update(k, u, isOpen)
	}
}
