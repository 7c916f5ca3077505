package summary

import (
	"context"
	"time"

	"github.com/throughline/throughline/internal/conversation"
)

// Counter counts a text's tokens.
type Counter interface {
	Count(text string) int
}

// Repairer indexes what of a session's messages is not indexed yet.
type Repairer interface {
	Repair(ctx context.Context, user conversation.UserID, session conversation.Session) error
}

// Deps are what a Service stands on. All are needed.
type Deps struct {
	Store    Store
	Model    Completer
	Index    Indexer
	Messages Repairer
	Tokens   Counter
	Now      func() time.Time
	// Report hears of failures that the sweep will mend.
	Report func(ctx context.Context, op string, err error)

	// EveryMessages is how many messages after the last summary bring the next; Idle is how long a session has to be
	// quiet before the sweep summarises it, and how long the sweep waits after a failure.
	EveryMessages int
	Idle          time.Duration
	// Timeout is how long the model has before an extractive summary stands in.
	Timeout time.Duration
	// Background is false while all background model calls are stopped (design 4.8): summaries are extractive, and
	// their sessions stay due.
	Background bool
}

// Service writes summaries. It is safe for concurrent use.
type Service struct {
	Deps
	seen *lastSeen
}

// New returns a service on its dependencies.
func New(d Deps) *Service { return &Service{Deps: d, seen: newLastSeen()} }

// covered is the seq through which the session has a summary, be it a stand-in.
func covered(s conversation.Session) int {
	if s.Summary == nil {
		return s.SummarizedSeq
	}
	return max(s.SummarizedSeq, s.Summary.CoveredThrough)
}

// stale reports whether a session's summary lacks messages, or still calls a completed session in progress.
func stale(s conversation.Session) bool {
	return covered(s) < s.LastSeq || unfinished(s)
}

// unfinished reports whether the summary of a completed session says that it is in progress.
func unfinished(s conversation.Session) bool {
	return s.Status == conversation.Completed && s.Summary != nil && s.Summary.InProgress
}
