package dynamo

import (
	"context"
	"slices"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo/table"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/longterm"
)

// MemoryHistory says how a user's memories came about, and corrects them. It is safe for concurrent use.
type MemoryHistory struct {
	db       *DB
	memories *CollectionStore[longterm.Memory]
	sources  *DeletionStore
	traces   *ExtractionStore
}

// NewMemoryHistory returns the history of the memories of a DB.
func NewMemoryHistory(db *DB) *MemoryHistory {
	return &MemoryHistory{db, NewMemoryStore(db), NewDeletionStore(db), NewExtractionStore(db)}
}

// historyMemories is how many memories a history is looked for in.
const historyMemories = 2_000

// History returns what a memory replaced, itself, and what replaced it, oldest first, each with its messages that are
// still there. It looks for them among the user's newest memories.
func (s *MemoryHistory) History(ctx context.Context, user conversation.UserID, id string) ([]longterm.Past, error) {
	self, _, err := s.find(ctx, user, id)
	if err != nil {
		return nil, err
	}
	all, err := longterm.Newest(ctx, user, s.memories, historyMemories)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(all, func(m longterm.Memory) bool { return m.ID == id }) {
		all = append(all, self.value)
	}
	history := longterm.HistoryOf(all, id)
	var ids []string
	for _, m := range history {
		ids = append(ids, m.MessageIDs...)
	}
	sessions, err := s.sources.SessionsOf(ctx, user, ids)
	if err != nil {
		return nil, err
	}
	out := make([]longterm.Past, len(history))
	for i, m := range history {
		out[i].Memory = m
		for _, id := range m.MessageIDs {
			sk, _ := table.ParseMessageID(user, id)
			if at, _, ok := table.ParseMessageSK(sk); ok && sessions[id].SessionID != "" {
				out[i].Messages = append(out[i].Messages, longterm.Evidence{
					MessageID: id, SessionID: sessions[id].SessionID, Timestamp: at,
				})
			}
		}
	}
	return out, nil
}

// find returns a memory as it is stored, and the user's generation, or the error of one that is not there.
func (s *MemoryHistory) find(ctx context.Context, user conversation.UserID, id string,
) (stored[longterm.Memory], int64, error) {
	from, generation, err := s.memories.find(ctx, user, id)
	if fault.Is(err, fault.NotFound) {
		err = s.missing(ctx, user, id)
	}
	return from, generation, err
}

// missing returns the error of a memory that is not there: a Conflict where the user has deleted it or asked to forget
// it.
func (s *MemoryHistory) missing(ctx context.Context, user conversation.UserID, id string) error {
	records, err := s.db.ReadCurrent(ctx, "read generation", user)
	if err != nil {
		return err
	}
	traces, err := s.traces.traces(ctx, user, records.Generation(user), table.MemoryKind)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(traces, func(it table.Item) bool { return it.String(table.AttrMemoryID) == id }) {
		return fault.New(fault.Conflict, "the memory was forgotten: what it said is gone")
	}
	return fault.Missing("memory")
}

// Restore makes an ended memory hold again, and ends the one that took its place as false, in one step. One that holds
// stays as it is. It is a Conflict after forgetting.
func (s *MemoryHistory) Restore(ctx context.Context, user conversation.UserID, id string) (longterm.Memory, error) {
	return s.correct(ctx, user, id, func(m longterm.Memory, now time.Time) correction {
		if m.HeldAt(now) && m.EndedReason == "" {
			return correction{to: m}
		}
		return correction{m.Restored(now), []string{m.SupersededBy}, longterm.EndedFalse}
	})
}

// Confirm ends the waiting of a memory, and ends what it takes the place of, in one step. One that does not wait stays
// as it is.
func (s *MemoryHistory) Confirm(ctx context.Context, user conversation.UserID, id string) (longterm.Memory, error) {
	return s.correct(ctx, user, id, func(m longterm.Memory, now time.Time) correction {
		if m.Status != longterm.Waiting {
			return correction{to: m}
		}
		return correction{m.Confirmed(now), m.Supersedes, longterm.EndedReplaced}
	})
}

// Reject deletes a memory that waits. What says the same is not noted again. It returns the memory as it ended. Its
// trace has the messages that are to be forgotten.
func (s *MemoryHistory) Reject(ctx context.Context, user conversation.UserID, id string,
) (out longterm.Memory, err error) {
	const op = "reject memory"
	err = s.db.Retry(ctx, op, func(ctx context.Context, b *table.Backoff) (bool, error) {
		from, generation, err := s.find(ctx, user, id)
		if err != nil {
			return false, err
		}
		if from.value.Status != longterm.Waiting {
			return false, fault.New(fault.Conflict, "the memory does not wait for a review: change or delete it")
		}
		out = from.value.EndedAs(longterm.EndedFalse, "", s.db.Now())
		from.value = out
		return s.memories.deleteStored(ctx, op, user, from, generation, b)
	})
	return out, err
}

// correction is a memory as it becomes, and the ids of others that end for a reason. Without a reason nothing changes.
type correction struct {
	to     longterm.Memory
	others []string
	reason longterm.EndedReason
}

// correct changes a memory and ends others, in one transaction. Others that are gone or have ended stay as they are.
func (s *MemoryHistory) correct(ctx context.Context, user conversation.UserID, id string,
	change func(longterm.Memory, time.Time) correction,
) (to longterm.Memory, err error) {
	const op = "correct memory"
	err = s.db.Retry(ctx, op, func(ctx context.Context, b *table.Backoff) (bool, error) {
		from, generation, err := s.find(ctx, user, id)
		if err != nil {
			return false, err
		}
		now := conversation.Milliseconds(s.db.Now())
		c := change(from.value, now)
		if to = c.to; c.reason == "" {
			return true, nil
		}
		t := s.db.Transaction()
		s.memories.addOwn(t, user, recordChange[longterm.Memory]{from: &from, to: to, generation: generation}, true)
		for _, other := range c.others {
			ended, _, err := s.memories.find(ctx, user, other)
			if fault.Is(err, fault.NotFound) || err == nil && !ended.value.HeldAt(now) {
				continue
			}
			if err != nil {
				return false, err
			}
			over := ended.value.EndedAs(c.reason, id, now)
			if c.reason == longterm.EndedReplaced {
				if ended.value.StaysBeside(to) {
					continue
				}
				over = ended.value.GivenWayTo(to, now, now)
				over.UpdatedAt = now
			}
			isLive := ended.live && s.memories.kind.Needed(over, now) // prompts tell that it has ended
			s.memories.addOwn(t, user, recordChange[longterm.Memory]{
				from: &ended, to: over, generation: generation,
			}, isLive)
		}
		t.Check(table.GenerationKey(user), table.IsGeneration(generation))
		failures, err := s.db.Commit(ctx, op, t, b)
		return err == nil && failures == nil, err
	})
	return to, err
}
