package migration_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/migration"
	"github.com/throughline/throughline/internal/testing/check"
)

// TestRunResumes kills a run and lets its time end. The next call goes on where the segment stopped.
func TestRunResumes(t *testing.T) {
	t.Parallel()
	f := newFakeTable(12)
	f.fail = "006"
	if _, err := f.service().Run(t.Context(), backfill(0, 1, "")); !errors.Is(err, errKilled) {
		t.Fatalf("got %v", err)
	}
	f.fail = ""
	f.now = time.Now().Add(time.Minute) // after the deadline
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	out, err := f.service().Run(ctx, backfill(0, 1, ""))
	if err != nil || out.Done || out.Checkpoint == "" {
		t.Fatalf("got %+v, %v", out, err)
	}
	want := []string{"000", "001", "002", "003", "004", "005", "004"}
	check.Same(t, want, f.done, "worked on")
	if out, err = f.service().Run(t.Context(), backfill(0, 1, out.Checkpoint)); err != nil || !out.Done {
		t.Fatalf("got %+v, %v", out, err)
	}
	if want = append(want, "005", "006", "007", "008", "009", "010", "011"); !slices.Equal(f.done, want) {
		t.Errorf("worked on %v, want %v", f.done, want)
	}
	if out.Backfilled != 100 || f.state.Backfilled != 100 || out.Progress.Percent != 100 {
		t.Errorf("got %+v", out)
	}
}

// TestRunsOfAnotherStage checks that segments count together only if all began in the stage as it is.
func TestRunsOfAnotherStage(t *testing.T) {
	t.Parallel()
	f := newFakeTable(4)
	run := func(segment int) {
		t.Helper()
		check.Got(f.service().Run(t.Context(), backfill(segment, 2, "")))(t)
	}
	run(0)
	if f.state.Backfilled != 0 {
		t.Error("one segment of two is taken for all")
	}
	f.state.ChangedAt = f.state.ChangedAt.Add(time.Minute)
	run(1)
	if f.state.Backfilled != 0 {
		t.Error("a segment of an earlier stage counts")
	}
	run(0)
	if f.state.Backfilled != 100 {
		t.Error("two segments of two do not count")
	}
}

// TestRunEndsWithItsStage changes the stage while a run is under way. The run ends, because it would move sessions to
// where they should not be any more, and leaves the segment to the runs of the new stage.
func TestRunEndsWithItsStage(t *testing.T) {
	t.Parallel()
	f := newFakeTable(12)
	f.before = func(key string) {
		if key != "005" {
			return
		}
		f.state.Stage, f.state.ChangedAt = migration.Embedded, f.now
		f.runs[migration.Segment{Total: 1}] = migration.Run{Action: migration.Rollback, ChangedAt: f.now, Done: true}
	}
	_, err := f.service().Run(t.Context(), backfill(0, 1, ""))
	if !fault.Is(err, fault.Conflict) || !strings.Contains(err.Error(), "the stage has become embedded at 100%") {
		t.Errorf("got %v", err)
	}
	if want := []string{"000", "001", "002", "003", "004", "005"}; !slices.Equal(f.done, want) {
		t.Errorf("worked on %v, want %v", f.done, want)
	}
	if run := f.runs[migration.Segment{Total: 1}]; run.Action != migration.Rollback || !run.Done {
		t.Errorf("the segment has the run %+v", run)
	}
}

// TestCleanupClosesTheWayBack kills a cleanup. Some arrays are deleted, so there is no way back from then on, and the
// cleanup can be given again.
func TestCleanupClosesTheWayBack(t *testing.T) {
	t.Parallel()
	f := newFakeTable(3)
	for i := range f.records {
		f.records[i].Parked = true
	}
	f.state.Stage, f.state.VerifiedAt, f.fail = migration.Shared, f.now, "001"
	cleanup := migration.Request{Action: "cleanup", Percent: 100, TotalSegments: 1, RateLimit: slow}
	if _, err := f.service().Run(t.Context(), cleanup); !errors.Is(err, errKilled) {
		t.Fatalf("got %v", err)
	}
	back := migration.Request{Action: "rollback", To: "shared-read", Percent: 100, TotalSegments: 1}
	check.Fault(t, check.ErrorOf(f.service().Run(t.Context(), back)), fault.Conflict, "the way back")
	f.fail = ""
	if out, err := f.service().Run(t.Context(), cleanup); err != nil || !out.Done || !out.Cleaned {
		t.Errorf("got %+v, %v", out, err)
	}
}

// TestVerifyCounts checks that a verify counts which finds nothing, and that what it finds is named.
func TestVerifyCounts(t *testing.T) {
	t.Parallel()
	f := newFakeTable(2)
	f.differs = migration.Unmovable("the contents differ")
	verify := migration.Request{Action: "verify", Percent: 100, TotalSegments: 1, RateLimit: slow}
	out, err := f.service().Run(t.Context(), verify)
	want := migration.Mismatch{UserID: "u", SessionID: "0", Reason: "the contents differ"}
	if err != nil || !out.Done || out.VerifiedAt != "" || len(out.Mismatches) != 2 || out.Mismatches[0] != want {
		t.Errorf("got %+v, %v", out, err)
	}
	f.differs = nil
	began := f.now
	out, err = f.service().Run(t.Context(), verify)
	if err != nil || out.VerifiedAt != conversation.FormatTime(began) {
		t.Errorf("got %+v, %v", out, err)
	}
}

// TestOneUserAtATime works on the sessions of several users. Those of one user follow each other.
func TestOneUserAtATime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFakeTable(4)
		for i, user := range []conversation.UserID{"a", "a", "b", "b"} {
			f.records[i].User = user
		}
		c := &crowd{fakeTable: f, running: map[conversation.UserID]int{}}
		s := f.service()
		s.Table = c
		r := backfill(0, 1, "")
		r.RateLimit = 0
		check.Got(s.Run(t.Context(), r))(t)
		if c.ofUser != 1 || c.most != 2 {
			t.Errorf("%d records at once, %d of one user, want 2 and 1", c.most, c.ofUser)
		}
	})
}
