package dynamo

import (
	"context"
	"slices"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo/table"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/indexing"
)

// replacer begins a turn in the place of another one.
type replacer struct {
	*TurnStore
	user   conversation.UserID
	in     conversation.Append
	turn   conversation.Turn
	permit *permit
	guards guards
	lease  time.Duration
}

// replaceTurn deletes what a turn replaces and stores its message, or keeps the user's message that was there, in the
// transaction that takes the lease. The sweep deletes what was made of the deleted messages: the function that serves
// turns may not.
func (s *TurnStore) replaceTurn(ctx context.Context, user conversation.UserID, in conversation.Append,
	lease time.Duration,
) (turn conversation.Turn, err error) {
	const op = "replace turn"
	if err := in.Replaces.Prepare(); err != nil {
		return turn, err
	}
	if len(in.Messages) > 0 {
		if in, err = in.Prepare(s.db.Now()); err != nil {
			return turn, err
		}
		in.Messages[len(in.Messages)-1].Turn = table.IdempotencySK(in.Idempotency)
	}
	permit := newAnswerPermit(s.db, user, lease)
	r := replacer{
		TurnStore: s, user: user, in: in, permit: permit, guards: beginning(s.db, user, permit), lease: lease,
		turn: conversation.Turn{Idempotency: in.Idempotency, Lease: table.NewRandomDigits(s.db.Random)},
	}
	err = s.db.Retry(ctx, op, func(ctx context.Context, b *table.Backoff) (bool, error) {
		try, err := r.newAttempt(ctx)
		if err != nil {
			turn, err = r.replayRefused(ctx, err)
			return true, err
		}
		failures, err := s.db.Commit(ctx, op, try.tx, b)
		if err != nil {
			return false, err
		}
		if failures == nil {
			s.db.cache.removeSession(user, in.SessionID)
			turn = r.begun(try)
			return true, nil
		}
		if existing, repeated := failures[try.recordPlace]; repeated {
			turn, err = s.resume(ctx, user, r.turn, existing, lease)
			return true, err
		}
		return false, r.refused(try, failures)
	})
	return turn, err
}

// newAttempt returns one transaction of a turn that replaces another.
func (r *replacer) newAttempt(ctx context.Context) (*cut, error) {
	session, err := r.sessions.sharedSession(ctx, r.user, r.in.SessionID)
	if err != nil {
		return nil, err
	}
	last, _, _, err := r.cuts.messages.readRange(ctx, r.user,
		messageRange{session: session, limit: conversation.MaxTruncated + 2, descending: true})
	if err != nil {
		return nil, err
	}
	slices.Reverse(last)
	what, err := r.in.Replaces.Cut(last, r.in.Messages, session)
	if err != nil {
		return nil, err
	}
	if err := r.admit(ctx, session, what.Kept); err != nil {
		return nil, err
	}
	open, err := r.openTurns(ctx, what)
	if err != nil {
		return nil, err
	}
	for _, record := range open {
		r.permit.takeOver(record.String(table.AttrPermit))
	}
	try := &cut{user: r.user, before: session, kept: what.Kept}
	try.addRecord = r.recordTurn(r.user, &r.turn, r.permit, r.lease)
	given := r.in.Messages
	if what.Kept != nil {
		given = nil
	}
	if err := try.add(ctx, r.cuts, given, what.Deleted, indexing.MessageVectorIDs, r.db.Now()); err != nil {
		return nil, err
	}
	r.endTurns(try, open)
	try.guardPlaces = r.guards.add(try.tx, session)
	// Only this call knows its lease.
	k := table.UserKey(r.user, table.IdempotencySK(r.in.Idempotency))
	try.tx.DoneIf(func(records table.RecordSet) bool { return records[k].String(table.AttrLease) == r.turn.Lease }, k)
	return try, nil
}

// admit asks about the message that will be answered: the one that stays, or else the turn's own.
func (r *replacer) admit(ctx context.Context, session conversation.Session, kept *conversation.Message) error {
	if r.in.Admit == nil {
		return nil
	}
	if kept != nil {
		return r.in.Admit(ctx, session, kept.Content, kept.Tokens)
	}
	last := r.in.Messages[len(r.in.Messages)-1]
	return r.in.Admit(ctx, session, last.Content, last.Tokens)
}

// openTurns returns the records of the turns that have no answer yet, of the user's message that stays and of the last
// one that goes. Only these can still get one.
func (r *replacer) openTurns(ctx context.Context, what conversation.Cut) (open []table.Item, err error) {
	var last string
	for _, m := range what.Deleted {
		if m.Role == conversation.RoleUser {
			last = m.Turn
		}
	}
	names := []string{last}
	if what.Kept != nil {
		names = append(names, what.Kept.Turn)
	}
	for _, sk := range names {
		if sk == "" || sk == table.IdempotencySK(r.in.Idempotency) {
			continue
		}
		k := table.UserKey(r.user, sk)
		records, err := r.db.ReadCurrent(ctx, "read turn", r.user, k)
		if err != nil {
			return nil, err
		}
		if it, ok := records.Current(r.user, k); ok && it.String(table.AttrState) == stateRunning {
			open = append(open, it)
		}
	}
	return open, nil
}

// endTurns ends turns without an answer. The message that stays has the name of the new turn from then on.
func (r *replacer) endTurns(try *cut, open []table.Item) {
	if try.kept != nil {
		sk, _ := table.ParseMessageID(r.user, try.kept.ID)
		u := table.Set(table.AttrTurnSK, table.IdempotencySK(r.in.Idempotency))
		try.tx.Update(table.UserKey(r.user, sk), u, table.IsOf(try.before))
	}
	for _, record := range open {
		u := table.Set(table.AttrState, stateReplaced).
			Set(table.AttrLease, releasedLease)
		try.tx.Update(table.KeyOf(record), u, table.Is(table.AttrState, stateRunning))
	}
}

// begun returns the turn of an attempt that was carried out.
func (r *replacer) begun(try *cut) conversation.Turn {
	turn := r.turn
	turn.Session, turn.Permit = try.result.Session, r.permit.id()
	if turn.Message = (conversation.Message{}); try.kept != nil {
		turn.Message = *try.kept
	} else {
		turn.Message = try.result.Messages[len(try.result.Messages)-1]
	}
	return turn
}

// replayRefused answers a repeat whose first call has changed the session already, so that it is refused.
func (r *replacer) replayRefused(ctx context.Context, refusal error) (conversation.Turn, error) {
	record, err := r.cuts.messages.readIdempotencyRecord(ctx, r.user, r.in.Idempotency)
	switch {
	case fault.Is(err, fault.NotFound):
		return conversation.Turn{}, refusal
	case err != nil: // the refusal may be wrong
		return conversation.Turn{}, err
	}
	return r.resume(ctx, r.user, r.turn, record, r.lease)
}

// refused returns the error that ends the turn after conditions that failed, or nil for another attempt.
func (r *replacer) refused(try *cut, failures table.ConditionFailures) error {
	for i, place := range try.clientPlaces {
		if _, exists := failures[place]; exists {
			return conversation.MessageExists(r.in.Messages[i].ClientMessageID)
		}
	}
	return r.guards.refused(try.guardPlaces, failures)
}
