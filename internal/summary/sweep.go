package summary

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
)

// sweepLimit is how many due sessions one sweep looks at; the next, a minute later, goes on.
const sweepLimit = 200

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
	var work errgroup.Group
	work.SetLimit(parallel)
	looked := 0
	for i, d := range due {
		if end, ok := ctx.Deadline(); ok && time.Until(end) < sweepReserve {
			break
		}
		looked++
		work.Go(func() error {
			settled[i], results[i] = s.attend(ctx, d)
			return nil
		})
	}
	_ = work.Wait() // each session's own failure stands in results
	swept := Swept{Looked: looked}
	for i := range due[:looked] {
		if results[i] != nil {
			swept.Failed++
			s.Report(ctx, "sweep session", results[i])
		}
		if settled[i] {
			swept.Settled++
		}
	}
	return swept, nil
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
	now := s.Now()
	if quiet := session.LastMessageAt.Add(s.Idle); session.Status == conversation.Active && quiet.After(now) {
		return false, s.Store.Rearm(ctx, d.User, session, quiet)
	}
	complete, err := s.cover(ctx, d.User, session)
	if err == nil && complete {
		// A write in between has moved the watermarks' goal; the store sees that and leaves the session due.
		return true, s.Store.Settle(ctx, d.User, session)
	}
	if rerr := s.Store.Rearm(ctx, d.User, session, now.Add(s.Idle)); rerr != nil && !fault.Is(rerr, fault.NotFound) {
		return false, rerr
	}
	return false, err
}

// cover brings the session's summary and index up to date. The summary that is stored already is indexed once more:
// whoever wrote it may have failed to.
func (s *Service) cover(ctx context.Context, user conversation.UserID, session conversation.Session) (complete bool, err error) {
	if record, ok := Of(session); ok && session.SummarizedSeq >= session.LastSeq && !unfinished(session) {
		if err := s.Index.IndexSummary(ctx, user, record); err != nil {
			return false, err
		}
		complete = true
	} else if complete, err = s.Summarize(ctx, user, session); err != nil {
		return false, err
	}
	return complete, s.Messages.Repair(ctx, user, session)
}
