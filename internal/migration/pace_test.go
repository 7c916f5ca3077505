package migration_test

import (
	"context"
	"fmt"
	"maps"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/migration"
)

// part is a part of the work, and what the pace is after it.
type part struct {
	done    migration.Counts
	units   float64
	wait    time.Duration
	workers int
}

// TestPace works in parts, one after the other.
func TestPace(t *testing.T) {
	t.Parallel()
	const second = time.Second
	writes := migration.Kind{Write: true}
	fixed := migration.Capacity{writes: {Units: 10}}
	ten := migration.Counts{Messages: 10}
	took := func(d time.Duration) migration.Counts { return migration.Counts{Sessions: 1, Messages: 10, Took: d} }
	for name, c := range map[string]struct {
		limit    float64
		capacity migration.Capacity
		parts    []part
	}{
		"a session without messages counts as one": {2, nil, []part{
			{done: migration.Counts{Sessions: 9, Changed: 1}, wait: second / 2, workers: 1},
			{done: migration.Counts{Sessions: 9}, workers: 1},
		}},
		"no limit": {0, nil, []part{{done: ten, workers: 8}}},
		"workers by the limit": {350, nil, []part{
			{done: migration.Counts{Messages: 350}, wait: second, workers: 3},
		}},
		"all workers": {5000, nil, []part{{done: migration.Counts{Messages: 5000}, wait: second, workers: 8}}},
		"a throttle of a part that took no time": {0, nil, []part{
			{done: migration.Counts{Messages: 10, Throttles: 1}, wait: 2 * time.Millisecond, workers: 8},
		}},
		"a throttle of nothing": {0, nil, []part{
			{done: migration.Counts{Throttles: 1, Took: second}, workers: 1},
			{done: migration.Counts{Took: second}, workers: 1}, // which says nothing of the rate
			{done: migration.Counts{Messages: 12}, wait: 10 * second, workers: 1},
			{done: migration.Counts{Messages: 144}, wait: 100 * second, workers: 1},
		}},
		"waits for the capacity": {0, fixed, []part{
			{done: took(second), units: 21, wait: 1100 * time.Millisecond, workers: 4},
			{done: took(second), units: 20, wait: second, workers: 4}, // as long as the work
			{done: took(second), units: 100, wait: 9 * second, workers: 2},
			{done: took(second), units: 100, wait: 9 * second, workers: 1},
			{done: took(second), units: 100, wait: 9 * second, workers: 1},
			{done: migration.Counts{Took: second}, workers: 1}, // a scan
			{done: took(second), units: 10, workers: 2},
			{done: took(second), units: 11, wait: second / 10, workers: 2},
			{done: took(second), workers: 4},
			{done: took(second), workers: 8},
			{done: took(second), workers: 8},
		}},
		"grows with its use": {0, migration.Capacity{writes: {Units: 10, Grows: true}}, []part{
			{done: took(second), units: 10 * 1800, wait: 1799 * second, workers: 4},
			{done: took(second), units: 40, wait: second, workers: 4}, // 30 minutes later it takes twice as many
		}},
	} {
		p := migration.NewPace(c.limit, c.capacity)
		for i, step := range c.parts {
			wait, workers := p.Wait(step.done, migration.Units{writes: step.units})
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
		got := out.Progress
		if want := float64(len(f.done)) * (c.written[writes] + c.written[indexWrites]); got.WriteUnits != want {
			t.Errorf("%s: it took %v write units, want %v", name, got.WriteUnits, want)
		}
		if want := float64(len(f.done)) / 4 * c.scanned[migration.Kind{}]; got.ReadUnits != want { // pages of four
			t.Errorf("%s: it took %v read units, want %v", name, got.ReadUnits, want)
		}
		took := float64(len(f.done)) + f.slept.Seconds()
		if want := float64(got.Messages) / took; math.Abs(got.PerSecond-want) > 0.05 {
			t.Errorf("%s: %v messages a second, want %v", name, got.PerSecond, want)
		}
	}
}

// TestUnits adds units to others.
func TestUnits(t *testing.T) {
	t.Parallel()
	writes, reads, index := migration.Kind{Write: true}, migration.Kind{}, migration.Kind{Index: "x", Write: true}
	for name, c := range map[string]struct{ sum, more, want migration.Units }{
		"nothing":    {migration.Units{writes: 2}, nil, migration.Units{writes: 2}},
		"to nothing": {migration.Units{}, migration.Units{writes: 2}, migration.Units{writes: 2}},
		"same kind":  {migration.Units{writes: 2}, migration.Units{writes: 3}, migration.Units{writes: 5}},
		"other kinds": {
			migration.Units{writes: 2}, migration.Units{reads: 3, index: 4}, migration.Units{writes: 2, reads: 3, index: 4},
		},
	} {
		if c.sum.Add(c.more); !maps.Equal(c.sum, c.want) {
			t.Errorf("%s: %v, want %v", name, c.sum, c.want)
		}
	}
}

// TestRunAddsUnits works on four records at once. The run waits for the units of all of them.
func TestRunAddsUnits(t *testing.T) {
	t.Parallel()
	f, writes := newFakeTable(8), migration.Kind{Write: true}
	f.capacity, f.written = migration.Capacity{writes: {Units: 20}}, migration.Units{writes: 30}
	r := backfill(0, 1, "")
	r.RateLimit = 0
	out, err := f.service().Run(t.Context(), r)
	if err != nil || out.Progress.WriteUnits != 8*30 {
		t.Errorf("it took %v write units, %v", out.Progress.WriteUnits, err)
	}
	// 120 units take 12 s, of which the work takes 4 s.
	if want := 2 * 8 * time.Second; f.slept != want {
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

// TestRunHandsOverInTime checks that a run does not wait past the time at which it has to hand over, and not at all
// when that is over.
func TestRunHandsOverInTime(t *testing.T) {
	t.Parallel()
	for _, late := range []bool{false, true} {
		f := newFakeTable(4)
		f.now = time.Now()
		f.capacity, f.written = migration.Capacity{{Write: true}: {Units: 2}}, migration.Units{{Write: true}: 1e6}
		most := 10*time.Minute - migration.Reserve
		if late {
			f.before = func(string) { f.now = f.now.Add(time.Hour) }
			most = 0
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		out, err := f.service().Run(ctx, backfill(0, 1, ""))
		if err != nil || out.Done || len(f.done) != 1 || f.slept > most || f.slept < 0 {
			t.Errorf("got %+v, %v, slept %v", out.Progress, err, f.slept)
		}
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
