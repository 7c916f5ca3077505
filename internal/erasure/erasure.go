// Package erasure deletes messages, sessions with everything derived from them, and users with everything they have. It
// orders the steps over the table and the vector index so that each can be repeated after a crash, and so that workers
// that come late bring nothing back. ARCHITECTURE describes it in the section "Deletion and erasure".
package erasure

import (
	"context"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/sweep"
)

// Tombstone is the record of a deletion. With it the sweep finishes a deletion that broke off, and later deletes the
// vectors once more: a worker that was indexing at the time may have written one after they were deleted.
type Tombstone struct {
	User conversation.UserID
	// ID is the store's name of the record.
	ID         string
	Generation int64 `stored:"generation"`
	// Session is the deleted session as it last was. Message is where the deleted message was: its context, session, seq
	// and time. One of them is nil, or both when the tombstone is of a user or of vectors.
	Session *conversation.Session
	Message *conversation.Message
	// Others are the ids of the messages of the session that were deleted with Message, in the same step.
	Others []string `stored:"deletedIds,omitempty"`
	// Version is that of the deletion: one more than the record had. Files are where the app keeps the session's files.
	Version   int64     `stored:"version,omitempty"`
	Files     []string  `stored:"files,omitempty"`
	DeletedAt time.Time `stored:"deletedAt,omitempty"`
	// Emptied says that the table holds nothing of it any more.
	Emptied bool `stored:"emptied"`
	// Vectors are the ids that a late worker may bring back. Namespace says that this may be any vector of an earlier
	// generation.
	Vectors   []string `stored:"vectors,omitempty"`
	Namespace bool
	// Erasing says that the tombstone is of a user whose erasure is not done.
	Erasing bool `stored:"erasing,omitempty"`
	// Sweeps counts the sweeps since it was emptied.
	Sweeps int `stored:"sweeps"`
}

// MessageStore deletes single messages.
type MessageStore interface {
	// Message reads a message. It returns a NotFound error unless the message is one of that session.
	Message(ctx context.Context, user conversation.UserID, sessionID, messageID string) (conversation.Message, error)
	// DeleteMessage deletes the message, corrects its session, deletes the session's summary if that covers the message,
	// and stores a tombstone with the vectors, in one transaction.
	DeleteMessage(ctx context.Context, user conversation.UserID, m conversation.Message, vectors []string, due time.Time,
	) (Tombstone, error)
}

// ForgettingStore takes messages that the user asked to forget out of what was made of them.
type ForgettingStore interface {
	// ForgottenDue returns the forgetting whose record is due. ok is false for other records.
	ForgottenDue(ctx context.Context, d sweep.Due) (f Forgetting, ok bool, err error)
	// ForgetMessage marks a message as forgotten, and deletes the session's summary if that covers it, with the coach's
	// spine, in one transaction. The answer has the message, and the vectors to delete but for those of the message. It is
	// NotFound where the message has no record of its own.
	ForgetMessage(ctx context.Context, user conversation.UserID, messageID string) (Tombstone, error)
}

// PromptStore deletes what stored prompts quote.
type PromptStore interface {
	// DeletePrompts deletes the session's prompts that were built in that span of time, and the text of all other prompts
	// of the span. Their manifests quote nothing and stay. It also deletes the prompts that were kept for turns before the
	// deletion.
	DeletePrompts(ctx context.Context, user conversation.UserID, span PromptSpan) error
}

// PromptSpan is the prompts that may quote what was deleted: those built from one time until before another. Those of
// the session go, unless it is a session of the same id that was created after the deletion. Where the session stays,
// those of it that were built after the deletion stay without their text.
type PromptSpan struct {
	SessionID string
	Stays     bool
	From, To  time.Time
	DeletedAt time.Time
}

