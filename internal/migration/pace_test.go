package migration_test

import (
	"context"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/migration"
	"github.com/throughline/throughline/internal/testing/check"
)

// part is a part of the work, and what the pace is after it.
type part struct {
	done    migration.Counts
	wait    time.Duration
	workers int
}

// TestPace works in parts, one after the other.
func TestPace(t *testing.T) {
	t.Parallel()
	const second = time.Second
	ten := migration.Counts{Messages: 10}
	for name, c := range map[string]struct {
		limit float64
		parts []part
	}{
		"a session without messages counts as one": {2, []part{
			{done: migration.Counts{Sessions: 9, Changed: 1}, wait: second / 2, workers: 1},
			{done: migration.Counts{Sessions: 9}, workers: 1},
		}},
		"no limit": {0, []part{{done: ten, workers: 8}}},
		"workers by the limit": {350, []part{
			{done: migration.Counts{Messages: 350}, wait: second, workers: 3},
		}},
		"all workers": {5000, []part{{done: migration.Counts{Messages: 5000}, wait: second, workers: 8}}},
		"a throttle of a part that took no time": {0, []part{
			{done: migration.Counts{Messages: 10, Throttles: 1}, wait: 2 * time.Millisecond, workers: 8},
		}},
		"a throttle of nothing": {0, []part{
			{done: migration.Counts{Throttles: 1, Took: second}, workers: 1},
			{done: migration.Counts{Took: second}, workers: 1}, // which says nothing of the rate
			{done: migration.Counts{Messages: 12}, wait: 10 * second, workers: 1},
			{done: migration.Counts{Messages: 144}, wait: 100 * second, workers: 1},
		}},
	} {
		p := migration.NewPace(c.limit)
		for i, step := range c.parts {
			wait, workers := p.Wait(step.done)
			if diff := wait - step.wait; diff.Abs() > time.Millisecond/2 || workers != step.workers {
				t.Errorf("%s, part %d: %v with %d workers, want %v with %d", name, i, wait, workers, step.wait, step.workers)
			}
		}
	}
}

// TestRunWaits checks that a run waits until a change has settled, keeps to its limit, and slows down after throttles.
func TestRunWaits(t *testing.T) {
	t.Parallel()
	f := newFakeTable(8)
	f.state.ChangedAt = f.now
	r := backfill(0, 1, "")
	r.RateLimit = 2 // 10 messages take 5 s, of which the work takes 1 s
	check.Got(f.service().Run(t.Context(), r))(t)
	if want := migration.SettleTime + 8*4*time.Second; f.slept != want {
		t.Errorf("slept %v, want %v", f.slept, want)
	}
	f = newFakeTable(2)
	f.throttles = 1
	check.Got(f.service().Run(t.Context(), backfill(0, 1, "")))(t)
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
	check.Got(f.service().Run(t.Context(), r))(t)
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

// TestForecastOfRate forecasts 4,000 messages with a limit of messages a second and without one.
func TestForecastOfRate(t *testing.T) {
	t.Parallel()
	for limit, want := range map[float64]float64{0: 8, 100: 40, 1000: 4} {
		f, r := newFakeTable(400), backfill(0, 1, "")
		r.RateLimit, r.DryRun = limit, true
		out, err := f.service().Run(t.Context(), r)
		if err != nil || out.Forecast.Messages != 4000 || out.Forecast.Seconds != want {
			t.Errorf("at %v messages a second: %+v, %v, want %v s", limit, out.Forecast, err, want)
		}
	}
}

// TestRunHandsOverInTime checks that a run does not wait past the time at which it has to hand over, and not at all
// when that is over.
func TestRunHandsOverInTime(t *testing.T) {
	t.Parallel()
	for _, late := range []bool{false, true} {
		f := newFakeTable(4)
		f.now = time.Now()
		r := backfill(0, 1, "")
		r.RateLimit = 1e-3
		most := 10*time.Minute - migration.Reserve
		if late {
			f.before = func(string) { f.now = f.now.Add(time.Hour) }
			most = 0
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		out, err := f.service().Run(ctx, r)
		if err != nil || out.Done || len(f.done) != 1 || f.slept > most || f.slept < 0 {
			t.Errorf("got %+v, %v, slept %v", out.Progress, err, f.slept)
		}
	}
}
