package migration_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/migration"
	"github.com/throughline/throughline/internal/testing/check"
)

// TestTargets runs actions on a table of one record. Each moves it where it should be, or has nothing to do with it.
func TestTargets(t *testing.T) {
	t.Parallel()
	const embedded, dual, read, shared = migration.Embedded, migration.Dual, migration.SharedRead, migration.Shared
	inArray := migration.Record{Placement: migration.InArray, Messages: 3}
	copied := migration.Record{Placement: migration.InBoth}
	inStore := migration.Record{Placement: migration.InStore}
	due := migration.Record{Placement: migration.InBoth, IsUncovered: true}
	parked := migration.Record{Placement: migration.InStore, Parked: true}
	const backfill, verify, rollback = migration.Backfill, migration.Verify, migration.Rollback
	for _, c := range []struct {
		action  migration.Action
		stage   migration.Stage
		back    migration.Stage // of a rollback
		outside bool            // the user is not among those of the stage
		record  migration.Record
		// want is where the session should be, empty if nothing is done.
		want migration.Placement
	}{
		{action: backfill, stage: dual, record: inArray, want: migration.InBoth},
		{action: backfill, stage: dual, record: inArray, outside: true},
		{action: backfill, stage: dual, record: copied, want: migration.InBoth}, // to which the app may have written
		{action: backfill, stage: dual, record: inStore},                        // it has outgrown its array
		{action: backfill, stage: read, record: inArray, want: migration.InBoth},
		{action: backfill, stage: shared, record: inArray, want: migration.InStore},
		{action: backfill, stage: shared, record: copied, want: migration.InStore},
		{action: backfill, stage: shared, record: copied, outside: true, want: migration.InBoth},
		{action: backfill, stage: shared, record: inStore},
		{action: rollback, stage: shared, back: read, record: inStore, want: migration.InBoth},
		{action: rollback, stage: shared, back: read, record: copied},
		{action: rollback, stage: read, back: dual, record: copied},
		{action: rollback, stage: dual, back: embedded, record: copied, want: migration.InArray},
		{action: rollback, stage: dual, back: embedded, record: inStore, want: migration.InArray},
		{action: rollback, stage: dual, back: embedded, record: inArray},
		{action: verify, stage: dual, record: inArray, want: migration.InBoth},
		{action: verify, stage: dual, record: copied, outside: true},
		{action: verify, stage: shared, record: inStore, want: migration.InStore},
		{action: migration.Index, stage: dual, record: due, want: migration.InBoth},
		{action: migration.Index, stage: dual, record: due, outside: true},
		{action: migration.Index, stage: dual, record: copied},
		{action: migration.Cleanup, stage: shared, record: parked, want: migration.InStore},
		{action: migration.Cleanup, stage: shared, record: inStore},
	} {
		t.Run(fmt.Sprintf("%s in %s of %+v", c.action, c.stage, c.record), func(t *testing.T) {
			t.Parallel()
			f := newFakeTable(0)
			f.state = at(c.stage, 100, 100, true)
			if c.outside {
				f.state.Percent, f.state.Backfilled = 50, 50
			}
			c.record.Key, c.record.User = "000", userOf(f.state, !c.outside)
			f.records = []migration.Record{c.record}
			out, err := f.service().Run(t.Context(), migration.Request{
				Action: string(c.action), To: string(c.back), Percent: 100, TotalSegments: 1,
			})
			var want []migration.Placement
			if c.want != "" {
				want = append(want, c.want)
			}
			if err != nil || !out.Done || !slices.Equal(f.moved, want) {
				t.Errorf("%+v, %v: moved to %v, want %v", out.Progress, err, f.moved, want)
			}
		})
	}
}

// userOf returns a user who is among those of the stage, or who is not.
func userOf(s migration.State, in bool) conversation.UserID {
	for i := 0; ; i++ {
		if user := conversation.UserID(fmt.Sprint("u", i)); (s.Of(user) == s.Stage) == in {
			return user
		}
	}
}

// TestRefusals gives actions that the stage does not allow.
func TestRefusals(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		state  migration.State
		action string
		says   string
	}{
		{at(migration.Embedded, 100, 0, false), "backfill", "advance to dual before backfill"},
		{at(migration.Embedded, 100, 0, false), "verify", "advance to dual before verify"},
		{at(migration.Dual, 100, 0, false), "index", "run backfill first"},
		{at(migration.Shared, 50, 100, true), "cleanup", "needs shared at 100%"},
	} {
		f := newFakeTable(1)
		f.state = c.state
		_, err := f.service().Run(t.Context(), migration.Request{Action: c.action, Percent: 100, TotalSegments: 1})
		if !fault.Is(err, fault.Conflict) || !strings.Contains(err.Error(), c.says) || len(f.done) > 0 {
			t.Errorf("%s in %s: %v after %v, want %q", c.action, c.state.Stage, err, f.done, c.says)
		}
	}
}

// TestGoneRecords deletes a session before the work on it. It is no problem, and the run goes on.
func TestGoneRecords(t *testing.T) {
	t.Parallel()
	f := newFakeTable(3)
	f.gone = []string{"001"}
	out, err := f.service().Run(t.Context(), backfill(0, 1, ""))
	if err != nil || !out.Done || out.Progress.Problems > 0 || !slices.Equal(f.done, []string{"000", "002"}) {
		t.Errorf("worked on %v, %+v, %v", f.done, out.Progress, err)
	}
}

// TestSegmentsOfOneVerify checks that a verify began when the first of its segments did, that each names the number of
// all, and that the next step waits until the stage has settled.
func TestSegmentsOfOneVerify(t *testing.T) {
	t.Parallel()
	f := newFakeTable(4)
	f.state = at(migration.SharedRead, 100, 100, false)
	run := func(segment, total int) migration.Answer {
		t.Helper()
		out := check.Got(f.service().Run(t.Context(), migration.Request{
			Action: "verify", Percent: 100, Segment: segment, TotalSegments: total,
		}))(t)
		return out
	}
	before := f.state.VerifiedAt
	began := f.now
	run(0, 3)
	f.now = f.now.Add(time.Minute)
	run(1, 3)
	run(0, 2) // no segment of three
	if f.state.VerifiedAt != before {
		t.Error("two segments of three, or one of two, are taken for all")
	}
	run(2, 3)
	if f.state.VerifiedAt != began {
		t.Errorf("verified %v, want %v", f.state.VerifiedAt, began)
	}
	f.state.ChangedAt, f.state.VerifiedAt, f.slept = f.now, f.now.Add(time.Second), 0
	if _, err := f.service().Advance(t.Context(), migration.Request{To: "shared", Percent: 10}); err != nil ||
		f.slept != migration.SettleTime {
		t.Errorf("advance waited %v, %v", f.slept, err)
	}
}
