// Package recall finds what matters across contexts: the newest or most relevant summaries for the start of a
// session, and the messages, memories and notes nearest to a query (design 3 and 4.4, api 4). The vector index gives
// ids and scores; what the table or the preferences no longer allow is dropped from the hits.
package recall

import (
	"cmp"
	"context"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/summary"
)

// Hit is one thing found, resolved from the table; exactly one of the pointers is set.
type Hit struct {
	// ID is the record's id in the vector index.
	ID string
	// Score is its likeness to the text. Rank is what it comes to when a search ranks its messages and check-ins again,
	// among themselves; 0 where it does not.
	Score, Rank float64

	Message *conversation.Message
	Summary *summary.Summary
	Memory  *longterm.Memory
	CheckIn *longterm.CheckIn
}

// Value is what hits are ordered by.
func (h Hit) Value() float64 { return cmp.Or(h.Rank, h.Score) }

// OccurredAt is when what was found happened: a message's and a check-in's own time, the last message that a summary
// covers, the last change of a memory.
func (h Hit) OccurredAt() time.Time {
	switch {
	case h.Message != nil:
		return h.Message.Timestamp
	case h.Summary != nil:
		return h.Summary.OccurredAt
	case h.CheckIn != nil:
		return h.CheckIn.Timestamp
	case h.Memory != nil:
		return h.Memory.UpdatedAt
	}
	return time.Time{}
}

// Degradation says that a source was not asked or did not answer, and why, in words that a user may read.
type Degradation struct {
	Source string `json:"source"`
	Reason string `json:"reason"`
}

// Search asks for what is nearest to a text.
type Search struct {
	Text string
	// RecordTypes limits the kinds: vector.MessageRecord, vector.MemoryRecord, vector.CheckInRecord, or the record
	// types of summaries. Empty means all.
	RecordTypes []string
	// Limit is at most how many hits to return.
	Limit int
	// Rerank has messages and check-ins ranked again, among themselves. Widely has more of the index's answers looked at
	// for that, which costs a larger read of the table.
	Rerank, Widely bool
	// Context and SessionID are where the asker stands: preferences decide what is seen from there. Empty means
	// outside every session, where sharing between contexts is not a question.
	Context   string
	SessionID string
	// ExcludeSessionID leaves that session's own messages and summary out.
	ExcludeSessionID string
	// Contexts, From and To, where set, limit what is found to those contexts and that half-open span of time.
	Contexts []string
	From, To time.Time
	// CoachID, where set, keeps summaries of other coaches out.
	CoachID string
	// HalfLife, where positive, halves a hit's score with each such span of age: relevance falls with age.
	HalfLife time.Duration
	// Access gives what the caller reads anyway, when it has; nil makes the search read it.
	Access func(ctx context.Context) (longterm.Access, error)
}

// The sources that a search degrades by when they do not answer; the table is none of them.
const (
	EmbeddingSource = "embedding"
	IndexSource     = "pinecone"
)

// recordsSource names the time that reading the hits' records took.
const recordsSource = "records"

// Found is what a search brought, best first, and which sources did not answer.
type Found struct {
	Hits     []Hit
	Degraded []Degradation
	// Timings are how long each source took: "embedding", "pinecone", "records".
	Timings map[string]time.Duration
}
