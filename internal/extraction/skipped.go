package extraction

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/sweep"
)

const (
	// RetryAfter is when a skipped message is due again. Each time it is asked about with the rules of then, if they are
	// other ones, so a better prompt reaches it within this time.
	RetryAfter = 7 * 24 * time.Hour
	// retrySoon is when it is due again if there are other rules, and it could not be asked about.
	retrySoon = time.Hour
)

var _ sweep.Visitor = (*Service)(nil)

// Visit asks again about a skipped message that is due, if the rules are other ones than those with which the model
// gave no usable answer to it. A message that is read, or gone, leaves the index.
func (s *Service) Visit(ctx context.Context, c sweep.Claim) (sweep.Outcome, error) {
	of, ok := s.Store.SkippedDue(c.Due)
	if !ok {
		return sweep.Removed, nil
	}
	w, err := s.begin(ctx, c.User, conversation.Session{ID: of.SessionID, Context: of.Context},
		effort{leaseAttempts: 1, onlySkipped: true})
	if err == nil {
		err = w.run(ctx)
		w.release(ctx)
	}
	reading := w.session.Reading
	switch {
	case fault.Is(err, fault.NotFound):
		return sweep.Removed, nil
	case err != nil && !errors.Is(err, errNotRead) && !errors.Is(err, ErrLeaseLost):
		return sweep.Kept, err
	case !reading.Skips(of.Seq):
		return sweep.Removed, nil
	case canRetry(reading):
		return sweep.Again(s.Now().Add(retrySoon)), nil
	}
	return sweep.Again(s.Now().Add(RetryAfter)), nil
}

// canRetry reports whether a session has a skipped message that was asked about with other rules.
func canRetry(r conversation.Reading) bool {
	return slices.ContainsFunc(r.Skipped, func(m conversation.SkippedMessage) bool { return m.Prompt != promptVersion() })
}
