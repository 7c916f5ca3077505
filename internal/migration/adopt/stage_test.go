package adopt_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/migration"
	"github.com/throughline/throughline/internal/migration/adopt"
	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/testing/dynamodbtest"
	"github.com/throughline/throughline/internal/testing/dynamotest"
)

// TestStageIsRead checks that an instance learns of a new stage within migration.SettleTime.
func TestStageIsRead(t *testing.T) {
	t.Parallel()
	clock := dynamotest.NewClock()
	table := dynamotest.Table(t)
	instance := open(dynamodbtest.Client(t), table, clock.Option(), adopt.WithInitialStage(migration.Embedded))
	operator := adopt.NewStageStore(open(dynamodbtest.Client(t), table, clock.Option(),
		adopt.WithInitialStage(migration.Embedded)))
	want := func(stage migration.Stage) {
		t.Helper()
		if state, err := adopt.MigrationState(t.Context(), instance); err != nil || state.Stage != stage {
			t.Errorf("the instance uses %+v, %v; want %s", state, err, stage)
		}
	}
	want(migration.Embedded)
	before := check.Got(operator.State(t.Context()))(t)
	after := check.Got(before.Advance(migration.Dual, 10, clock.Time()))(t)
	after.VerifiedAt, after.Cleaned = clock.Time(), true
	check.OK(t, operator.Save(t.Context(), before, after))
	if again, err := operator.State(t.Context()); err != nil || again != after {
		t.Errorf("stored %+v, read %+v, %v", after, again, err)
	}
	clock.Advance(migration.SettleTime - time.Millisecond)
	want(migration.Embedded)
	clock.Advance(time.Millisecond)
	want(migration.Dual)
}

// TestTwoOperators lets several operators change the stage at the same time.
func TestTwoOperators(t *testing.T) {
	t.Parallel()
	s := adopt.NewStageStore(open(dynamodbtest.Client(t), dynamotest.Table(t),
		adopt.WithInitialStage(migration.Embedded)))
	for range 2 { // without a record, and with one
		before := check.Got(s.State(t.Context()))(t)
		var won, refused atomic.Int32
		var operators sync.WaitGroup
		for i := range 4 {
			operators.Go(func() {
				after, err := before.Advance(migration.Dual, before.Percent%100+1+i, time.Now())
				if err != nil {
					t.Error(err)
				}
				switch err = s.Save(t.Context(), before, after); {
				case err == nil:
					won.Add(1)
				case fault.Is(err, fault.Conflict):
					refused.Add(1)
				default:
					t.Error(err)
				}
			})
		}
		operators.Wait()
		if won.Load() != 1 || refused.Load() != 3 {
			t.Errorf("%d operators won and %d were refused", won.Load(), refused.Load())
		}
	}
}
