package summary

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/parallel"
)

// sweepLimit is how many due sessions one sweep looks at; the next, a minute later, goes on.
const sweepLimit = 200

// longestRetry bounds the wait between two calls of a model that fails for a session.
const longestRetry = 24 * time.Hour

// sweepReserve is what the sweep leaves of its invocation for the sessions under way.
const sweepReserve = 25 * time.Second

// Swept is what one sweep did.
type Swept struct {
	// Looked is how many due sessions it looked at, Settled how many are not due any more, Failed how many it has to
	// look at again for a failure.
	Looked, Settled, Failed int
}

// Sweep looks at every session whose time has come: it summarises those that are idle, indexes what a lost trigger
// left behind, and takes those that are covered out of the due index. One that fails comes up again after Idle. Its
// error is that the due index could not be read.
func (s *Service) Sweep(ctx context.Context) (Swept, error) {
	due, err := s.Store.DueBefore(ctx, s.Now(), sweepLimit)
	if err != nil {
		return Swept{}, err
	}
	results := make([]error, len(due))
	settled := make([]bool, len(due))
	looked := make([]bool, len(due))
	parallel.Each(len(due), atOnce, func(i int) {
		if end, ok := ctx.Deadline(); ok && time.Until(end) < sweepReserve {
			return
		}
		looked[i] = true
		settled[i], results[i] = s.tryAttend(ctx, due[i])
	})
	var swept Swept
	for i := range due {
		if looked[i] {
			swept.Looked++
		}
		if settled[i] {
			swept.Settled++
		}
		if results[i] != nil {
			swept.Failed++
			s.Report(ctx, "sweep session", results[i])
		}
	}
	return swept, nil
}

// tryAttend is attend, where a panic over one session does not keep the sweep from the others.
func (s *Service) tryAttend(ctx context.Context, d Due) (settled bool, err error) {
	defer func() {
		if v := recover(); v != nil {
			settled, err = false, fmt.Errorf("panic: %T", v)
		}
	}()
	return s.attend(ctx, d)
}

// attend looks at one due session.
func (s *Service) attend(ctx context.Context, d Due) (settled bool, err error) {
	session, err := s.Store.SessionIn(ctx, d.User, d.Context, d.SessionID)
	if fault.Is(err, fault.NotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if quiet := s.quietAt(session); quiet.After(s.Now()) {
		return false, s.Store.Rearm(ctx, d.User, session, quiet)
	}
	after, err := s.cover(ctx, d.User, session)
	if err == nil && upToDate(after) {
		// A write in between has moved the watermarks' goal; the store sees that and leaves the session due.
		return true, s.Store.Settle(ctx, d.User, session)
	}
	if rerr := s.Store.Rearm(ctx, d.User, session, s.again(after, err)); rerr != nil && !fault.Is(rerr, fault.NotFound) {
		return false, errors.Join(err, rerr)
	}
	return false, err
}

// quietAt is when a session may be summarised: once it has been quiet for long enough, and at once where a trigger
// was lost.
func (s *Service) quietAt(session conversation.Session) time.Time {
	left := !session.LeftAt.IsZero() && !session.LeftAt.Before(session.LastMessageAt)
	if session.Status != conversation.Active || left || session.LastSeq-covered(session) >= s.EveryMessages {
		return time.Time{}
	}
	return session.LastMessageAt.Add(s.Idle)
}

// again is when a session that is not up to date is looked at next: at once where a backlog is left, later after a
// failure. While a stand-in stands, the wait doubles: it is as long as the stand-in has stood.
func (s *Service) again(session conversation.Session, err error) time.Time {
	now, wait := s.Now(), s.Idle
	if sum := session.Summary; sum != nil && sum.Kind == conversation.Extractive {
		wait = min(max(wait, now.Sub(sum.UpdatedAt)), longestRetry)
	} else if err == nil {
		return now
	}
	return now.Add(wait)
}

// cover brings the session's summary and index up to date, and returns the session as far as it came. A summary that was
// stored before is indexed once more: whoever wrote it may have failed to.
func (s *Service) cover(ctx context.Context, user conversation.UserID, session conversation.Session) (conversation.Session, error) {
	after, err := s.advance(ctx, user, session)
	if err != nil {
		return after, err
	}
	if record, ok := Of(after); ok && after.Summary == session.Summary {
		if err := s.Index.IndexSummary(ctx, user, record); err != nil {
			return after, unindexed{err}
		}
	}
	return after, s.Messages.Repair(ctx, user, session)
}
