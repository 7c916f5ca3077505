package memstore

import (
	"context"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
)

// turn is a turn with an idempotency key.
type turn struct {
	lease
	done       bool
	questionID string
	answerID   string // to come, until the turn is done
	// session is the session after the question.
	session conversation.Session
}

// Turns keeps turns of the chat.
type Turns struct{ *DB }

var _ conversation.TurnStore = Turns{}

// BeginTurn stores the question and takes the lease.
func (s Turns) BeginTurn(_ context.Context, user conversation.UserID, in conversation.Append, d time.Duration,
) (conversation.Turn, error) {
	now := s.clock()
	in, err := in.Prepare(now)
	if err != nil {
		return conversation.Turn{}, err
	}
	u, unlock := s.lock(user)
	defer unlock()
	first, err := u.callOf(in.Idempotency, now)
	if err != nil {
		return conversation.Turn{}, err
	}
	if first != nil && first.turn != nil {
		return s.resume(u, in.Idempotency, first.turn, d)
	}
	if err := s.checkQuota(u); err != nil {
		return conversation.Turn{}, err
	}
	out, err := s.append(u, appending{sessionID: in.SessionID, messages: in.Messages, refusesDuplicates: true}, now)
	if err != nil {
		return conversation.Turn{}, err
	}
	t := conversation.Turn{
		Message: out.Messages[len(out.Messages)-1], Session: out.Session, Idempotency: in.Idempotency,
	}
	t.AnswerID = s.planAnswer(t.Message.Timestamp)
	if in.Idempotency.Set() {
		t.Lease = s.newToken()
		u.remember(in.Idempotency, now, &call{turn: &turn{
			lease: lease{t.Lease, now.Add(d)}, questionID: t.Message.ID, answerID: t.AnswerID, session: copied(t.Session),
		}})
	}
	return t, nil
}

// planAnswer returns an id for the answer to a question of that time.
func (db *DB) planAnswer(asked time.Time) string {
	at := db.clock()
	if !at.After(asked) {
		at = asked.Add(time.Millisecond)
	}
	return db.newID(messageKind, at)
}

// resume answers a repeated request: with a Conflict while the first one runs, with the turn to go on with when its
// lease has expired, and with the answer when the turn is done.
func (s Turns) resume(u *user, idem conversation.Idempotency, t *turn, d time.Duration) (conversation.Turn, error) {
	now := s.clock()
	if !t.done {
		if left := t.until.Sub(now); left > 0 {
			return conversation.Turn{}, conversation.TurnRuns(left)
		}
		if err := s.checkQuota(u); err != nil {
			return conversation.Turn{}, err
		}
		t.lease = lease{s.newToken(), now.Add(d)}
		if asked, ok := u.messages[t.questionID]; ok {
			t.answerID = s.planAnswer(asked.Timestamp)
		}
	}
	return u.replayTurn(idem, t)
}

// replayTurn returns a turn as it is stored, with its answer when it is done.
func (u *user) replayTurn(idem conversation.Idempotency, t *turn) (conversation.Turn, error) {
	out := conversation.Turn{Idempotency: idem, Session: copied(t.session), AnswerID: t.answerID, Lease: t.owner}
	now, ok := u.session(t.session.ID, &t.session)
	if !ok {
		return conversation.Turn{}, fault.Missing("session")
	}
	out.Session.Title, out.Session.Attributes = now.Title, copied(now.Attributes)
	question, ok := u.messages[t.questionID]
	if !ok {
		return conversation.Turn{}, fault.Missing("message")
	}
	if out.Message = copied(*question); t.done {
		answer, ok := u.messages[t.answerID]
		if !ok {
			return conversation.Turn{}, fault.Missing("message")
		}
		out.Lease, out.AnswerID, out.Answer = "", "", copied(answer)
	}
	return out, nil
}

// RenewTurn extends the lease.
func (s Turns) RenewTurn(_ context.Context, user conversation.UserID, of conversation.Turn, d time.Duration) error {
	u, unlock := s.lock(user)
	defer unlock()
	return u.replaceLease(s.DB, of, of.Lease, d)
}

// ReleaseTurn gives the lease back and charges the turn. It has an owner that no renewal has, so that one that was on
// its way does not take the turn again.
func (s Turns) ReleaseTurn(_ context.Context, user conversation.UserID, of conversation.Turn) error {
	u, unlock := s.lock(user)
	defer unlock()
	u.spend(s.DB, of.Spent)
	return u.replaceLease(s.DB, of, "", 0)
}

func (u *user) replaceLease(db *DB, of conversation.Turn, owner string, d time.Duration) error {
	if !of.Idempotency.Set() {
		return nil
	}
	now := db.clock()
	c, err := u.callOf(of.Idempotency, now)
	if err != nil || c == nil || c.turn == nil || c.turn.done || c.turn.owner != of.Lease {
		return conversation.TurnTaken()
	}
	c.turn.owner, c.turn.until = owner, now.Add(d)
	return nil
}

// FinishTurn stores the answer and ends the turn.
func (s Turns) FinishTurn(_ context.Context, user conversation.UserID, of conversation.Turn,
	answer conversation.NewMessage,
) (conversation.Message, error) {
	now := s.clock()
	in := conversation.Append{SessionID: of.Session.ID, Messages: []conversation.NewMessage{answer}}
	in, err := in.Prepare(now)
	if err != nil {
		return conversation.Message{}, err
	}
	if at, ok := conversation.TimeOfID(messageKind, of.AnswerID); ok {
		in.Messages[0].Timestamp = at
	}
	u, unlock := s.lock(user)
	defer unlock()
	if _, ok := u.session(of.Session.ID, &of.Session); !ok {
		return conversation.Message{}, fault.Missing("session")
	}
	c := u.calls[callKey{of.Idempotency.Scope, of.Idempotency.Key}]
	if c != nil && c.turn != nil && c.turn.done {
		if !of.SpentOnce {
			u.spend(s.DB, of.Spent)
		}
		first, ok := u.messages[c.turn.answerID]
		if !ok {
			return conversation.Message{}, fault.Missing("message")
		}
		return copied(*first), nil
	}
	out, err := s.append(u, appending{
		sessionID: in.SessionID, messages: in.Messages, of: &of.Session, planned: of.AnswerID, refusesDuplicates: true,
	}, now)
	if err != nil {
		return conversation.Message{}, err
	}
	if c != nil && c.turn != nil {
		c.turn.done, c.turn.answerID = true, out.Messages[0].ID
	}
	u.spend(s.DB, of.Spent)
	return out.Messages[0], nil
}
