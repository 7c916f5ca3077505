package migration

import (
	"context"

	"github.com/throughline/throughline/internal/fault"
)

// check returns a Conflict error that says what is missing for an action.
func check(a Action, s State) error {
	switch {
	case a == Cleanup:
		return s.CheckCleanup()
	case a == Index && s.Backfilled == 0:
		return fault.New(fault.Conflict, "nothing is in the shared store yet; run backfill first")
	case a != Rollback && s.Stage == Embedded:
		return fault.Newf(fault.Conflict, "the stage is embedded; advance to dual before %s", a)
	}
	return nil
}

// rollback changes the state, unless an earlier call has done so.
func (s *Service) rollback(ctx context.Context, state State, r Request) (State, error) {
	to, err := ParseStage(r.To)
	if err != nil {
		return state, err
	}
	for {
		if state.Stage == to && state.Percent == r.Percent {
			return state, nil
		}
		after, err := state.Rollback(to, r.Percent, s.Now())
		if err != nil {
			return state, err
		}
		err = s.Table.Save(ctx, state, after)
		if !fault.Is(err, fault.Conflict) {
			return after, err
		}
		if state, err = s.Table.State(ctx); err != nil {
			return state, err
		}
	}
}

// closeWayBack notes in the state that a cleanup has begun. A way back would lack the arrays that it has deleted.
func (s *Service) closeWayBack(ctx context.Context, state State) (State, error) {
	for !state.Cleaned {
		after := state
		after.Cleaned = true
		after.Version++
		err := s.Table.Save(ctx, state, after)
		if err == nil || !fault.Is(err, fault.Conflict) {
			return after, err
		}
		if state, err = s.Table.State(ctx); err != nil {
			return state, err
		}
		if err = check(Cleanup, state); err != nil {
			return state, err
		}
	}
	return state, nil
}
