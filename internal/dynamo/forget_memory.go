package dynamo

import (
	"context"
	"slices"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo/table"
	"github.com/throughline/throughline/internal/longterm"
)

// Forget deletes the memories that choose returns of the user's, of which it gets those that hold and the newest of
// those that have ended. Each leaves its trace, by which the sweep takes its messages, and the one that asked for it,
// out of what was made of them. A memory that another writer has changed meanwhile is read and chosen again. It returns
// how many are gone, also of those that extraction has deleted because it read the same message first.
func (s *ExtractionStore) Forget(ctx context.Context, user conversation.UserID, messageID string,
	choose func([]longterm.Memory) []longterm.Memory,
) (gone int, err error) {
	const op = "forget"
	sk, _ := table.ParseMessageID(user, messageID)
	askedAt, _, isMessage := table.ParseMessageSK(sk)
	err = s.db.Retry(ctx, op, func(ctx context.Context, b *table.Backoff) (bool, error) {
		chosen, generation, err := s.chosen(ctx, user, choose)
		if err != nil {
			return false, err
		}
		changed := false
		for _, from := range chosen {
			from.value.MessageIDs = append(slices.Clone(from.value.MessageIDs), messageID)
			if isMessage && from.value.EndedReason != longterm.EndedFalse {
				// What the message says besides is new.
				from.value.EndedReason, from.value.ValidUntil = longterm.EndedForgotten, askedAt
			}
			if from.value.From.IsAhead(s.db.Now()) {
				if err := longterm.GiveBack(ctx, s.memories, user, from.value, nil, nil); err != nil {
					return false, err
				}
			}
			deleted, err := s.memories.deleteStored(ctx, op, user, from, generation, b)
			if err != nil {
				return false, err
			}
			if deleted {
				gone++
			}
			changed = changed || !deleted
		}
		if !changed && gone == 0 {
			gone, err = s.forgottenBy(ctx, user, generation, messageID)
		}
		return !changed, err
	})
	return gone, err
}

// forgottenBy counts the deleted memories whose traces name a message.
func (s *ExtractionStore) forgottenBy(ctx context.Context, user conversation.UserID, generation int64, messageID string,
) (n int, err error) {
	traces, err := s.traces(ctx, user, generation, table.MemoryKind)
	for _, it := range traces {
		if slices.Contains(it.Strings(table.AttrMessageIDs), messageID) {
			n++
		}
	}
	return n, err
}

// chosen reads the memories, those that have ended and those that wait for a review among them, and returns those that
// choose returns.
func (s *ExtractionStore) chosen(ctx context.Context, user conversation.UserID,
	choose func([]longterm.Memory) []longterm.Memory,
) (chosen []stored[longterm.Memory], generation int64, err error) {
	records, err := s.db.ReadCurrent(ctx, "read generation", user)
	if err != nil {
		return nil, 0, err
	}
	generation = records.Generation(user)
	known, err := s.Known(ctx, user, generation, true)
	if err != nil {
		return nil, 0, err
	}
	for _, m := range choose(slices.Concat(known.Memories, known.Past)) {
		chosen = append(chosen, s.storedAs(user, m, known, generation))
	}
	return chosen, generation, nil
}
