package erasure

import (
	"context"
	"errors"
)

// Sweep goes on with deletions that were not finished, and deletes once more the vectors that late workers may have
// brought back: twice for each deletion, at most limit of them now. It returns how many it worked off; one that fails
// stays due and does not keep the others.
func (s *Service) Sweep(ctx context.Context, limit int) (int, error) {
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

func (s *Service) visit(ctx context.Context, g Grave) error {
	if g.Session != nil && !g.Emptied {
		return s.empty(ctx, g)
	}
	return s.sweep(ctx, g)
}

// sweep deletes a grave's vectors and has it visited again, until it has had its rounds.
func (s *Service) sweep(ctx context.Context, g Grave) error {
	if g.Namespace {
		for generation := range g.Generation {
			if _, err := s.Index.Drop(ctx, g.User, generation); err != nil {
				return err
			}
		}
	} else if err := s.Index.Delete(ctx, g.User, g.Generation, g.Vectors); err != nil {
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
