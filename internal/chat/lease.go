package chat

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/delay"
	"github.com/throughline/throughline/internal/fault"
)

const (
	// leaseTime is how long a turn is reserved for its request. The lease is renewed until the answer is stored, so that
	// after a crash a repeat has to wait at most this long.
	leaseTime = 30 * time.Second
	// renewAfter is when the lease is renewed, renewTimeout limits one call that does so, and renewAgain is the wait after
	// one that failed. There is time for two.
	renewAfter   = leaseTime * 2 / 3
	renewTimeout = 3 * time.Second
	renewAgain   = time.Second
	// watchAfter is how often a turn looks whether its session is still there, so that the answer to a user who was erased
	// ends at once. A short answer costs no look.
	watchAfter = 5 * time.Second
	// saveAfter is how often the text so far is saved while somebody has joined the turn.
	saveAfter = time.Second
	// clockSkew is how far the clocks of two instances may differ. By so much earlier a request gives its lease up.
	clockSkew = 2 * time.Second
)

// turnLease is a turn that is reserved for this request, from the storing of the user's message to that of the answer.
type turnLease struct {
	*Service
	user conversation.UserID
	turn conversation.Turn
	// held ends when the turn has no reason to go on: its cause is errLeaseLost, or a NotFound error when the session is
	// gone. The client's cancellation does not end it.
	held context.Context
	lose context.CancelCauseFunc
	// stop ends the renewing. It may be called more than once.
	stop context.CancelFunc
	said said
}

var errLeaseLost error = fault.New(fault.Conflict, "another request may have taken this turn over")

// keepLease renews the lease of a turn, which was taken at a time or later, and watches its session, until it is
// stopped. It bounds the time for which it does so, in case nobody reads the events. Without an idempotency key there
// is no lease.
func (s *Service) keepLease(ctx context.Context, user conversation.UserID, turn conversation.Turn, taken time.Time,
) *turnLease {
	held, lose := context.WithCancelCause(context.WithoutCancel(ctx))
	renewing, stop := context.WithTimeout(held, Longest(s.Timeout))
	l := &turnLease{Service: s, user: user, turn: turn, held: held, lose: lose, stop: stop}
	if turn.Lease != "" {
		go l.renew(renewing, taken)
	}
	go l.watch(renewing)
	return l
}

// watch ends the turn when its session or its message was deleted, or its user erased. A look that fails says nothing.
// While somebody has joined the turn, it saves the text so far between the looks.
func (l *turnLease) watch(ctx context.Context) {
	joined, saved := false, 0
	for next := time.Now().Add(watchAfter); ; {
		wait := time.Until(next)
		if joined {
			wait = min(wait, saveAfter)
		}
		if delay.Sleep(ctx, wait) != nil {
			return
		}
		if !time.Now().Before(next) {
			next = time.Now().Add(watchAfter)
			isJoined, err := l.look(ctx)
			if fault.Is(err, fault.NotFound) || fault.Is(err, fault.Conflict) {
				l.lose(err)
				return
			}
			joined = err == nil && isJoined
		}
		if joined {
			saved = l.save(ctx, saved)
		}
	}
}

// look reports whether somebody has joined the turn.
func (l *turnLease) look(ctx context.Context) (joined bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, renewTimeout)
	defer cancel()
	return l.Watch.CheckTurn(ctx, l.user, l.turn)
}

// save saves the text so far if it is longer than what was saved last. It returns how long the saved text is.
func (l *turnLease) save(ctx context.Context, saved int) int {
	p := l.said.progress()
	if p.PromptID == "" || len(p.Text) <= saved && saved > 0 || len(p.Text) > conversation.MaxContentBytes {
		return saved
	}
	ctx, cancel := context.WithTimeout(ctx, renewTimeout)
	defer cancel()
	if err := l.Watch.SaveProgress(ctx, l.user, l.turn, p); err != nil {
		if ctx.Err() == nil {
			l.Report(ctx, "save progress", err)
		}
		return saved
	}
	return max(len(p.Text), 1)
}

// said is what the model has said so far, for those who join the turn. The run of the answer writes it, the watch reads
// it.
type said struct {
	mu       sync.Mutex
	promptID string
	text     strings.Builder
}

func (s *said) begin(promptID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.promptID = promptID
}

func (s *said) add(delta string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text.WriteString(delta)
}

func (s *said) progress() conversation.Progress {
	s.mu.Lock()
	defer s.mu.Unlock()
	return conversation.Progress{PromptID: s.promptID, Text: s.text.String()}
}

// renew renews the lease until ctx ends. The lease is lost when another request may have the turn: because that has
// taken it over, or because no renewal succeeded in time.
func (l *turnLease) renew(ctx context.Context, taken time.Time) {
	end, next := taken.Add(leaseTime-clockSkew), taken.Add(renewAfter)
	for {
		if delay.Sleep(ctx, time.Until(next)) != nil {
			return // the turn has ended
		}
		began := time.Now()
		inTime, cancel := context.WithTimeout(ctx, min(renewTimeout, time.Until(end)))
		err := l.Turns.RenewTurn(inTime, l.user, l.turn, leaseTime)
		cancel()
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			end, next = began.Add(leaseTime-clockSkew), began.Add(renewAfter)
		case fault.Is(err, fault.Conflict) || !time.Now().Before(end):
			l.Report(ctx, "renew turn", err)
			l.lose(errLeaseLost)
			return
		default:
			next = time.Now().Add(min(renewAgain, time.Until(end)))
		}
	}
}

// release ends a turn that has no answer, and has it charged for what it has spent.
func (l *turnLease) release(ctx context.Context, spent int) {
	l.stop()
	if turn := l.spent(spent); turn.Lease != "" || turn.Permit != "" || spent > 0 {
		l.Service.release(ctx, l.user, turn)
	}
}

// release gives the lease and the permit of a turn back, so that a repeat of the request need not wait. The user's
// message stays. When the release fails, lease and permit expire by themselves. A lease that another request has, or
// that went with the user, is not reported.
func (s *Service) release(ctx context.Context, user conversation.UserID, turn conversation.Turn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), renewTimeout)
	defer cancel()
	if err := s.Turns.ReleaseTurn(ctx, user, turn); err != nil && !fault.Is(err, fault.Conflict) {
		s.Report(ctx, "release turn", err)
	}
}

// spent returns the turn with what it is charged. The renewing reads the turn until it has ended.
func (l *turnLease) spent(tokens int) conversation.Turn {
	turn := l.turn
	turn.Spent = tokens
	return turn
}

// ended returns why the turn has no reason to go on, or nil.
func (l *turnLease) ended() error {
	if l.held.Err() == nil {
		return nil
	}
	return context.Cause(l.held)
}
