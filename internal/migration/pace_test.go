package migration_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/migration"
)

// TestRunWaits checks that a run waits until a change has settled, keeps to its limit, and slows down after throttles.
func TestRunWaits(t *testing.T) {
	t.Parallel()
	f := newFakeTable(8)
	f.state.ChangedAt = f.now
	r := backfill(0, 1, "")
	r.RateLimit = 2 // 10 messages take 5 s, of which the work takes 1 s
	if _, err := f.service().Run(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if want := migration.SettleTime + 8*4*time.Second; f.slept != want {
		t.Errorf("slept %v, want %v", f.slept, want)
	}
	f = newFakeTable(2)
	f.throttles = 1
	if _, err := f.service().Run(t.Context(), backfill(0, 1, "")); err != nil {
		t.Fatal(err)
	}
	// 10 messages a second were too many, and then 5: the rates are 5 and 2.5.
	if want := time.Second + 3*time.Second; f.slept != want {
		t.Errorf("after throttles it slept %v, want %v", f.slept, want)
	}
}

// TestRunRecovers checks that a run grows faster again after throttles, and never past its limit.
func TestRunRecovers(t *testing.T) {
	t.Parallel()
	f := newFakeTable(12)
	r := backfill(0, 1, "")
	r.RateLimit = 8 // 10 messages take 1.25 s, of which the work takes 1 s
	f.throttledUntil = 1
	if _, err := f.service().Run(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	// After the throttle the rate is 4, and then a fifth more each time: 4.8, 5.76, 6.9, and 8 from then on.
	want := 2500*time.Millisecond - time.Second
	for rate := 4.8; rate < 8; rate *= 1.2 {
		want += time.Duration(10/rate*float64(time.Second)) - time.Second
	}
	want += 8 * 250 * time.Millisecond
	if diff := f.slept - want; diff.Abs() > time.Millisecond {
		t.Errorf("slept %v, want %v", f.slept, want)
	}
}

// TestRunKeepsToTheCapacity checks that the segments take half of what the table or an index has, by what takes
// longest.
func TestRunKeepsToTheCapacity(t *testing.T) {
	t.Parallel()
	writes, indexWrites := migration.Kind{Write: true}, migration.Kind{Index: "x", Write: true}
	for name, c := range map[string]struct {
		capacity         migration.Capacity
		scanned, written migration.Units
		segments         int
		want             time.Duration
	}{
		"writes":   {migration.Capacity{writes: {Units: 20}}, nil, migration.Units{writes: 30}, 1, 8 * 2 * time.Second},
		"segments": {migration.Capacity{writes: {Units: 20}}, nil, migration.Units{writes: 30}, 2, 4 * 5 * time.Second},
		"an index": {
			migration.Capacity{writes: {Units: 20}, indexWrites: {Units: 4}},
			nil,
			migration.Units{writes: 30, indexWrites: 15},
			1, 8 * 6500 * time.Millisecond,
		},
		"reads": {migration.Capacity{{}: {Units: 8}}, migration.Units{{}: 40}, nil, 1, 2 * 10 * time.Second},
		"room":  {migration.Capacity{writes: {Units: 60}}, nil, migration.Units{writes: 30}, 1, 0},
		"no known limit": {
			migration.Capacity{{}: {Units: 1}}, nil, migration.Units{writes: 30}, 1, 0,
		},
	} {
		f := newFakeTable(8)
		f.capacity, f.scanned, f.written = c.capacity, c.scanned, c.written
		out, err := f.service().Run(t.Context(), backfill(0, c.segments, ""))
		if err != nil {
			t.Fatal(err)
		}
		if f.slept != c.want {
			t.Errorf("%s: slept %v, want %v", name, f.slept, c.want)
		}
		if want := float64(len(f.done)) * (c.written[writes] + c.written[indexWrites]); out.Progress.WriteUnits != want {
			t.Errorf("%s: it took %v write units, want %v", name, out.Progress.WriteUnits, want)
		}
	}
}

// TestForecastOfTime compares the time of a dry run with that of a run, in a table with a limit, in one that grows with
// its use, and with a limit of messages.
func TestForecastOfTime(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		limit migration.Limit
		rate  float64
	}{
		"provisioned": {migration.Limit{Units: 8}, slow},
		"on demand":   {migration.Limit{Units: 8, Grows: true}, slow},
		"rate":        {migration.Limit{Units: 800}, 2},
	} {
		f := newFakeTable(400)
		f.capacity = migration.Capacity{{Write: true}: c.limit}
		r := backfill(0, 1, "")
		r.RateLimit, r.DryRun = c.rate, true
		plan, err := f.service().Run(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		each := plan.Forecast.WriteUnits / float64(len(f.records))
		f.written = migration.Units{{Write: true}: each * 2 / 3, {Index: "x", Write: true}: each / 3}
		began := f.now
		r.DryRun = false
		if _, err := f.service().Run(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		took := f.now.Sub(began).Seconds()
		if ratio := plan.Forecast.Seconds / took; ratio < 0.98 || ratio > 1.02 {
			t.Errorf("%s: forecast %v s, took %v s", name, plan.Forecast.Seconds, took)
		}
	}
}

// TestRunHandsOverInTime checks that a run does not wait past the time at which it has to hand over.
func TestRunHandsOverInTime(t *testing.T) {
	t.Parallel()
	f := newFakeTable(4)
	f.now = time.Now()
	f.capacity, f.written = migration.Capacity{{Write: true}: {Units: 2}}, migration.Units{{Write: true}: 1e6}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	out, err := f.service().Run(ctx, backfill(0, 1, ""))
	if err != nil || out.Done || len(f.done) != 1 || f.slept > 10*time.Minute-migration.Reserve {
		t.Errorf("got %+v, %v, slept %v", out.Progress, err, f.slept)
	}
}

// TestFewerAtOnce works on fewer sessions at once after calls without an answer.
func TestFewerAtOnce(t *testing.T) {
	t.Parallel()
	// A page has four records. With unanswered calls they are worked on by 4, by 4, by 2, 1 and 1, and one by one.
	for unanswered, want := range []time.Duration{4 * time.Second, 9 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			f := newFakeTable(16)
			for i := range f.records {
				f.records[i].User = conversation.UserID(fmt.Sprint(i))
			}
			c := &crowd{fakeTable: f, running: map[conversation.UserID]int{}, unanswered: unanswered}
			s := f.service()
			s.Table = c
			r := backfill(0, 1, "")
			r.RateLimit = 0
			began := time.Now()
			if _, err := s.Run(t.Context(), r); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(began); took != want {
				t.Errorf("with %d unanswered calls it took %v, want %v", unanswered, took, want)
			}
		})
	}
}
