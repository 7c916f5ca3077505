package dynamo

import (
	"context"
	"errors"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/throughline/throughline/internal/conversation"
)

// line is one writer's place among those that append to a session at once from functions that know nothing of each
// other. Of tries that meet, one succeeds; of many writers that just tried again, who has won would go on winning.
// So a writer that has lost twice draws a ticket from the session's record. While tickets are out nobody begins to
// write without one, and their holders write in their order. A line is advice and no lock: what keeps the messages
// right is the condition on version, and a holder that has gone is passed over after a while.
type line struct {
	losses int
	ticket int64 // 0 without one
	served int64 // the last ticket that was served, as last seen
	waits  bool  // somebody was waiting then
	moved  time.Time
}

const (
	// aloneLosses is after how many losses a writer takes its place in the line.
	aloneLosses = 2
	// A holder looks again after slot for each one before it, less than they take: who is first must not sleep.
	slot = 5 * time.Millisecond
	// A line that stands still for so long for each one ahead is not waited for: somebody in it has gone.
	stillness        = 200 * time.Millisecond
	longestStillness = time.Second
)

// see takes from the session's record how far the line has come.
func (l *line) see(it item, now time.Time) {
	served := it.whole(attrServed)
	if served != l.served || l.moved.IsZero() {
		l.served, l.moved = served, now
	}
	l.waits = it.whole(attrTickets) != served
}

// ahead is how many ticket holders come before this one.
func (l *line) ahead() int64 { return max(l.ticket-l.served-1, 0) }

// wait is how long to leave the line alone; 0 when it is this writer's turn, because nobody is ahead or nobody moves.
// Who is further behind waits longer, so that those behind one that has gone keep their order.
func (l *line) wait(now time.Time) time.Duration {
	ahead := time.Duration(l.ahead())
	left := l.moved.Add(min(ahead*stillness, longestStillness)).Sub(now)
	return max(0, min(ahead*slot, left))
}

// take adds to an append's update and condition of the session's record what this place in the line asks for.
func (l *line) take(u expression.UpdateBuilder, c expression.ConditionBuilder) (expression.UpdateBuilder, expression.ConditionBuilder) {
	if l.ticket == 0 {
		return u, c.And(nobodyWaits())
	}
	return u.Set(field(attrServed), value(whole(max(l.ticket, l.served)))), c
}

// nobodyWaits is the condition that no ticket is out.
func nobodyWaits() expression.ConditionBuilder {
	return expression.AttributeNotExists(field(attrTickets)).Or(field(attrTickets).Equal(field(attrServed)))
}

// queue returns, when it is this writer's turn, the session's record to try again with; met is the one that a lost
// try has met.
func (s *Store) queue(ctx context.Context, met item, session conversation.Session, l *line, p *patience) (item, error) {
	l.losses++
	l.see(met, time.Now())
	if l.ticket == 0 && (l.losses >= aloneLosses || l.waits) {
		var err error
		if met, err = s.draw(ctx, met, session, l, p); err != nil {
			return nil, err
		}
	}
	k := keyIn(met)
	for wait := l.wait(time.Now()); wait > 0 && met != nil; wait = l.wait(time.Now()) {
		if err := sleep(ctx, wait); err != nil {
			return nil, err
		}
		f, err := s.read(ctx, "read session", k)
		if err != nil {
			return nil, err
		}
		met = f[k]
		l.see(met, time.Now())
	}
	return met, nil
}

// draw takes a ticket, unless the session is no longer the same, and returns its record.
func (s *Store) draw(ctx context.Context, met item, session conversation.Session, l *line, p *patience) (item, error) {
	nought, one := value(whole(0)), value(whole(1))
	u := expression.Set(field(attrTickets), expression.Plus(field(attrTickets).IfNotExists(nought), one)).
		Set(field(attrServed), field(attrServed).IfNotExists(nought))
	for {
		now, err := s.updateItem(ctx, keyIn(met), u, isIncarnation(session))
		if err == nil {
			l.ticket = now.whole(attrTickets)
			l.see(now, time.Now())
			return now, nil
		}
		if other, gone := conditionFailed(err); gone {
			return other, nil
		}
		if err := p.bear(ctx, err); err != nil {
			return nil, err
		}
	}
}

// bear waits before another try of a call that failed, and returns the error where there may be none. To meet a
// transaction at the same record is no trouble.
func (p *patience) bear(ctx context.Context, err error) error {
	if errors.As(err, new(*types.TransactionConflictException)) {
		return p.wait(ctx)
	}
	if troubleOf(err) == fatal || ctx.Err() != nil {
		return err
	}
	spent, waitErr := p.rest(ctx)
	if spent || waitErr != nil {
		return errors.Join(waitErr, err)
	}
	return nil
}
