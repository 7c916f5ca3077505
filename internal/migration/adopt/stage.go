package adopt

import (
	"context"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/dynamo/table"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/migration"
)

// stageCache remembers the state of the migration for migration.SettleTime.
type stageCache struct {
	initial migration.Stage

	mu     sync.Mutex
	state  migration.State
	readAt time.Time // when the read began
}

// migrationState returns the state of the migration, as it was at most migration.SettleTime ago.
func (a *Adopter) migrationState(ctx context.Context) (migration.State, error) {
	c := a.stages
	if c.isStale(a.db.Now()) {
		return (&StageStore{a}).State(ctx)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state, nil
}

// isStale reports whether the state has to be read.
func (c *stageCache) isStale(now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.readAt.IsZero() || now.Sub(c.readAt) >= migration.SettleTime
}

// in returns the state that was read with other records.
func (c *stageCache) in(records table.RecordSet) migration.State {
	if it, ok := records[stateKey()]; ok {
		return table.Decode[migration.State](it)
	}
	return migration.Initial(c.initial)
}

func (c *stageCache) save(state migration.State, readAt time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if state.Version >= c.state.Version {
		c.state, c.readAt = state, readAt
	}
}

// StageStore reads and changes the state of the migration. It is safe for concurrent use.
type StageStore struct{ *Adopter }

// NewStageStore returns the state of the migration of a DB's table.
func NewStageStore(db *dynamo.DB) *StageStore { return &StageStore{Of(db)} }

// State reads the state, consistently.
func (s *StageStore) State(ctx context.Context) (migration.State, error) {
	began := s.db.Now()
	records, err := s.db.Read(ctx, "read stage", stateKey())
	if err != nil {
		return migration.State{}, err
	}
	state := s.stages.in(records)
	s.stages.save(state, began)
	return state, nil
}

// Save replaces the state that the caller has read. Where another caller has changed it since, it returns a Conflict
// error with the state that it has now.
func (s *StageStore) Save(ctx context.Context, before, after migration.State) error {
	const op = "change stage"
	unchanged := table.NotExists()
	if before.Version > 0 {
		unchanged = expression.Equal(table.Field(table.AttrVersion), table.Value(before.Version))
	}
	t := s.db.Transaction()
	t.Put(table.Encode(after).With(stateKey().Attributes()), unchanged)
	t.DoneIf(func(r table.RecordSet) bool { return s.stages.in(r) == after }, stateKey())
	failures, err := s.db.Commit(ctx, op, t, s.db.Backoff())
	if err != nil {
		return err
	}
	if failures != nil {
		now, err := s.State(ctx)
		if err != nil {
			return err
		}
		return fault.Newf(fault.Conflict, "somebody else has changed the migration at the same time: the stage is %s at %d%%",
			now.Stage, now.Percent)
	}
	s.stages.save(after, s.db.Now())
	return nil
}
