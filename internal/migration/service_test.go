package migration_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/migration"
)

// fakeTable is a table in memory. Each page has four records, and each record takes a second of its clock.
type fakeTable struct {
	now     time.Time
	state   migration.State
	runs    map[migration.Segment]migration.Run
	records []migration.Record
	done    []string
	// fail is the record at which the process is killed.
	fail string
	// before runs before the work on a record, unless it is nil.
	before func(key string)
	// throttles is how many throttles each record meets.
	throttles int
	// throttledUntil is how many records meet one throttle each, from the first on.
	throttledUntil int
	slept          time.Duration
	// differs is what verify finds.
	differs error
	// capacity is what the table takes, and scanned and written the units that a page and each record take.
	capacity         migration.Capacity
	scanned, written migration.Units
}

var errKilled = errors.New("killed")

func newFakeTable(records int) *fakeTable {
	f := &fakeTable{now: changed.Add(time.Hour), runs: map[migration.Segment]migration.Run{}}
	f.state = migration.State{Stage: migration.Dual, Percent: 100, ChangedAt: changed, Version: 1}
	for i := range records {
		f.records = append(f.records, migration.Record{
			User: "u", SessionID: fmt.Sprint(i), Key: fmt.Sprintf("%03d", i), Placement: conversation.Embedded, Messages: 10,
		})
	}
	return f
}

func (f *fakeTable) service() *migration.Service {
	return &migration.Service{
		Table: f, Now: func() time.Time { return f.now },
		Sleep:  func(_ context.Context, d time.Duration) error { f.slept += d; f.now = f.now.Add(d); return nil },
		Report: func(context.Context, migration.Action, migration.Mismatch) {},
	}
}

func (f *fakeTable) State(context.Context) (migration.State, error) { return f.state, nil }

func (f *fakeTable) Save(_ context.Context, before, after migration.State) error {
	if f.state.Version != before.Version {
		return fault.New(fault.Conflict, "changed")
	}
	f.state = after
	return nil
}

func (f *fakeTable) Runs(_ context.Context, a migration.Action) ([]migration.Run, error) {
	var out []migration.Run
	for _, r := range f.runs {
		if r.Action == a {
			out = append(out, r)
		}
	}
	return out, nil
}

func (f *fakeTable) SaveRun(_ context.Context, r migration.Run) error {
	f.runs[r.Segment] = r
	return nil
}

func (f *fakeTable) Describe(context.Context) (migration.Description, error) {
	return migration.Description{Items: len(f.records), Capacity: f.capacity}, nil
}

func (f *fakeTable) Scan(_ context.Context, _ migration.Action, s migration.Segment, after string,
) (migration.Page, error) {
	page := migration.Page{Units: f.scanned}
	for i, r := range f.records {
		if i%s.Total != s.Number || r.Key <= after {
			continue
		}
		if page.Items == 4 {
			page.After = page.Records[3].Key
			return page, nil
		}
		page.Records, page.Items = append(page.Records, r), page.Items+1
	}
	return page, nil
}

func (f *fakeTable) PositionOf(r migration.Record) string { return r.Key }

func (f *fakeTable) Do(_ context.Context, a migration.Action, r migration.Record, _ conversation.Placement,
) (migration.Work, error) {
	if f.before != nil {
		f.before(r.Key)
	}
	if r.Key == f.fail {
		return migration.Work{}, errKilled
	}
	f.now = f.now.Add(time.Second)
	f.done = append(f.done, r.Key)
	if a == migration.Verify {
		return migration.Work{Messages: r.Messages}, f.differs
	}
	work := migration.Work{Messages: r.Messages, Writes: r.Messages, Throttles: f.throttles, Units: f.written}
	if len(f.done) <= f.throttledUntil {
		work.Throttles++
	}
	return work, nil
}

// slow makes the runs work on one record at a time.
const slow = 100

func backfill(segment, total int, checkpoint string) migration.Request {
	return migration.Request{
		Action: "backfill", Percent: 100, Segment: segment, TotalSegments: total, Checkpoint: checkpoint, RateLimit: slow,
	}
}

// TestRunResumes kills a run and lets its time end. The next call goes on where the segment stands.
func TestRunResumes(t *testing.T) {
	t.Parallel()
	f := newFakeTable(12)
	f.fail = "006"
	if _, err := f.service().Run(t.Context(), backfill(0, 1, "")); !errors.Is(err, errKilled) {
		t.Fatalf("got %v", err)
	}
	f.fail = ""
	f.now = time.Now().Add(time.Minute) // behind the deadline
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	out, err := f.service().Run(ctx, backfill(0, 1, ""))
	if err != nil || out.Done || out.Checkpoint == "" {
		t.Fatalf("got %+v, %v", out, err)
	}
	want := []string{"000", "001", "002", "003", "004", "005", "004"}
	if !slices.Equal(f.done, want) {
		t.Errorf("worked on %v, want %v", f.done, want)
	}
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
		if _, err := f.service().Run(t.Context(), backfill(segment, 2, "")); err != nil {
			t.Fatal(err)
		}
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
	if _, err := f.service().Run(t.Context(), back); !fault.Is(err, fault.Conflict) {
		t.Errorf("the way back: %v", err)
	}
	f.fail = ""
	if out, err := f.service().Run(t.Context(), cleanup); err != nil || !out.Done || !out.Cleaned {
		t.Errorf("got %+v, %v", out, err)
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

// crowd is a table that counts how many records are worked on at once.
type crowd struct {
	*fakeTable
	mu           sync.Mutex
	running      map[conversation.UserID]int
	ofUser, most int
	// unanswered is how many calls without an answer each record meets.
	unanswered int
}

func (c *crowd) Do(_ context.Context, _ migration.Action, r migration.Record, _ conversation.Placement,
) (migration.Work, error) {
	count := func(n int) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.running[r.User] += n
		all := 0
		for _, n := range c.running {
			all += n
		}
		c.ofUser, c.most = max(c.ofUser, c.running[r.User]), max(c.most, all)
	}
	count(1)
	time.Sleep(time.Second)
	count(-1)
	return migration.Work{Unanswered: c.unanswered}, nil
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
		if _, err := s.Run(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		if c.ofUser != 1 || c.most != 2 {
			t.Errorf("%d records at once, %d of one user, want 2 and 1", c.most, c.ofUser)
		}
	})
}
