package summary

import (
	"context"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/llm"
	"github.com/throughline/throughline/internal/llm/metered"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/sweep"
)

// Store is what summarising reads and writes.
type Store interface {
	conversation.SequelReader
	conversation.TimelineReader
	longterm.AccessReader
	Writer
	DueSessions
}

// Writer stores summaries.
type Writer interface {
	// SaveSummary stores the summary record and the session's copy of it in one transaction. A summary of the model
	// raises the watermark summarizedSeq; a fallback summary does not, and the session stays due. A summary without a
	// text raises the watermark alone. SaveSummary is a Conflict unless the summary Replaces that of the session. It is
	// NotFound when the session is gone or of another generation.
	SaveSummary(ctx context.Context, user conversation.UserID, session conversation.Session, s Summary) error
	// Settle removes the session from the due index if everything in it is covered and neither the session nor its
	// summary has changed since. It does nothing otherwise.
	Settle(ctx context.Context, user conversation.UserID, session conversation.Session) (settled bool, err error)
}

// DueSessions are the sessions that the sweep works on.
type DueSessions interface {
	// SessionDue reads the session of a due record, consistently. It is NotFound when the record is no session, the
	// session is gone or its user is erased.
	SessionDue(ctx context.Context, d sweep.Due) (conversation.Session, error)
	// ClaimSession claims a session until a time, on condition that nobody has since it was read.
	ClaimSession(ctx context.Context, user conversation.UserID, session conversation.Session, until time.Time,
	) (c sweep.Claim, ok bool, err error)
	// EndClaim ends the claim of a session that is not done and makes it due at a time. It stores whether the session's
	// summary is indexed, and settles the session if everything is covered after all. Where succeeded, it sets the number
	// of failures to zero.
	EndClaim(ctx context.Context, c sweep.Claim, session conversation.Session, at time.Time, succeeded bool) error
}

// Indexer writes a stored summary to the vector index.
type Indexer interface {
	IndexSummary(ctx context.Context, user conversation.UserID, s Summary) error
}

// Repairer indexes the messages of a session that are not indexed yet.
type Repairer interface {
	Repair(ctx context.Context, user conversation.UserID, session conversation.Session) error
}

// Extractor reads what the user says in a session for memories. How far it has read is the session's watermark
// Extracted.
type Extractor interface {
	// IsOverdue reports whether a session has to be read at once, even though its user is still there.
	IsOverdue(session conversation.Session) bool
	// Extract reads the messages after the watermark, and returns how far the session is read then. There may be
	// messages left: the session stays due.
	Extract(ctx context.Context, user conversation.UserID, context, sessionID string) (conversation.Watermark, error)
	// ExtractNext is Extract with at most one call of the model, or a few where there is an urgent message, and without
	// waiting for another worker of the user's.
	ExtractNext(ctx context.Context, user conversation.UserID, context, sessionID string) (conversation.Watermark, error)
}

// Deps are the dependencies of a Service. All are needed.
type Deps struct {
	Store    Store
	Model    metered.Completer
	Quota    metered.Quota
	Index    Indexer
	Messages Repairer
	Memories Extractor
	Tokens   llm.Counter
	Now      func() time.Time
	// Random returns a number from 0 to below 1, for waits.
	Random func() float64
	// IsFailing, if set, reports whether the model's service is failing, so that a session without a summary may not be at
	// fault.
	IsFailing func() bool
	// Report is called with failures that the sweep will repair.
	Report func(ctx context.Context, op string, err error)

	// EveryMessages is the number of messages since the last summary that triggers the next one.
	EveryMessages int
	// Idle is how long a session has to be quiet before the sweep summarises it, and how long the sweep waits after a
	// failure.
	Idle time.Duration
	// Timeout is how long the model has before a fallback summary is stored.
	Timeout time.Duration
	// Defers leaves to the sweep what a session that comes to rest says, unless it is urgent: the model answers patient
	// questions late, and the other sessions of the stream would wait for it.
	Defers bool
	// Background is false while all background model calls are stopped. Then summaries are extractive, and their
	// sessions stay due.
	Background bool
}

// Service writes summaries. It is safe for concurrent use.
type Service struct {
	Deps
	// reading limits how many sessions' messages are in memory at once. Those that wait for the model hold no more than
	// its input.
	reading chan struct{}
}

// readAtOnce is how many sessions' messages are read at once.
const readAtOnce = 16

// New returns a service on its dependencies.
func New(d Deps) *Service { return &Service{Deps: d, reading: make(chan struct{}, readAtOnce)} }

// covered is the place through which the session has a summary, of the model or a fallback.
func covered(s conversation.Session) conversation.Watermark {
	if s.Summary == nil || s.Summary.CoveredThrough <= s.Summarized.Seq {
		return s.Summarized
	}
	return conversation.Watermark{Seq: s.Summary.CoveredThrough}
}

// staleThrough reports whether messages through one of them are missing from a session's summary, the summary of a
// completed session is still marked as in progress, or the session's attributes have changed since.
func staleThrough(s conversation.Session, seq int) bool {
	return covered(s).Seq < seq || unfinished(s) || IsOutdated(s)
}

// unfinished reports whether the summary of a completed session is marked as in progress.
func unfinished(s conversation.Session) bool {
	return s.Status == conversation.Completed && s.Summary != nil && s.Summary.InProgress
}

// upToDate reports whether a summary of the model covers the session and agrees with its status and attributes.
func upToDate(s conversation.Session) bool {
	return s.Summarized.Seq >= s.LastSeq && !hasFallback(s) && !unfinished(s) && !IsOutdated(s)
}

// hasFallback reports whether the session's summary is a fallback.
func hasFallback(s conversation.Session) bool {
	return s.Summary != nil && s.Summary.Kind == conversation.Extractive
}

// IsDone reports whether a session needs no more work of the model: its summary is up to date and in the vector index,
// and what the user said is read for memories.
func IsDone(s conversation.Session) bool { return isSummarized(s) && !s.NeedsExtraction() }

// isSummarized reports whether a session's summary needs no more work.
func isSummarized(s conversation.Session) bool { return upToDate(s) && isSummaryIndexed(s) }

func isSummaryIndexed(s conversation.Session) bool { return s.Summary == nil || s.Summary.Indexed }
