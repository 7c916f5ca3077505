package dynamo

import (
	"context"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/migration"
)

// WithInitialStage sets the stage of the migration of a table that has no record of it. The default is shared.
func WithInitialStage(s migration.Stage) Option { return func(db *DB) { db.stages.initial = s } }

// stageCache remembers the state of the migration for migration.SettleTime.
type stageCache struct {
	initial migration.Stage

	mu     sync.Mutex
	state  migration.State
	readAt time.Time // when the read began
}

func newStageCache() *stageCache { return &stageCache{initial: migration.Shared} }

// migrationState returns the state of the migration, as it was at most migration.SettleTime ago.
func (db *DB) migrationState(ctx context.Context) (migration.State, error) {
	c := db.stages
	if c.isStale(db.now()) {
		return NewStageStore(db).State(ctx)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state, nil
}

// IsMigrated reports whether the shared store has the user's history.
func (s *MessageStore) IsMigrated(ctx context.Context, user conversation.UserID) (bool, error) {
	state, err := s.db.migrationState(ctx)
	return state.IsMoved(user), err
}

// isStale reports whether the state has to be read.
func (c *stageCache) isStale(now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.readAt.IsZero() || now.Sub(c.readAt) >= migration.SettleTime
}

// in returns the state that was read with other records.
func (c *stageCache) in(records recordSet) migration.State {
	if it, ok := records[stateKey]; ok {
		return decodeState(it)
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
type StageStore struct{ db *DB }

// NewStageStore returns the state of the migration of a DB's table.
func NewStageStore(db *DB) *StageStore { return &StageStore{db} }

// State reads the state, consistently.
func (s *StageStore) State(ctx context.Context) (migration.State, error) {
	began := s.db.now()
	records, err := s.db.read(ctx, "read stage", stateKey)
	if err != nil {
		return migration.State{}, err
	}
	state := s.db.stages.in(records)
	s.db.stages.save(state, began)
	return state, nil
}

// Save replaces the state that the caller has read. Where another caller has changed it since, it returns a Conflict
// error with the state that it has now.
func (s *StageStore) Save(ctx context.Context, before, after migration.State) error {
	const op = "change stage"
	unchanged := notExists()
	if before.Version > 0 {
		unchanged = expression.Equal(field(attrVersion), value(intAttr(before.Version)))
	}
	t := s.db.transaction()
	t.put(encodeState(after), unchanged)
	b := s.db.backoff()
	failures, err := s.db.commit(ctx, op, t, b)
	if err != nil {
		return err
	}
	if failures != nil {
		now, err := s.State(ctx)
		if err != nil {
			return err
		}
		if b.ambiguous && now == after {
			return nil
		}
		return fault.Newf(fault.Conflict, "somebody else has changed the migration at the same time: the stage is %s at %d%%",
			now.Stage, now.Percent)
	}
	s.db.stages.save(after, s.db.now())
	return nil
}

func encodeState(s migration.State) item {
	it := stateKey.attributes()
	it[attrStage] = stringAttr(string(s.Stage))
	it[attrPercent] = intAttr(s.Percent)
	it[attrCleaned] = boolAttr(s.Cleaned)
	it[attrBackfilled] = intAttr(s.Backfilled)
	it[attrVersion] = intAttr(s.Version)
	it.setTime(attrChangedAt, s.ChangedAt)
	it.setTime(attrVerifiedAt, s.VerifiedAt)
	return it
}

func decodeState(it item) migration.State {
	return migration.State{
		Stage: migration.Stage(it.string(attrStage)), Percent: int(it.int64(attrPercent)), Cleaned: it.bool(attrCleaned),
		ChangedAt: it.time(attrChangedAt), Version: it.int64(attrVersion), Backfilled: int(it.int64(attrBackfilled)),
		VerifiedAt: it.time(attrVerifiedAt),
	}
}
