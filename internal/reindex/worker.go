package reindex

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/indexing"
	"github.com/throughline/throughline/internal/recall"
	"github.com/throughline/throughline/internal/vector"
)

const (
	// retireAfter is when the sweep first deletes the vectors that a user has in another index. By then every search that
	// asked for them, and every writer that did not know of the end of the reindex, has ended.
	retireAfter = 15 * time.Minute
	// maxFailures is after how many users in a row that could not be reindexed a run ends. Then it is not the users.
	maxFailures = 10
)

// errStop says that other users cannot be reindexed either.
var errStop = errors.New("the index takes no more")

// worker reindexes the users of one segment.
type worker struct {
	*Reindex
	progress Checkpoint
	indexer  *indexing.Indexer
	messages *indexing.Service
	last     conversation.UserID
	failures int
}

func newWorker(x *Reindex, c Checkpoint) *worker {
	w := &worker{Reindex: x, progress: c}
	w.indexer = indexing.NewIndexer(meter{w}, target{x.Index, w}, x.Model.Version)
	w.messages = indexing.New(unmarked{x.Messages}, w.indexer, x.Now)
	x.mu.Lock()
	defer x.mu.Unlock()
	x.counts.add(c.Counts)
	return w
}

// count adds to the counts of the segment and of the run.
func (w *worker) count(c Counts) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.progress.Counts.add(c)
	w.counts.add(c)
}

// run reindexes the users of the segment, a page of the table at a time.
func (w *worker) run(ctx context.Context) error {
	p := &w.progress
	for !p.Done {
		users, next, err := w.Store.Users(ctx, p.Segment, p.Segments, p.After)
		if err != nil {
			return err
		}
		for _, user := range users {
			if err := w.try(ctx, user); err != nil {
				return err
			}
		}
		if p.After, p.Done = next, next == ""; w.DryRun {
			continue
		}
		if err := w.Store.SaveCheckpoint(ctx, w.To, *p); err != nil {
			return err
		}
	}
	return nil
}

// try reindexes a user. One who cannot be reindexed is left to the next run.
func (w *worker) try(ctx context.Context, user conversation.UserID) error {
	if user == w.last {
		return nil // a page of the table ended among the user's records
	}
	w.last = user
	err := w.reindex(ctx, user)
	if err == nil {
		w.failures = 0
		return nil
	}
	if w.failures++; ctx.Err() != nil || w.failures == maxFailures || errors.Is(err, errStop) {
		return fmt.Errorf("reindex a user: %w", err)
	}
	w.count(Counts{Left: 1})
	w.Report(user, err)
	return nil
}

// reindex reindexes a user, or goes on where a reindex has begun.
func (w *worker) reindex(ctx context.Context, user conversation.UserID) error {
	p, err := w.Store.Locate(ctx, user)
	if err != nil {
		return err
	}
	serving := cmp.Or(p.Serving, w.Usual)
	if serving == w.To {
		return w.stay(ctx, user, p)
	}
	if p.Target != w.To {
		if p.Target != "" || p.Retired != "" && p.Retired != w.To {
			return fault.New(fault.Conflict, fmt.Sprintf("the user also has vectors in the index %s, where a reindex has to "+
				"end or the sweep has to delete them", cmp.Or(p.Target, p.Retired)))
		}
		from := p
		p = vector.Location{Serving: serving, Target: w.To}
		if err := w.place(ctx, user, from, p, time.Time{}); err != nil {
			return err
		}
	}
	if err := w.rebuild(ctx, user, p.ReindexedThrough); err != nil {
		return w.giveUp(ctx, user, p, err)
	}
	done := vector.Location{Serving: w.To, Retired: serving}
	if err := w.place(ctx, user, p, done, w.Now().Add(retireAfter)); err != nil {
		return err
	}
	w.count(Counts{Reindexed: 1})
	return nil
}

func (w *worker) place(ctx context.Context, user conversation.UserID, from, to vector.Location, due time.Time) error {
	if w.DryRun {
		return nil
	}
	return w.Store.Place(ctx, user, from, to, due)
}

// stay leaves a user in the index. A reindex into another one is given up.
func (w *worker) stay(ctx context.Context, user conversation.UserID, p vector.Location) error {
	w.count(Counts{Already: 1})
	if p.Target == "" {
		return nil
	}
	return w.place(ctx, user, p, vector.Location{Serving: p.Serving, Retired: p.Target}, w.Now())
}

// giveUp ends the reindex of a user whose vectors the index refuses for a quota, so that the user's new vectors need
// not wait for it. After another failure the reindex stays open, and the next run goes on.
func (w *worker) giveUp(ctx context.Context, user conversation.UserID, p vector.Location, cause error) error {
	if !errors.Is(cause, vector.ErrQuota) {
		return cause
	}
	stays := vector.Location{Serving: p.Serving, Retired: p.Target}
	return errors.Join(errStop, cause, w.place(ctx, user, p, stays, w.Now()))
}

// rebuild writes the vectors of what a user has, from a place on.
func (w *worker) rebuild(ctx context.Context, user conversation.UserID, through string) error {
	for {
		page, err := w.Store.Records(ctx, user, through)
		if err != nil {
			return err
		}
		if err := w.messages.Rebuild(ctx, user, page.Sessions); err != nil {
			return err
		}
		if err := w.rebuildRecords(ctx, user, page); err != nil {
			return err
		}
		if through = page.Next; through == "" {
			return nil
		}
		if w.DryRun {
			continue
		}
		if err := w.Store.SaveProgress(ctx, user, w.To, through); err != nil {
			return err
		}
	}
}

// rebuildRecords writes the vectors of summaries, memories and check-ins. Then it reads the records again, and writes
// those again that have changed: a writer may have written the vector of the new version before.
func (w *worker) rebuildRecords(ctx context.Context, user conversation.UserID, page Page) error {
	hits, err := w.Store.Resolve(ctx, user, page.Generation, page.IDs)
	for err == nil && len(hits) > 0 {
		if err = w.indexer.IndexHits(ctx, user, page.Generation, hits); err == nil {
			hits, err = w.changed(ctx, user, page.Generation, hits)
		}
	}
	return err
}

// changed returns those of the records that have changed. It deletes the vectors of those that have none any more, such
// as memories that were superseded.
func (w *worker) changed(ctx context.Context, user conversation.UserID, generation int64, hits []recall.Hit,
) ([]recall.Hit, error) {
	if w.DryRun {
		return nil, nil
	}
	now, err := w.Store.Resolve(ctx, user, generation, hitIDs(hits))
	if err != nil {
		return nil, err
	}
	valid := hitIDs(now)
	gone := slices.DeleteFunc(hitIDs(hits), func(id string) bool { return slices.Contains(valid, id) })
	if err := w.Index.Delete(ctx, user, generation, gone); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(now, func(h recall.Hit) bool {
		return slices.ContainsFunc(hits, func(before recall.Hit) bool { return reflect.DeepEqual(before, h) })
	}), nil
}

func hitIDs(hits []recall.Hit) []string {
	ids := make([]string, len(hits))
	for i, h := range hits {
		ids[i] = h.ID
	}
	return ids
}
