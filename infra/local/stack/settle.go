package stack

import (
	"context"
	"strings"
	"time"
)

const (
	// settleLook is how long one look at an idle stack may take: its consumers ask their streams rarely. A caller who
	// would rather not wait waits so long, to be told the truth.
	settleLook = time.Second
	// settlePause is between two looks at work that is still due.
	settlePause = 50 * time.Millisecond
	// dueLimit is how many due sessions a look counts at most.
	dueLimit = 1000
)

// Settled tells how far the background work is.
type Settled struct {
	// Settled says that every write had been handled, no function ran, and no session was due.
	Settled bool `json:"settled"`
	// Records is how many stream records were handled since the stack started, by all consumers together; Pending
	// how many records and due sessions are still to be done.
	Records int64 `json:"records"`
	Pending int64 `json:"pending"`
}

// Settle waits until the stream's consumers have handled every write, their own writes included, no function runs,
// and the sweep, which it starts when needed, has left no session due; or until ctx is done.
func (s *Stack) Settle(ctx context.Context) Settled {
	due, settled := 0, false
	for !settled && ctx.Err() == nil {
		due, settled = s.settleOnce(ctx)
		if !settled {
			pause(ctx, settlePause)
		}
	}
	if !settled {
		due = s.countDue(context.WithoutCancel(ctx), due)
	}
	out := Settled{Settled: settled, Pending: int64(due)}
	for _, p := range s.pollers {
		stats := p.Stats()
		out.Records += stats.Handled
		out.Pending += stats.Pending
	}
	return out
}

// countDue counts the due sessions for an answer whose time is over; what was counted last stands where that fails.
func (s *Stack) countDue(ctx context.Context, last int) int {
	ctx, cancel := context.WithTimeout(ctx, settleLook)
	defer cancel()
	sessions, err := s.store.DueBefore(ctx, time.Now(), dueLimit)
	if err != nil {
		return last
	}
	return len(sessions)
}

// settleOnce looks once. The consumers having caught up with a moment is not enough: handlers that ran meanwhile may
// have written, so nothing may have run between that moment and now.
func (s *Stack) settleOnce(ctx context.Context) (due int, settled bool) {
	since, before := time.Now(), s.invocations()
	for _, p := range s.pollers {
		if p.Wait(ctx, since) != nil {
			return 0, false
		}
	}
	sessions, err := s.store.DueBefore(ctx, time.Now(), dueLimit)
	if err != nil {
		s.logger.WarnContext(ctx, "look for due sessions", "error", err)
		return 0, false
	}
	if len(sessions) > 0 {
		s.sweep(ctx)
		return len(sessions), false
	}
	return 0, s.runtime.Active() == 0 && s.invocations() == before
}

func (s *Stack) invocations() (n int64) {
	for _, p := range s.pollers {
		n += p.Stats().Invocations
	}
	return n
}

// sweep runs the sweep now, unless it is running.
func (s *Stack) sweep(ctx context.Context) {
	for _, sched := range s.schedules {
		if strings.EqualFold(sched.name, sweepName) && !sched.running.Load() {
			s.fire(ctx, sched)
		}
	}
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
