// Package extraction reads what users say for lasting facts, promises and promises kept, and stores them as memories
// and todos.
//
// It notes what messages of role user say. The model sees the assistant's lines between them, shortened and without
// ids: they are context, and no fact can name one as its evidence. System messages, those of tools and recalled
// memories are never read, so that no memory is made of a memory. A session's watermark Extracted says how far it is
// read.
//
// The messages are read in batches of at most twelve different ones within a day, with one call of the model for each
// batch. What follows from a batch is stored with the watermark in one transaction. A lease for each user lets one
// worker at a time read what is known, ask the model and store.
package extraction

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/llm"
	"github.com/throughline/throughline/internal/llm/metered"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/recall"
	"github.com/throughline/throughline/internal/sweep"
)

// Store is what extraction reads and writes.
type Store interface {
	SessionReader
	RecordReader
	Leases
	Writer
	SkippedReader
}

// SessionReader reads a session and its messages.
type SessionReader interface {
	// Open reads a session of a known context with the user's preferences and generation, consistently.
	Open(ctx context.Context, user conversation.UserID, context, sessionID string,
	) (conversation.Session, longterm.Access, error)
	// MessagesAfter reads at most limit of a session's messages after a watermark, oldest first, and fewer where they are
	// larger than conversation.MaxPageBytes together. It reads none only where there are no more. The answer has no gap
	// even when an index lags.
	MessagesAfter(
		ctx context.Context, user conversation.UserID, session conversation.Session, after conversation.Watermark,
		limit int,
	) ([]conversation.Message, error)
	// Timeline returns a page of the user's messages of all sessions in a range, and where the next page begins.
	Timeline(ctx context.Context, user conversation.UserID, r conversation.Range, page conversation.Page,
	) ([]conversation.Message, conversation.Position, error)
}

// RecordReader reads what is known of the user.
type RecordReader interface {
	// Resolve reads the records of vector ids. A message's vector has the message's id.
	Resolve(ctx context.Context, user conversation.UserID, generation int64, ids []string) ([]recall.Hit, error)
	// Known reads the user's memories and todos that are among the live records, consistently, and the newest 100 of
	// the past ones of each if withPast is set.
	Known(ctx context.Context, user conversation.UserID, generation int64, withPast bool) (Known, error)
}

// Leases keep two workers from one user's extraction.
type Leases interface {
	// LeaseExtraction gives the user's extraction to an owner until a time. held is false while another owner has it. It
	// is a Conflict when the session is not as far as it was read, or the user was erased.
	LeaseExtraction(ctx context.Context, user conversation.UserID, session conversation.Session, l Lease,
	) (held bool, err error)
	// ReleaseExtraction gives the lease back, if the owner still has it.
	ReleaseExtraction(ctx context.Context, user conversation.UserID, l Lease) error
}

// Writer stores what was extracted.
type Writer interface {
	// SaveExtraction stores what follows from a batch, with the session's watermark, all or nothing. Its conditions are
	// that the owner has the lease, that the session is still the same one, as far as it was read and has lost no message
	// since, that the user allows memories, and that nobody has written the changed records since. Then it is a Conflict,
	// or ErrLeaseLost. forgotten are the ids of new records that the user has deleted since they were said; with them
	// nothing is stored.
	SaveExtraction(ctx context.Context, user conversation.UserID, session conversation.Session, b Batch,
	) (forgotten []string, err error)
	// SkipExtraction raises the session's watermark to its end without reading the messages.
	SkipExtraction(ctx context.Context, user conversation.UserID, session conversation.Session) error
}

// SkippedReader reads what is due of skipped messages.
type SkippedReader interface {
	// SkippedDue names the skipped message of a due record. ok is false where the record is of another kind.
	SkippedDue(d sweep.Due) (of SkippedDue, ok bool)
}

// SkippedDue is a skipped message that is due.
type SkippedDue struct {
	Context, SessionID string
	Seq                int
}

