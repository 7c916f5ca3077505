package reindex

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/indexing"
	"github.com/throughline/throughline/internal/recall"
	"github.com/throughline/throughline/internal/vector"
)

// maxFailures is after how many users in a row that could not be reindexed a run ends. Then it is not the users.
const maxFailures = 10

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
	model := vector.Model{Embedder: meter{w}, Version: x.Next.Version}
	w.indexer = indexing.NewIndexer(vector.Held{Index: target{x.Next.Index, w}, Model: model})
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
	err := w.rebuild(ctx, user)
	if err == nil {
		w.failures = 0
		w.count(Counts{Reindexed: 1})
		return nil
	}
	if w.failures++; ctx.Err() != nil || w.failures == maxFailures || errors.Is(err, vector.ErrQuota) {
		return fmt.Errorf("reindex a user: %w", err)
	}
	w.count(Counts{Left: 1})
	w.Report(user, err)
	return nil
}

// rebuild writes the vectors of what a user has.
func (w *worker) rebuild(ctx context.Context, user conversation.UserID) error {
	for through := ""; ; {
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
	if err := w.Next.Delete(ctx, user, generation, gone); err != nil {
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
