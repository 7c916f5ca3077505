package migration_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
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
	// moved is where the sessions of done should be.
	moved []migration.Placement
	// fail is the record at which the process is killed.
	fail string
	// before runs before the work on a record, unless it is nil.
	before func(key string)
	// throttles is how many throttles each record meets.
	throttles int
	// throttledUntil is how many records meet one throttle each, from the first on.
	throttledUntil int
	slept          time.Duration
	// gone are the records that are deleted before the work on them.
	gone []string
	// differs is what verify finds.
	differs error
}

var errKilled = errors.New("killed")

func newFakeTable(records int) *fakeTable {
	f := &fakeTable{now: changed.Add(time.Hour), runs: map[migration.Segment]migration.Run{}}
	f.state = migration.State{Stage: migration.Dual, Percent: 100, ChangedAt: changed, Version: 1}
	for i := range records {
		f.records = append(f.records, migration.Record{
			User: "u", SessionID: fmt.Sprint(i), Key: fmt.Sprintf("%03d", i), Placement: migration.InArray, Messages: 10,
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

func (f *fakeTable) Items(context.Context) (int, error) { return len(f.records), nil }

func (f *fakeTable) Scan(_ context.Context, _ migration.Action, s migration.Segment, after string,
) (migration.Page, error) {
	var page migration.Page
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

func (f *fakeTable) Do(_ context.Context, a migration.Action, r migration.Record, to migration.Placement,
) (migration.Work, error) {
	if f.before != nil {
		f.before(r.Key)
	}
	if r.Key == f.fail {
		return migration.Work{}, errKilled
	}
	f.now = f.now.Add(time.Second)
	if slices.Contains(f.gone, r.Key) {
		return migration.Work{}, fault.Missing("session")
	}
	f.done, f.moved = append(f.done, r.Key), append(f.moved, to)
	if a == migration.Verify {
		return migration.Work{Messages: r.Messages}, f.differs
	}
	work := migration.Work{Messages: r.Messages, Writes: r.Messages, Throttles: f.throttles}
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

// crowd is a table that counts how many records are worked on at once.
type crowd struct {
	*fakeTable
	mu           sync.Mutex
	running      map[conversation.UserID]int
	ofUser, most int
}

func (c *crowd) Do(_ context.Context, _ migration.Action, r migration.Record, _ migration.Placement,
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
	return migration.Work{}, nil
}