// SessionStore deletes sessions, step by step.
type SessionStore interface {
	// DeleteSession deletes the session's record, after which nothing can be appended, and stores a tombstone. For a
	// session that is deleted but not emptied it returns that one's tombstone, and otherwise a NotFound error.
	DeleteSession(ctx context.Context, user conversation.UserID, id string, due time.Time) (Tombstone, error)
	// UnfinishedDeletion returns the tombstone of a session of that id that is not emptied, or a NotFound error.
	UnfinishedDeletion(ctx context.Context, user conversation.UserID, id string) (Tombstone, error)
	// RemainingMessages returns one page of the messages that are left of a deleted session, read consistently.
	RemainingMessages(ctx context.Context, t Tombstone, page conversation.Page,
	) ([]conversation.Message, conversation.Position, error)
	DeleteMessages(ctx context.Context, user conversation.UserID, messages []conversation.Message) error
	// DeleteSummaries deletes a session's summaries, and not those of a later session of its id. It returns the ids of
	// their vectors.
	DeleteSummaries(ctx context.Context, user conversation.UserID, session conversation.Session,
	) (vectors []string, err error)
	// DeleteMarks deletes the clientMessageIds of a session and the prompts that are kept of its turns.
	DeleteMarks(ctx context.Context, user conversation.UserID, session conversation.Session) error
}

// TombstoneStore keeps tombstones until they have been swept.
type TombstoneStore interface {
	// SaveTombstone stores how far a deletion has come, and when it is due again.
	SaveTombstone(ctx context.Context, t Tombstone, due time.Time) error
	// SaveVectorTombstone stores the tombstone of vectors that could not be deleted, unless the user has been erased
	// since. The store sets its ID, which is the same for the same vectors.
	SaveVectorTombstone(ctx context.Context, t Tombstone, due time.Time) error
	DeleteTombstone(ctx context.Context, t Tombstone) error
	// Tombstone reads the tombstone of a due record. It is NotFound when the record is none or is gone.
	Tombstone(ctx context.Context, d sweep.Due) (Tombstone, error)
}

// UserStore erases everything of a user.
type UserStore interface {
	// BeginErasure raises the generation, or goes on with an erasure that is not done. It gives the caller a lease until
	// then, after which the erasure is due for the sweep. held is false while another caller has the lease.
	BeginErasure(ctx context.Context, user conversation.UserID, until time.Time) (p Progress, held bool, err error)
	// ResumeErasure goes on with an erasure that is not done, and begins none. held is false where there is none, and
	// while another caller has the lease.
	ResumeErasure(ctx context.Context, user conversation.UserID, until time.Time) (p Progress, held bool, err error)
	// Erasure returns how far the user's last erasure has come. It is NotFound when the user was never erased.
	Erasure(ctx context.Context, user conversation.UserID) (Progress, error)
	// EraseRecords deletes the records of earlier generations, sessions first, until a pass with consistent reads finds
	// none or until then. It calls deleted for each batch, one call at a time.
	EraseRecords(ctx context.Context, user conversation.UserID, generation int64, until time.Time,
		deleted func(kind string, n int)) (done bool, err error)
	// Left counts the records that an erasure has left, by the part of their keys up to the first '#', with consistent
	// reads. Those that the user has stored since are not counted. remaining is how many should not have been left.
	Left(ctx context.Context, user conversation.UserID, generation int64) (left map[string]int, remaining int, err error)
	// SaveErasure stores the progress and gives the lease back. When it is Done, the erasure ends, and the vectors of
	// earlier generations are swept again at due.
	SaveErasure(ctx context.Context, user conversation.UserID, p Progress, due time.Time) error
}

// Source is the session of a message. Its time of creation distinguishes it from other sessions of the same id.
type Source struct {
	SessionID string
	CreatedAt time.Time
}

// SourceStore says where memories and vectors come from.
type SourceStore interface {
	// SessionsOf returns the sessions of the messages that exist, by message id.
	SessionsOf(ctx context.Context, user conversation.UserID, messageIDs []string) (map[string]Source, error)
	// WithoutRecord returns those of the vector ids that have no record of the generation.
	WithoutRecord(ctx context.Context, user conversation.UserID, generation int64, vectors []string) ([]string, error)
}

// Index deletes vectors.
type Index interface {
	Delete(ctx context.Context, user conversation.UserID, generation int64, ids []string) error
	// Drop deletes all vectors of a generation and returns how many there were. With an error, it returns how many it has
	// deleted.
	Drop(ctx context.Context, user conversation.UserID, generation int64) (int, error)
}

// Reindexer indexes a message that follows a deleted one.
type Reindexer interface {
	// ReindexNext indexes the message after a deleted one again, without the deleted one as its context. It does nothing
	// when there is none.
	ReindexNext(ctx context.Context, user conversation.UserID, deleted conversation.Message) error
}

