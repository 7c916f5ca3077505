package erasure

import (
	"context"
	"time"

	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/sweep"
)

// Sweeper goes on with unfinished deletions and erasures, and deletes what late workers bring back. It is safe for
// concurrent use.
type Sweeper struct {
	*Service
	reindexer Reindexer
}

var _ sweep.Visitor = (*Sweeper)(nil)

// NewSweeper returns the sweeper of a service's deletions.
func NewSweeper(s *Service, r Reindexer) *Sweeper { return &Sweeper{s, r} }

const (
	// neededSweeps is how often the vectors of a deletion are deleted again.
	neededSweeps = 2
	// eraseWithin is how long one visit erases a user before it makes room for others.
	eraseWithin = time.Minute
	// eraseReserve is the time before the deadline in which a visit erases no more.
	eraseReserve = 15 * time.Second
)

// Visit goes on with the deletion or the erasure of a due record.
func (s *Sweeper) Visit(ctx context.Context, c sweep.Claim) (sweep.Outcome, error) {
	if forgotten, ok, err := s.Forgetting.ForgottenDue(ctx, c.Due); ok || err != nil {
		if err != nil {
			return sweep.Kept, err
		}
		return s.forget(ctx, c.User, forgotten)
	}
	t, err := s.Tombstones.Tombstone(ctx, c.Due)
	if fault.Is(err, fault.NotFound) {
		return sweep.Removed, nil
	}
	if err != nil {
		return sweep.Kept, err
	}
	if t.Erasing {
		return s.resumeErasure(ctx, t)
	}
	return sweep.Kept, s.continueDeletion(ctx, t)
}

// resumeErasure erases a user whose caller has not come back. While a caller erases the user, the sweep waits.
func (s *Sweeper) resumeErasure(ctx context.Context, t Tombstone) (sweep.Outcome, error) {
	until := s.Now().Add(eraseWithin)
	if end, ok := ctx.Deadline(); ok {
		until = s.Now().Add(min(eraseWithin, time.Until(end)-eraseReserve))
	}
	working, cancel := context.WithTimeout(ctx, until.Sub(s.Now())+deleteReserve)
	defer cancel()
	saved, held, err := s.Users.ResumeErasure(working, t.User, until)
	if err != nil {
		return sweep.Kept, err
	}
	if !held {
		return sweep.Again(s.Now().Add(resumeAfter)), nil
	}
	receipt, err := s.continueErasure(ctx, working, t.User, saved, until)
	if err != nil || receipt.Done {
		return sweep.Kept, err
	}
	return sweep.Again(s.Now()), nil
}

// continueDeletion finishes a deletion, or deletes again what a late worker may have brought back.
func (s *Sweeper) continueDeletion(ctx context.Context, t Tombstone) error {
	if t.Session != nil && !t.Emptied {
		return s.empty(ctx, t)
	}
	if err := s.deleteAgain(ctx, t); err != nil {
		return err
	}
	if !t.Emptied && !t.Namespace {
		if err := s.recordDeletion(ctx, t); err != nil {
			return err
		}
		return s.saveEmptied(ctx, t)
	}
	if t.Sweeps++; t.Sweeps >= neededSweeps {
		return s.Tombstones.DeleteTombstone(ctx, t)
	}
	return s.Tombstones.SaveTombstone(ctx, t, s.Now().Add(lastSweepAfter))
}

// deleteAgain deletes what a late worker may have written since, and finishes the deletion of a message.
func (s *Sweeper) deleteAgain(ctx context.Context, t Tombstone) error {
	if t.Namespace {
		return s.dropNamespaces(ctx, t)
	}
	// The summary of a session has the vector of the one before it. Where there is a record again, its vector stays.
	vectors, err := s.Sources.WithoutRecord(ctx, t.User, t.Generation, t.Vectors)
	if err != nil {
		return err
	}
	if err := s.Index.Delete(ctx, t.User, t.Generation, vectors); err != nil {
		return err
	}
	if t.Message != nil {
		index := &vectorDeleter{Service: s.Service, user: t.User, generation: t.Generation}
		if _, err := s.deleteDrawn(ctx, index, noneIsDeleted); err != nil {
			return err
		}
		if err := s.reindexer.ReindexNext(ctx, t.User, *t.Message); err != nil {
			return err
		}
	}
	return s.deletePrompts(ctx, t)
}

// dropNamespaces deletes the vectors of a user's earlier generations.
func (s *Sweeper) dropNamespaces(ctx context.Context, t Tombstone) error {
	for generation := range t.Generation {
		if _, err := s.Index.Drop(ctx, t.User, generation); err != nil {
			return err
		}
	}
	return nil
}
