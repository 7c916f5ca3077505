package erasure

import (
	"context"
	"errors"
)

// Sweeper goes on with deletions, and looks after them until nothing late can bring back what they took. It is safe
// for concurrent use.
type Sweeper struct {
	*Service
	messages Reindexer
}

// NewSweeper returns the sweeper of a service's deletions.
func NewSweeper(s *Service, messages Reindexer) *Sweeper { return &Sweeper{s, messages} }

// Sweep goes on with deletions that were not finished, and does once more what late workers may have undone: twice
// for each deletion, at most limit of them now. It returns how many it worked off; one that fails stays due and does
// not keep the others.
func (s *Sweeper) Sweep(ctx context.Context, limit int) (int, error) {
	graves, err := s.Store.GravesBefore(ctx, s.Now(), limit)
	if err != nil {
		return 0, err
	}
	done := 0
	var failures []error
	for _, g := range graves {
		if err := s.visit(ctx, g); err != nil {
			failures = append(failures, err)
			continue
		}
		done++
	}
	return done, errors.Join(failures...)
}

func (s *Sweeper) visit(ctx context.Context, g Grave) error {
	if g.Session != nil && !g.Emptied {
		return s.empty(ctx, g)
	}
	if err := s.clear(ctx, g); err != nil {
		return err
	}
	if !g.Emptied && !g.Namespace {
		return s.entomb(ctx, g)
	}
	if g.Round++; g.Round >= 2 {
		return s.Store.CloseGrave(ctx, g)
	}
	return s.Store.KeepGrave(ctx, g, s.Now().Add(sweepLast))
}

// clear takes away what a late worker may have written since, and what is left of a message's deletion.
func (s *Sweeper) clear(ctx context.Context, g Grave) error {
	if g.Namespace {
		for generation := range g.Generation {
			if _, err := s.Index.Drop(ctx, g.User, generation); err != nil {
				return err
			}
		}
		return nil
	}
	if err := s.Index.Delete(ctx, g.User, g.Generation, g.Vectors); err != nil {
		return err
	}
	if g.Message != nil {
		if err := s.messages.ReindexNext(ctx, g.User, *g.Message); err != nil {
			return err
		}
	}
	return s.forgetPrompts(ctx, g)
}
