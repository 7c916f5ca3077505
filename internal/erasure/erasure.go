// Package erasure deletes: a message, a session with everything drawn from it, a user with everything there is
// (design 4.7). It orders the steps over the table and the vector index so that each can be repeated, whatever crashed
// in between, and so that late workers bring nothing back.
package erasure

import (
	"context"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/longterm"
)

// Grave is the record of a deletion. It lets an unfinished one go on, and has the vector index swept again later: a
// worker that was at it may have written a vector after it was deleted.
type Grave struct {
	User conversation.UserID
	// ID names the record in the store's words.
	ID         string
	Generation int64
	// Session is the deleted session as it last stood, Message the deleted message's place (its context, session, seq
	// and time); nil where the grave is another thing's. BuriedAt is when it was deleted.
	Session  *conversation.Session
	Message  *conversation.Message
	BuriedAt time.Time
	// Emptied is set when the table holds nothing of it any more.
	Emptied bool
	// Vectors are ids that may come back. Namespace is set where all vectors of earlier generations may.
	Vectors   []string
	Namespace bool
	// Round counts the sweeps that it has had.
	Round int
}

// MessageStore deletes single messages.
type MessageStore interface {
	// MessageOf reads a message, NotFound unless it is one of that session's.
	MessageOf(ctx context.Context, user conversation.UserID, sessionID, messageID string) (conversation.Message, error)
	// BuryMessage deletes the message, corrects its session, drops the session's summary where that covers it, and
	// leaves a grave that holds the vectors, in one transaction.
	BuryMessage(ctx context.Context, user conversation.UserID, m conversation.Message, vectors []string, due time.Time) (Grave, error)
}

// PromptStore deletes what kept prompts quote.
type PromptStore interface {
	// ForgetPrompts deletes the prompts of a session that were built in that span, and the rendered text of all others;
	// their manifests, which quote nothing, stay.
	ForgetPrompts(ctx context.Context, user conversation.UserID, sessionID string, from, to time.Time) error
}

// SessionStore deletes sessions, step by step.
type SessionStore interface {
	// BurySession deletes the session's record, after which nothing can be appended, and leaves a grave. A session that
	// is deleted already but not emptied has its grave returned; otherwise NotFound.
	BurySession(ctx context.Context, user conversation.UserID, id string, due time.Time) (Grave, error)
	// OpenGrave returns the grave of a session of that id that is not emptied, NotFound where there is none.
	OpenGrave(ctx context.Context, user conversation.UserID, id string) (Grave, error)
	// BuriedMessages returns one page of the messages that are left of a buried session, read consistently.
	BuriedMessages(ctx context.Context, g Grave, page conversation.Page) ([]conversation.Message, conversation.Position, error)
	DeleteMessages(ctx context.Context, user conversation.UserID, messages []conversation.Message) error
	// DeleteSummaries deletes a session's summaries and returns their vector ids.
	DeleteSummaries(ctx context.Context, user conversation.UserID, session conversation.Session) (vectors []string, err error)
	// DeleteDescriptions deletes the titles and attributes that a session had before, which are kept for repeats.
	DeleteDescriptions(ctx context.Context, user conversation.UserID, session conversation.Session) error
}

// GraveStore keeps graves until they have been swept.
type GraveStore interface {
	// LeaveGrave makes the grave of vectors that could not be deleted, unless the user has been erased since. It is the
	// store that names it; the same vectors have one grave.
	LeaveGrave(ctx context.Context, g Grave, due time.Time) error
	KeepGrave(ctx context.Context, g Grave, due time.Time) error
	CloseGrave(ctx context.Context, g Grave) error
	// GravesBefore lists the graves that are due, earliest first.
	GravesBefore(ctx context.Context, at time.Time, limit int) ([]Grave, error)
}

// UserStore erases everything of a user.
type UserStore interface {
	// BeginErasure raises the generation and takes the user for this caller until then, or goes on with an erasure
	// that is not done. held is false while another caller has the user.
	BeginErasure(ctx context.Context, user conversation.UserID, until time.Time) (p Progress, held bool, err error)
	// EraseRecords deletes what is of an earlier generation, sessions first, reading consistently until a pass finds
	// nothing or the time has come. deleted hears of each batch, one at a time.
	EraseRecords(ctx context.Context, user conversation.UserID, generation int64, until time.Time, deleted func(kind string, n int)) (done bool, err error)
	// SaveErasure records how far it has come, and lets the user go. Done ends the erasure, and has the vectors of
	// earlier generations swept again when due.
	SaveErasure(ctx context.Context, user conversation.UserID, p Progress, due time.Time) error
}

