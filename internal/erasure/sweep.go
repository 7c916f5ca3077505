package erasure

import (
	"context"
	"errors"
)

// Sweeper goes on with unfinished deletions, and deletes what late workers bring back. It is safe for concurrent use.
type Sweeper struct {
	*Service
	reindexer Reindexer
}

// NewSweeper returns the sweeper of a service's deletions.
func NewSweeper(s *Service, r Reindexer) *Sweeper { return &Sweeper{s, r} }

// neededSweeps is how often the vectors of a deletion are deleted again.
const neededSweeps = 2

// Sweep handles at most limit of the tombstones that are due, and returns how many succeeded. One that fails stays due,
// and the others are handled all the same.
func (s *Sweeper) Sweep(ctx context.Context, limit int) (int, error) {
	due, err := s.Tombstones.TombstonesDue(ctx, s.Now(), limit)
	if err != nil {
		return 0, err
	}
	done := 0
	var failures []error
	for _, t := range due {
		if err := s.sweep(ctx, t); err != nil {
			failures = append(failures, err)
			continue
		}
		done++
	}
	return done, errors.Join(failures...)
}

func (s *Sweeper) sweep(ctx context.Context, t Tombstone) error {
	if t.Session != nil && !t.Emptied {
		return s.empty(ctx, t)
	}
	if err := s.deleteAgain(ctx, t); err != nil {
		return err
	}
	if !t.Emptied && !t.Namespace {
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
		for generation := range t.Generation {
			if _, err := s.Index.Drop(ctx, t.User, generation); err != nil {
				return err
			}
		}
		return nil
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
		if err := s.reindexer.ReindexNext(ctx, t.User, *t.Message); err != nil {
			return err
		}
	}
	return s.deletePrompts(ctx, t)
}
