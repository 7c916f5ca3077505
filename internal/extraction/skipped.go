package extraction

import (
	"context"
	"errors"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/sweep"
)

const (
	// RetryAfter is when a skipped message is due again. Each time it is asked about with the rules and the model of then,
	// so a better prompt or a model that is well again reaches it within this time.
	RetryAfter = 7 * 24 * time.Hour
	// retrySoon is when it is due again if it could not be asked about.
	retrySoon = time.Hour
)

var _ sweep.Visitor = (*Service)(nil)

// Visit asks again about a skipped message that is due. A message that is read, or gone, leaves the index.
func (s *Service) Visit(ctx context.Context, c sweep.Claim) (sweep.Outcome, error) {
	of, ok := s.Store.SkippedDue(c.Due)
	if !ok {
		return sweep.Removed, nil
	}
	w, err := s.begin(ctx, c.User, conversation.Session{ID: of.SessionID, Context: of.Context},
		effort{leaseAttempts: 1, skipped: of.Seq})
	if err == nil {
		err = w.run(ctx)
		w.release(ctx)
	}
	isLeft := errors.Is(err, errNotRead) || errors.Is(err, ErrLeaseLost)
	switch {
	case fault.Is(err, fault.NotFound):
		return sweep.Removed, nil
	case err != nil && !isLeft:
		return sweep.Kept, err
	case !w.session.Reading.Skips(of.Seq):
		return sweep.Removed, nil
	case isLeft:
		return sweep.Again(s.Now().Add(retrySoon)), nil
	}
	return sweep.Again(s.Now().Add(RetryAfter)), nil
}