// ErrLeaseLost says that another worker has taken the lease over.
var ErrLeaseLost = errors.New("extraction: another worker has the lease")

// Lease is the right to extract a user's memories until a time. No other worker has the owner's name.
type Lease struct {
	Owner string
	Until time.Time
}

// Known is what is remembered of a user. Versions are those of the records, by id. With them a write knows whether a
// record has changed since.
type Known struct {
	Memories []longterm.Memory
	// Past are memories that have ended, newest first. They can be forgotten, and nothing else. PastTodos are settled
	// promises: what was said before does not open them again.
	Past             []longterm.Memory
	Todos, PastTodos []longterm.Todo
	Versions         map[string]int64
	// Forgotten is what stays of the memories that the user has deleted.
	Forgotten []longterm.Forgotten
	// ForgottenMessages are the ids of those that are forgotten or ask for it, where past records are read.
	ForgottenMessages []string
}

// Batch is what follows from one batch of messages.
type Batch struct {
	// Lease is the lease of the worker. The batch extends it until its time, or gives it back where Last is set.
	Lease Lease
	Last  bool
	// Through is how far the session is read with the batch.
	Through conversation.Watermark
	// Reading is what the session says of bad answers from then on.
	Reading conversation.Reading
	// Known is what the changes were made of.
	Known    Known
	Memories Changes[longterm.Memory]
	Todos    Changes[longterm.Todo]
	// Forgotten are memories of Known that the user asked to forget, with the messages that ask for it. They are deleted,
	// as if the user had done it, and their messages are forgotten. ForgottenMessages are other messages that the user
	// asked to forget.
	Forgotten         []longterm.Memory
	ForgottenMessages []string
	// PromisedAt is when the first of these was said from which the batch opens a promise, zero where it opens none: what
	// the messages promise from then on stands.
	PromisedAt time.Time
	// Denied are memories of Known that were never true. What they took the place of holds again, before all else: a plan
	// only if its day had come in the user's Zone.
	Denied []longterm.Memory
	Zone   *time.Location
}

// Changes are the records of one kind that a batch creates, with their ids, and those of Known that it changes.
type Changes[T any] struct{ New, Changed []T }

// Counts is what a batch came to, or a part of it. BadItems are items of the answer that are not as the schema says,
// BadAnswers whole answers of no use, and Skipped messages that were skipped after several of these.
type Counts struct {
	Calls, NewMemories, Superseded, Ended, Forgotten, OpenedLoops, ClosedLoops, BadItems, BadAnswers, Skipped int
}

// Deps are the dependencies of a Service. All are needed.
type Deps struct {
	Store  Store
	Model  metered.Completer
	Quota  metered.Quota
	Tokens llm.Counter
	Now    func() time.Time
	// Random is the source of ids. NewOwner returns a name that no other worker has.
	Random   io.Reader
	NewOwner func() string
	// Report is called with failures that do not stop the work.
	Report func(ctx context.Context, op string, err error)
	// Count is called with each call of the model and with what each transaction stored.
	Count func(ctx context.Context, c Counts)

	// EveryMessages is the number of messages that are not read from which a session is overdue.
	EveryMessages int
	// Background is false while all background model calls are stopped. Then nothing is read.
	Background bool
}

// Service extracts memories and todos. It is safe for concurrent use.
type Service struct {
	Deps
	// lastWell is when the model last read messages well, of any user, in milliseconds since 1970.
	lastWell atomic.Int64
}

// New returns a service on its dependencies.
func New(d Deps) *Service { return &Service{Deps: d} }

// IsOverdue reports whether a session has to be read at once, even though its user is still there: many messages are
// not read, or an urgent one.
func (s *Service) IsOverdue(session conversation.Session) bool {
	return session.Extracted.Seq < session.UrgentSeq ||
		session.NeedsExtraction() && session.LastSeq-session.Extracted.Seq >= s.EveryMessages
}
