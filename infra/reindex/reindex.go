// Package reindex fills the next vector index of a stage (PINECONE_NEXT_INDEX), whose host, embedding model or layout
// may be another, from the table. The current index is searched meanwhile. While a next index is configured, every
// vector is written to both and every deletion reaches both, so that a run has to write only what was there before.
// Then one switch of the configuration has the next index searched.
//
// A run takes its configuration from the environment variables of the functions, or from a deployed function. One that
// ends anywhere can be started again. It goes on where each segment of the table was. What it writes twice has the same
// ids. docs/reindexing.md leads through it.
package reindex

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/indexing"
	"github.com/throughline/throughline/internal/recall"
	"github.com/throughline/throughline/internal/vector"
)

// Store is what a reindex reads and writes.
type Store interface {
	Source
	Records
	Checkpoints
}

// Source reads what users have.
type Source interface {
	// Users returns one page of the users of a segment of the table, after a place. A user may come more than once. The
	// last page has no next place.
	Users(ctx context.Context, segment, segments int, after string) (users []conversation.UserID, next string, err error)
	// Records returns one page of what a user has, read consistently.
	Records(ctx context.Context, user conversation.UserID, after string) (Page, error)
}

// Records reads the records of vector ids.
type Records interface {
	recall.Resolver
	// WithoutRecord is the method of erasure.SourceStore.
	WithoutRecord(ctx context.Context, user conversation.UserID, generation int64, vectors []string) ([]string, error)
}

// Checkpoints keeps how far a run has come.
type Checkpoints interface {
	// Checkpoint returns the progress of a segment, and the beginning where there is none with as many segments.
	Checkpoint(ctx context.Context, to string, segment, segments int) (Checkpoint, error)
	SaveCheckpoint(ctx context.Context, to string, c Checkpoint) error
}

// Page is a part of what a user has that has vectors: sessions with their messages, and the ids of summaries, memories
// and check-ins. Next is empty in the last one.
type Page struct {
	Generation int64
	Sessions   []conversation.Session
	IDs        []string
	Next       string
}

// Checkpoint is the progress of one of the segments of the table. Counts are those of its pages that are done.
type Checkpoint struct {
	Segment  int
	Segments int    `stored:"segments"`
	After    string `stored:"after"`
	Done     bool   `stored:"done"`
	Counts   Counts `stored:"counts"`
}

// Counts are what was done.
type Counts struct {
	// Reindexed users are in the index now, and Left ones could not be reindexed now.
	Reindexed int64 `stored:"reindexed"`
	Left      int64 `stored:"left"`
	// Vectors were written, from so many Tokens. WriteUnits are about what they cost.
	Vectors    int64 `stored:"vectors"`
	Tokens     int64 `stored:"tokens"`
	WriteUnits int64 `stored:"writeUnits"`
}

func (c *Counts) add(d Counts) {
	c.Reindexed, c.Left = c.Reindexed+d.Reindexed, c.Left+d.Left
	c.Vectors, c.Tokens, c.WriteUnits = c.Vectors+d.Vectors, c.Tokens+d.Tokens, c.WriteUnits+d.WriteUnits
}

// Deps are what a Reindex works with.
type Deps struct {
	Store    Store
	Messages indexing.Store
	// Next is the index that is filled, with vectors of so many dimensions. To names it in checkpoints.
	Next       vector.Held
	Dimensions int
	To         string
	// Segments are worked on at the same time.
	Segments int
	// DryRun counts and writes nothing.
	DryRun bool
	// TextLimit and TokenLimit are how much is embedded in a time. Nil is no limit.
	TextLimit, TokenLimit *rate.Limiter
	// WriteUnits returns about what the index charges for a write.
	WriteUnits func(records []vector.Record, dimensions int) int64
	// CountTokens returns how many tokens a text has.
	CountTokens func(text string) int
	Now         func() time.Time
	// Report gets the reason why a user was left.
	Report func(user conversation.UserID, err error)
}

// Reindex fills an index. It runs once.
type Reindex struct {
	Deps
	mu     sync.Mutex
	counts Counts
}

// New returns a Reindex.
func New(d Deps) *Reindex { return &Reindex{Deps: d} }

// Counts returns what was done so far, by this run and by those that it goes on with.
func (x *Reindex) Counts() Counts {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.counts
}

// Run reindexes every user. It goes on where an earlier run ended. After one that came to the end of the table it
// begins anew.
func (x *Reindex) Run(ctx context.Context) error {
	checkpoints := make([]Checkpoint, x.Segments)
	isDone := true
	for i := range checkpoints {
		checkpoints[i] = Checkpoint{Segment: i, Segments: x.Segments}
		if x.DryRun {
			continue
		}
		var err error
		if checkpoints[i], err = x.Store.Checkpoint(ctx, x.To, i, x.Segments); err != nil {
			return err
		}
		isDone = isDone && checkpoints[i].Done
	}
	group, ctx := errgroup.WithContext(ctx)
	for i, c := range checkpoints {
		if isDone {
			c = Checkpoint{Segment: i, Segments: x.Segments}
		}
		w := newWorker(x, c)
		group.Go(func() error { return w.run(ctx) })
	}
	return group.Wait()
}
