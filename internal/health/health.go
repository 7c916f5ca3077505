// Package health reports how the background work of a stage is: what is overdue in the queues of the sweep, how
// many records of the stream were set aside as dead letters, and how far a migration is.
package health

import (
	"context"
	"errors"
	"time"

	"github.com/throughline/throughline/internal/parallel"
	"github.com/throughline/throughline/internal/sweep"
)

// Report is the state of a stage at one moment. A part that could not be read is empty and named in Unread.
type Report struct {
	Queues []Queue
	// DeadLetters is the number of dead letters by the function that could not work on the records.
	DeadLetters map[string]int
	Migration   *Migrated
	// SkippedMessages is how many messages were not read for memories because the model gave no usable answer to them.
	// OldestUncovered is since when the oldest thing waits that the sweep has to work on, or has worked on in vain, zero
	// where nothing does.
	SkippedMessages int
	OldestUncovered time.Time
	// InVain are the stages of the background work whose visits have had no success.
	InVain []sweep.InVain
	Unread []Part
}

// Part is a part of a Report.
type Part string

// The parts of a Report.
const (
	QueuesPart      Part = "queues"
	DeadLettersPart Part = "deadLetters"
	MigrationPart   Part = "migration"
)

// Queue is a queue of the sweep with what is overdue in it.
type Queue struct {
	Name string
	// Overdue is the number of records that are due and that no worker has claimed. The sweep runs every minute, so a
	// few are normal. Where More is set, a shard has more than MaxCounted.
	Overdue int
	More    bool
	// Since is when the record fell due that waits longest, or the zero time.
	Since time.Time
}

// MaxCounted is how many records of a shard are counted.
const MaxCounted = 100

const (
	// maxSkipped is how many skipped messages of a shard are counted.
	maxSkipped = 1000
	// farAhead is after all that is due.
	farAhead = 365 * 24 * time.Hour
	// visitedWithin is within what a record that waits is visited again, with an hour to spare.
	visitedWithin = 25 * time.Hour
)

// Due reads what is due.
type Due interface {
	// Due reads at most limit records of a shard that are due at a time, earliest first.
	Due(ctx context.Context, shard sweep.Shard, at time.Time, after *sweep.Due, limit int) ([]sweep.Due, error)
	// InVain reads the stages whose visits have had no success.
	InVain(ctx context.Context) ([]sweep.InVain, error)
}

// DeadLetters counts the dead letters of each function.
type DeadLetters interface {
	Count(ctx context.Context) (map[string]int, error)
}

// Migration says how far the migration is.
type Migration interface {
	Migrated(ctx context.Context) (Migrated, error)
}

// Migrated is how far the migration of an app's own records is.
type Migrated struct {
	Stage               string
	Percent, Backfilled int // of the users
	VerifiedAt          string
	Cleaned             bool
	// Progress is that of the action that was last at work, and Done says that it is done.
	Progress Progress
	Done     bool
}

// Progress is how far an action of the migration is. Its Action is empty where none was at work.
type Progress struct {
	Action                         string
	Percent, PerSecond, SecondLeft float64
	Sessions, Messages, Problems   int
}

// Service reads reports. All fields are needed. It is safe for concurrent use.
type Service struct {
	Due         Due
	DeadLetters DeadLetters
	Migration   Migration
	Now         func() time.Time
	// Failed gets the error of each part that could not be read.
	Failed func(ctx context.Context, part Part, err error)
}

// parallelShards is how many shards are read at once.
const parallelShards = 8

// Read reads all parts side by side. A part that fails does not hide the others.
func (s *Service) Read(ctx context.Context) Report {
	var out Report
	parts := []struct {
		name Part
		read func() error
	}{
		{QueuesPart, func() error { return s.readQueues(ctx, &out) }},
		{DeadLettersPart, func() (err error) { out.DeadLetters, err = s.DeadLetters.Count(ctx); return err }},
		{MigrationPart, func() error {
			status, err := s.Migration.Migrated(ctx)
			if err == nil {
				out.Migration = &status
			}
			return err
		}},
	}
	failures := make([]error, len(parts))
	parallel.Each(len(parts), len(parts), func(i int) { failures[i] = parts[i].read() })
	for i, err := range failures {
		if err != nil {
			out.Unread = append(out.Unread, parts[i].name)
			s.Failed(ctx, parts[i].name, err)
		}
	}
	return out
}

// readQueues adds what is overdue, and the skipped messages, which are all in the index until they are read.
func (s *Service) readQueues(ctx context.Context, out *Report) error {
	now := s.Now()
	queues, err := s.queues(ctx, now)
	if err != nil {
		return err
	}
	all, err := s.Due.InVain(ctx)
	if err != nil {
		return err
	}
	for _, v := range all {
		if now.Sub(v.At) > visitedWithin {
			continue // nothing waits any more
		}
		if out.InVain = append(out.InVain, v); out.OldestUncovered.IsZero() || v.Since.Before(out.OldestUncovered) {
			out.OldestUncovered = v.Since
		}
	}
	for _, q := range queues {
		if !q.Since.IsZero() && (out.OldestUncovered.IsZero() || q.Since.Before(out.OldestUncovered)) {
			out.OldestUncovered = q.Since
		}
	}
	for _, shard := range sweep.Skipped.Shards() {
		skipped, err := s.Due.Due(ctx, shard, now.Add(farAhead), nil, maxSkipped)
		if err != nil {
			return err
		}
		out.SkippedMessages += len(skipped)
	}
	out.Queues = queues
	return nil
}

func (s *Service) queues(ctx context.Context, now time.Time) ([]Queue, error) {
	shards := sweep.AllShards()
	due, failures := make([][]sweep.Due, len(shards)), make([]error, len(shards))
	parallel.Each(len(shards), parallelShards, func(i int) {
		due[i], failures[i] = s.Due.Due(ctx, shards[i], now, nil, MaxCounted+1)
	})
	if err := errors.Join(failures...); err != nil {
		return nil, err
	}
	var out []Queue
	for _, q := range sweep.Queues() {
		sum := Queue{Name: q.Name}
		for i, shard := range shards {
			if q.Has(shard) {
				sum.add(due[i])
			}
		}
		out = append(out, sum)
	}
	return out, nil
}

// add adds what is due in a shard.
func (q *Queue) add(due []sweep.Due) {
	if len(due) == 0 {
		return
	}
	q.Overdue += min(len(due), MaxCounted)
	q.More = q.More || len(due) > MaxCounted
	if first := due[0].DueAt; q.Since.IsZero() || first.Before(q.Since) {
		q.Since = first
	}
}
