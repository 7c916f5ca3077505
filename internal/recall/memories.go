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

// Memories returns the user's facts that are most relevant to a query, by the same ranking as messages. The table has
// all of them, so none is missing where the index has no vector of it yet, or does not answer. Without preferences that
// allow them, extracted facts are left out.
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
	stored, err := s.store.Memories(ctx, user, visible.generation, withPast)
	if err != nil {
		return Records{}, err
	}
	stored = slices.DeleteFunc(stored, func(m longterm.Memory) bool {
		return !q.wants(m, visible.now) || !visible.Memory && m.Source == longterm.Extracted
	})
	limit := defaultMemories
	if q.Limit != nil {
		limit = *q.Limit
	}
	hits := s.rankHits(factHits(stored, found.Hits), visible.asked)
	return visible.answer(hits[:min(limit, len(hits))], visible.degradations(found.Degraded)), nil
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
