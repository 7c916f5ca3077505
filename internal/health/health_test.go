package health_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/health"
	"github.com/throughline/throughline/internal/sweep"
	"github.com/throughline/throughline/internal/testing/check"
)

func noon() time.Time { return time.Date(2026, 2, 5, 12, 0, 0, 0, time.UTC) }

// dueIndex has the ages of what is due by shard, the oldest first.
type dueIndex map[sweep.Shard][]time.Duration

func (d dueIndex) Due(_ context.Context, s sweep.Shard, at time.Time, _ *sweep.Due, limit int) ([]sweep.Due, error) {
	var out []sweep.Due
	for _, age := range d[s][:min(limit, len(d[s]))] {
		if dueAt := noon().Add(-age); !dueAt.After(at) {
			out = append(out, sweep.Due{Shard: s, DueAt: dueAt})
		}
	}
	return out, nil
}

func (dueIndex) InVain(context.Context) ([]sweep.InVain, error) {
	return []sweep.InVain{
		{Stage: sweep.Extracting, Visits: 12, Since: noon().Add(-2 * time.Hour), At: noon().Add(-time.Minute)},
		{Stage: "spines", Visits: 1, Since: noon().Add(-72 * time.Hour), At: noon().Add(-26 * time.Hour)}, // it is gone
	}, nil
}

type letters map[string]int

func (l letters) Count(context.Context) (map[string]int, error) { return l, nil }

type stage string

func (s stage) Migrated(context.Context) (health.Migrated, error) {
	return health.Migrated{Stage: string(s), Percent: 25}, nil
}

// down is a store that does not answer.
type down struct{}

var errDown = errors.New("down")

func (down) Due(context.Context, sweep.Shard, time.Time, *sweep.Due, int) ([]sweep.Due, error) {
	return nil, errDown
}
func (down) InVain(context.Context) ([]sweep.InVain, error)    { return nil, errDown }
func (down) Count(context.Context) (map[string]int, error)     { return nil, errDown }
func (down) Migrated(context.Context) (health.Migrated, error) { return health.Migrated{}, errDown }

func service(t *testing.T) *health.Service {
	many := make([]time.Duration, health.MaxCounted+1)
	return &health.Service{
		Due: dueIndex{
			sweep.Sessions.First: {time.Minute}, sweep.Sessions.First + 15: {time.Hour, time.Second},
			sweep.Records.First + 3: many,
			sweep.Skipped.First:     {-6 * 24 * time.Hour, -time.Hour},
		},
		DeadLetters: letters{"summarize": 2, "remember": 0}, Migration: stage("dual"), Now: noon,
		Failed: func(_ context.Context, part health.Part, err error) { t.Errorf("%s failed: %v", part, err) },
	}
}

func TestReport(t *testing.T) {
	t.Parallel()
	got := service(t).Read(t.Context())
	want := health.Report{
		Queues: []health.Queue{
			{Name: "sessions", Overdue: 3, Since: noon().Add(-time.Hour)},
			{Name: "deletions"},
			{Name: "records", Overdue: health.MaxCounted, More: true, Since: noon()},
			{Name: "spines"},
			{Name: "skipped"},
			{Name: "events"},
		},
		OldestUncovered: noon().Add(-2 * time.Hour), SkippedMessages: 2,
		InVain: []sweep.InVain{
			{Stage: sweep.Extracting, Visits: 12, Since: noon().Add(-2 * time.Hour), At: noon().Add(-time.Minute)},
		},
		DeadLetters: map[string]int{"summarize": 2, "remember": 0},
		Migration:   &health.Migrated{Stage: "dual", Percent: 25},
	}
	check.Same(t, want, got, "report")
}

func TestPartThatFailsHidesNoOther(t *testing.T) {
	t.Parallel()
	for part, breakPart := range map[health.Part]func(*health.Service){
		health.QueuesPart:      func(s *health.Service) { s.Due = down{} },
		health.DeadLettersPart: func(s *health.Service) { s.DeadLetters = down{} },
		health.MigrationPart:   func(s *health.Service) { s.Migration = down{} },
	} {
		s := service(t)
		want := s.Read(t.Context())
		want.Unread = []health.Part{part}
		switch part {
		case health.QueuesPart:
			want.Queues, want.OldestUncovered, want.SkippedMessages, want.InVain = nil, time.Time{}, 0, nil
		case health.DeadLettersPart:
			want.DeadLetters = nil
		case health.MigrationPart:
			want.Migration = nil
		}
		breakPart(s)
		var failed []health.Part
		s.Failed = func(_ context.Context, p health.Part, err error) {
			if failed = append(failed, p); !errors.Is(err, errDown) {
				t.Errorf("%s: %v", p, err)
			}
		}
		check.Same(t, want, s.Read(t.Context()), "%s", part)
		check.Same(t, []health.Part{part}, failed, "reported")
	}
}
