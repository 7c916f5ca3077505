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

const (
	// sweepLimit is how many due sessions one sweep visits; the next sweep, a minute later, goes on.
	sweepLimit = 200
	// maxRetryWait limits the wait between two model calls for a session for which the model fails.
	maxRetryWait = 24 * time.Hour
	// sweepReserve is the time before the invocation's deadline in which the sweep starts no more sessions.
	sweepReserve = 25 * time.Second
)

// Swept counts what one sweep did.
type Swept struct {
	// Visited is the number of due sessions that the sweep visited, Done of those that are not due any more, Failed of
	// those that it has to visit again because of a failure.
	Visited, Done, Failed int
}

// Sweep visits the sessions that are due: it summarises those that are idle, does what a lost trigger left undone, and
// removes sessions from the due index when everything in them is covered. A session that fails is due again after Idle.
// Sweep fails only when the due index cannot be read.
func (s *Service) Sweep(ctx context.Context) (Swept, error) {
	due, err := s.Store.DueBefore(ctx, s.Now(), sweepLimit)
	if err != nil {
		return Swept{}, err
	}
	results := make([]error, len(due))
	done := make([]bool, len(due))
	visited := make([]bool, len(due))
	parallel.Each(len(due), atOnce, func(i int) {
		if end, ok := ctx.Deadline(); ok && time.Until(end) < sweepReserve {
			return
		}
		visited[i] = true
		done[i], results[i] = s.visitRecovering(ctx, due[i])
	})
	var swept Swept
	for i := range due {
		if visited[i] {
			swept.Visited++
		}
		if done[i] {
			swept.Done++
		}
		if results[i] != nil {
			swept.Failed++
			s.Report(ctx, "sweep session", results[i])
		}
	}
	return swept, nil
}

// visitRecovering is visit, and turns a panic into an error, so that the sweep goes on with the other sessions.
func (s *Service) visitRecovering(ctx context.Context, d Due) (done bool, err error) {
	defer func() {
		if v := recover(); v != nil {
			done, err = false, fmt.Errorf("panic: %T", v)
		}
	}()
	return s.visit(ctx, d)
}

// visit sweeps one due session.
func (s *Service) visit(ctx context.Context, d Due) (done bool, err error) {
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
		// If messages were added in between, Settle leaves the session due.
		return true, s.Store.Settle(ctx, d.User, session)
	}
	rearmErr := s.Store.Rearm(ctx, d.User, session, s.nextVisit(after, err))
	if rearmErr != nil && !fault.Is(rearmErr, fault.NotFound) {
		return false, errors.Join(err, rearmErr)
	}
	return false, err
}

// quietAt is the time from which a session may be summarised: when it has been quiet for Idle, or at once when a
// trigger was lost.
func (s *Service) quietAt(session conversation.Session) time.Time {
	if s.missedTrigger(session) != Idle {
		return time.Time{}
	}
	return session.LastMessageAt.Add(s.Idle)
}

// missedTrigger is the reason for a summary that the sweep writes.
func (s *Service) missedTrigger(session conversation.Session) TriggerReason {
	switch {
	case session.Status != conversation.Active:
		return Completed
	case !session.LeftAt.IsZero() && !session.LeftAt.Before(session.LastMessageAt):
		return Left
	case s.hasManyMessages(session):
		return MessageCount
	case covered(session).Seq >= session.LastSeq && IsOutdated(session):
		return AttributesChanged
	}
	return Idle
}

// nextVisit is when the sweep visits a session that is not up to date again: at once when a backlog is left, later
// after a failure. While the session has a fallback summary, the wait is the age of that summary, so that it doubles.
func (s *Service) nextVisit(session conversation.Session, err error) time.Time {
	now, wait := s.Now(), s.Idle
	if sum := session.Summary; sum != nil && sum.Kind == conversation.Extractive {
		wait = min(max(wait, now.Sub(sum.UpdatedAt)), maxRetryWait)
	} else if err == nil {
		return now
	}
	return now.Add(wait)
}

// cover brings the session's summary and vectors up to date, and returns the session with its last summary. A summary
// that was stored before is indexed again, because its writer may have failed to index it.
func (s *Service) cover(
	ctx context.Context, user conversation.UserID, session conversation.Session,
) (conversation.Session, error) {
	after, err := s.advance(ctx, user, session, s.missedTrigger(session))
	if err != nil {
		return after, err
	}
	if record, ok := Of(after); ok && after.Summary == session.Summary {
		if err := s.Index.IndexSummary(ctx, user, record); err != nil {
			return after, indexError{err}
		}
	}
	return after, s.Messages.Repair(ctx, user, session)
}
