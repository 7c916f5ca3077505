package reindex

import (
	"context"
	"time"

	"golang.org/x/time/rate"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/indexing"
	"github.com/throughline/throughline/internal/vector"
)

// target is the next index as the worker writes to it.
type target struct {
	vector.Index
	*worker
}

// Upsert writes vectors, and deletes those again whose records are gone by then: a deletion may have come before.
func (t target) Upsert(
	ctx context.Context, user conversation.UserID, generation int64, records []vector.Record,
) error {
	if len(records) == 0 {
		return nil
	}
	t.count(Counts{Vectors: int64(len(records)), WriteUnits: t.WriteUnits(records, t.Dimensions)})
	if t.DryRun {
		return nil
	}
	if err := t.Index.Upsert(ctx, user, generation, records); err != nil {
		return err
	}
	ids := make([]string, len(records))
	for i, r := range records {
		ids[i] = r.ID
	}
	gone, err := t.Store.WithoutRecord(ctx, user, generation, ids)
	if err != nil {
		return err
	}
	return t.Index.Delete(ctx, user, generation, gone)
}

// meter is the embedder of a worker, with the limits of the run. In a dry run its vectors are empty.
type meter struct{ *worker }

// Embed waits until the limits allow the texts, and embeds them.
func (m meter) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	tokens := 0
	for _, text := range texts {
		tokens += m.CountTokens(text)
	}
	m.count(Counts{Tokens: int64(tokens)})
	if m.DryRun {
		return make([][]float32, len(texts)), nil
	}
	if err := wait(ctx, m.TextLimit, len(texts)); err != nil {
		return nil, err
	}
	if err := wait(ctx, m.TokenLimit, tokens); err != nil {
		return nil, err
	}
	return m.Next.Embed(ctx, texts)
}

// wait waits for n, which may be more than the limiter allows at once.
func wait(ctx context.Context, limit *rate.Limiter, n int) error {
	for limit != nil && n > 0 {
		now := min(n, limit.Burst())
		if err := limit.WaitN(ctx, now); err != nil {
			return err
		}
		n -= now
	}
	return nil
}

// unmarked is the store of a rebuild. The watermarks and claims of sessions belong to the writers of new messages, and
// say nothing of the target.
type unmarked struct{ indexing.Store }

// MarkIndexed does nothing.
func (unmarked) MarkIndexed(
	context.Context, conversation.UserID, conversation.Session, conversation.Watermark,
) error {
	return nil
}

// ClaimIndexing claims nothing.
func (unmarked) ClaimIndexing(
	_ context.Context, _ conversation.UserID, session conversation.Session, _, _ time.Time,
) (conversation.Session, bool, error) {
	return session, true, nil
}

// EndIndexing claims nothing.
func (unmarked) EndIndexing(
	_ context.Context, _ conversation.UserID, session conversation.Session, _ time.Time,
) (conversation.Session, error) {
	return session, nil
}
