package recall

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/vector"
)

// MemoryQuery asks for the facts that help to answer a text.
type MemoryQuery struct {
	Query string
	// Types, where set, limits the facts to those types.
	Types []string
	// Limit is the maximum number of facts, 10 by default.
	Limit *int
	// AsOf, where set, is the time at which the facts were known and held. Zero is now.
	AsOf time.Time
	// IncludeEnded adds facts that were known at that time and held no longer.
	IncludeEnded bool
}

const (
	defaultMemories = 10
	// nearMemories is how many memories the index is asked for. The others are ranked by their words.
	nearMemories = 100
)

// Memories returns the user's facts that are most relevant to a query, by the same ranking as messages. The live ones
// come from the table, so none is missing where the index has no vector of it yet, or does not answer. The index finds
// those that more than the bound of live ones made past. Without preferences that allow them, extracted facts are left
// out.
// Its errors are Invalid, with the field, and those of the store.
func (s *Service) Memories(ctx context.Context, user conversation.UserID, q MemoryQuery) (Records, error) {
	if strings.TrimSpace(q.Query) == "" {
		return Records{}, fault.InvalidField("query", "must be a text to search for")
	}
	found, visible, err := s.search(ctx, user, Search{
		Text: q.Query, RecordTypes: []string{vector.MemoryRecord}, Limit: nearMemories,
	})
	if err != nil {
		return Records{}, err
	}
	withPast := q.IncludeEnded || !q.AsOf.IsZero()
	stored, err := s.facts(ctx, user, visible, withPast, found.Hits)
	if err != nil {
		return Records{}, err
	}
	stored = slices.DeleteFunc(stored, func(m longterm.Memory) bool { return !q.wants(m, visible.now) })
	limit := defaultMemories
	if q.Limit != nil {
		limit = *q.Limit
	}
	hits := s.rankHits(factHits(stored, found.Hits), visible.asked)
	return visible.answer(hits[:min(limit, len(hits))], visible.degradations(found.Degraded)), nil
}

// maxOrigins limits how many messages are looked up for the facts of one search. The rest count as hidden.
const maxOrigins = 1000

// facts returns the user's facts that the preferences allow, those that were found among them. For a user who separates
// contexts it reads the messages from which they were drawn.
func (s *Service) facts(
	ctx context.Context, user conversation.UserID, visible visibility, withPast bool, found []Hit,
) ([]longterm.Memory, error) {
	all, err := s.store.Memories(ctx, user, visible.generation, withPast)
	for _, h := range found {
		if h.Memory != nil && !slices.ContainsFunc(all, func(m longterm.Memory) bool { return m.ID == h.ID }) {
			all = append(all, *h.Memory)
		}
	}
	seen := map[string]bool{}
	if err == nil && visible.Memory && visible.SeparatesContexts() {
		var ids []string
		for _, m := range longterm.NewestFirst(all) {
			if m.Source == longterm.Extracted {
				ids = append(ids, m.MessageIDs...)
			}
		}
		var hits []Hit
		hits, err = s.store.Resolve(ctx, user, visible.generation, ids[:min(maxOrigins, len(ids))])
		for _, h := range hits {
			seen[h.ID] = h.Message != nil && visible.allowsSession(h.Message.Context, h.Message.SessionID)
		}
	}
	return slices.DeleteFunc(all, func(m longterm.Memory) bool {
		return !visible.AllowsMemory(m, func(id string) bool { return !seen[id] })
	}), err
}

// wants reports whether a fact is of the types, held at the time and does not wait for a review.
func (q MemoryQuery) wants(m longterm.Memory, now time.Time) bool {
	if m.Status == longterm.Waiting || len(q.Types) > 0 && !slices.Contains(q.Types, string(m.Type)) {
		return false
	}
	at := now
	if !q.AsOf.IsZero() {
		at = q.AsOf.In(now.Location())
	}
	return m.KnownAt(at) && (q.IncludeEnded || m.HeldAt(at))
}
