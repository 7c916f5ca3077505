package erasure

import (
	"context"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/indexing"
	"github.com/throughline/throughline/internal/sweep"
)

// forgetAgainAfter is when messages are forgotten once more: a worker that read them before may have written a summary
// or a vector since.
const forgetAgainAfter = 5 * time.Minute

// forget takes the messages of a forgotten memory out of summaries, the index and stored prompts. The messages stay in
// their conversations. Messages in the array of an app that has not migrated have no record to mark, so they are left.
func (s *Sweeper) forget(ctx context.Context, user conversation.UserID, messageIDs []string) (sweep.Outcome, error) {
	isFirst := false
	for _, id := range messageIDs {
		t, done, err := s.Forgetting.ForgetMessage(ctx, user, id)
		if fault.Is(err, fault.NotFound) {
			continue // it was deleted
		}
		if err != nil {
			return sweep.Kept, err
		}
		isFirst = isFirst || !done
		vectors := append(t.Vectors, indexing.MessageVectorIDs(*t.Message)...)
		if err := s.Index.Delete(ctx, user, t.Generation, vectors); err != nil {
			return sweep.Kept, err
		}
		if err := s.reindexer.ReindexNext(ctx, user, *t.Message); err != nil {
			return sweep.Kept, err
		}
		if err := s.deletePrompts(ctx, t); err != nil {
			return sweep.Kept, err
		}
	}
	if isFirst {
		return sweep.Again(s.Now().Add(forgetAgainAfter)), nil
	}
	return sweep.Removed, nil
}