// SourceStore tells where memories come from.
type SourceStore interface {
	// SessionsOf returns the session ids of those messages that are there.
	SessionsOf(ctx context.Context, user conversation.UserID, messageIDs []string) (map[string]string, error)
}

// Store is everything that deleting needs of the table.
type Store interface {
	MessageStore
	PromptStore
	SessionStore
	GraveStore
	UserStore
	SourceStore
}

// Index deletes vectors.
type Index interface {
	Delete(ctx context.Context, user conversation.UserID, generation int64, ids []string) error
	// Drop deletes the whole namespace of a generation and returns how many vectors it held.
	Drop(ctx context.Context, user conversation.UserID, generation int64) (int, error)
}

// Progress is how far the erasure of a user has come.
type Progress struct {
	Done bool
	// Counts are the records deleted so far, by kind.
	Counts  map[string]int
	Vectors int
	// ErasedAt is when it began; Generation is the user's from then on.
	ErasedAt   time.Time
	Generation int64
}

// Receipt is Progress for the user, with until when backups hold what was deleted.
type Receipt struct {
	Done         bool
	Counts       map[string]int
	Vectors      int
	ErasedAt     time.Time
	Generation   int64
	BackupsUntil time.Time
}

// Deps are what a Service works with; all are needed. Backups is how long point-in-time recovery reaches back.
type Deps struct {
	Store    Store
	Memories longterm.Collection[longterm.Memory]
	Index    Index
	Now      func() time.Time
	Backups  time.Duration
}

// DefaultBackups is DynamoDB's point-in-time recovery, the longest there is.
const DefaultBackups = 35 * 24 * time.Hour

// Service deletes. It is safe for concurrent use; every deletion may be repeated.
type Service struct{ Deps }

// New returns a service.
func New(d Deps) *Service { return &Service{d} }

// Reindexer indexes a message again after the one before it is deleted.
type Reindexer interface {
	// ReindexNext indexes the message after a deleted one again, as one that follows nothing. Without a next message it
	// does nothing.
	ReindexNext(ctx context.Context, user conversation.UserID, deleted conversation.Message) error
}

const (
	// resumeAfter is when an unfinished deletion is taken up by the sweep.
	resumeAfter = time.Minute
	// sweepAgain is when vectors are deleted once more: after the workers at the time have ended, and after the last
	// redelivery of a stream record, which DynamoDB keeps for 24 hours.
	sweepAgain = 15 * time.Minute
	sweepLast  = 25 * time.Hour
	// quotedBefore and quotedAfter are how far the clocks of messages and of prompts may differ, and how long a prompt
	// that was being built at the time takes to be kept.
	quotedBefore = time.Hour
	quotedAfter  = 10 * time.Minute
	// indexTime is how long one deletion of vectors may take before it is left to the sweep.
	indexTime = 5 * time.Second
	// maxGraveVectors bounds a grave's record; the newest vectors are the likeliest to come back.
	maxGraveVectors = 2000
)

// entomb keeps a grave for its sweeps.
func (s *Service) entomb(ctx context.Context, g Grave) error {
	g.Emptied = true
	g.Vectors = g.Vectors[max(0, len(g.Vectors)-maxGraveVectors):]
	return s.Store.KeepGrave(ctx, g, s.Now().Add(sweepAgain))
}

// forgetPrompts takes what was deleted out of the prompts kept of this and of other sessions.
func (s *Service) forgetPrompts(ctx context.Context, g Grave) error {
	var session string
	var from time.Time
	switch {
	case g.Session != nil:
		session, from = g.Session.ID, g.Session.CreatedAt
	case g.Message != nil:
		session, from = g.Message.SessionID, g.Message.Timestamp
	default:
		return nil
	}
	return s.Store.ForgetPrompts(ctx, g.User, session, from.Add(-quotedBefore), g.BuriedAt.Add(quotedAfter))
}
