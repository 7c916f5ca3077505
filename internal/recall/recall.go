// Package recall finds what matters across contexts: the newest or most relevant summaries for the start of a
// session, and the messages, memories and notes nearest to a query (design 3 and 4.4, api 4). The vector index gives
// ids and scores; what the table or the preferences no longer allow is dropped from the hits.
package recall

import (
	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/summary"
)

// Hit is one thing found, resolved from the table; exactly one of the pointers is set.
type Hit struct {
	// ID is the record's id in the vector index.
	ID    string
	Score float64

	Message *conversation.Message
	Summary *summary.Summary
	Memory  *longterm.Memory
	CheckIn *longterm.CheckIn
}

// Degradation says that a source was not asked or did not answer, and why, in words that a user may read.
type Degradation struct {
	Source string `json:"source"`
	Reason string `json:"reason"`
}