// Progress is how far the erasure of a user has come.
type Progress struct {
	Done bool
	// Counts are the records deleted so far, by kind.
	Counts  map[string]int `stored:"counts"`
	Vectors int            `stored:"vectorCount"`
	// Left are the records that stay, as UserStore.Left counts them. It is nil when they could not be counted in time.
	Left map[string]int `stored:"left,omitempty"`
	// Files are where the app keeps the files of what was deleted, which the app has to delete.
	Files []string `stored:"files,omitempty"`
	// ErasedAt is when the erasure began. Generation is the user's since then.
	ErasedAt   time.Time `stored:"erasedAt"`
	Generation int64     `stored:"generation"`
}

// Receipt is the Progress as the user sees it, with the time until which backups hold the data.
type Receipt struct {
	Progress
	BackupsUntil time.Time
}

// Deps are what a Service works with. All but Ledger are needed. Backups is how long point-in-time recovery reaches
// back.
type Deps struct {
	Messages   MessageStore
	Sessions   SessionStore
	Cuts       CutStore
	Prompts    PromptStore
	Tombstones TombstoneStore
	Users      UserStore
	Sources    SourceStore
	Forgetting ForgettingStore
	Timeline   conversation.TimelineReader
	Summaries  SummaryStore
	// Memories and Todos leave no trace of what is deleted: the user may say it again.
	Memories longterm.Collection[longterm.Memory]
	Todos    longterm.Collection[longterm.Todo]
	CheckIns longterm.Collection[longterm.CheckIn]
	Index    Index
	// Ledger is nil where nothing is to be erased again after a restore.
	Ledger  Ledger
	Now     func() time.Time
	Backups time.Duration
}

// DefaultBackups is the longest point-in-time recovery of DynamoDB.
const DefaultBackups = 35 * 24 * time.Hour

// Service deletes. It is safe for concurrent use, and every deletion may be repeated.
type Service struct{ Deps }

// New returns a service.
func New(d Deps) *Service { return &Service{d} }

const (
	// resumeAfter is when the sweep goes on with an unfinished deletion.
	resumeAfter = time.Minute
	// The sweep deletes vectors once more when the workers of the time of the deletion have ended, and again after the
	// last redelivery of a stream record, which DynamoDB keeps for 24 hours.
	FirstSweepAfter = 15 * time.Minute
	lastSweepAfter  = 25 * time.Hour
	// A stored prompt may quote a message that is deleted. promptsBefore is by how much the clocks of messages and
	// prompts may differ. promptsAfter also covers a prompt that was being built at the time.
	promptsBefore = time.Hour
	promptsAfter  = 10 * time.Minute
	// maxIndexTime is how long one deletion of vectors may take before it is left to the sweep.
	maxIndexTime = 5 * time.Second
	// maxTombstoneVectors bounds the size of a tombstone. The newest vectors are the most likely to come back.
	maxTombstoneVectors = 2000
)

// saveEmptied stores the tombstone of a deletion that left nothing in the table, for its sweeps.
func (s *Service) saveEmptied(ctx context.Context, t Tombstone) error {
	t.Emptied = true
	t.Vectors = LastVectors(t.Vectors)
	return s.Tombstones.SaveTombstone(ctx, t, s.Now().Add(FirstSweepAfter))
}

// LastVectors returns the last ids, as many as a tombstone holds.
func LastVectors(ids []string) []string { return ids[max(0, len(ids)-maxTombstoneVectors):] }

// deletePrompts deletes the stored prompts that may quote what was deleted.
func (s *Service) deletePrompts(ctx context.Context, t Tombstone) error {
	span := PromptSpan{DeletedAt: t.DeletedAt, To: t.DeletedAt.Add(promptsAfter)}
	switch {
	case t.Session != nil:
		span.SessionID, span.From = t.Session.ID, t.Session.CreatedAt.Add(-promptsBefore)
	case t.Message != nil:
		span.SessionID, span.From = t.Message.SessionID, t.Message.Timestamp.Add(-promptsBefore)
		span.Stays = true
	default:
		return nil
	}
	return s.Prompts.DeletePrompts(ctx, t.User, span)
}
