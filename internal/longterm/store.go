package longterm

import (
	"context"

	"github.com/throughline/throughline/internal/conversation"
)

// Access is what decides what may be read: the user's preferences, and the generation that everything read or
// written has to be of (design 1, "generation").
type Access struct {
	Preferences Preferences
	Generation  int64
}

// Singleton keeps the one record of a kind that a user has: profile, seed, user summary, preferences.
type Singleton[T any] interface {
	// Get returns the record; NotFound before the first Put, except preferences, which have defaults.
	Get(ctx context.Context, user conversation.UserID) (T, error)
	// Put replaces the record and returns it as stored.
	Put(ctx context.Context, user conversation.UserID, record T) (T, error)
}

// Collection keeps the many records of a kind that a user has: goals, check-ins, memories, todos. Another user's
// record is NotFound.
type Collection[T any] interface {
	// Create stores a record under a fresh id, as created now, and returns it. replayed says that an earlier call with
	// the same idempotency key had stored it: then the answer is what that call's was, even where the record has been
	// changed or deleted since.
	Create(ctx context.Context, user conversation.UserID, record T, idem conversation.Idempotency) (stored T, replayed bool, err error)
	Get(ctx context.Context, user conversation.UserID, id string) (T, error)
	// List returns one page, live and past records alike, newest first.
	List(ctx context.Context, user conversation.UserID, page conversation.Page) ([]T, conversation.Position, error)
	// Update applies change to the record as it stands and stores it, all or nothing; change may run again when
	// another writer came first. An error of change is returned as it is.
	Update(ctx context.Context, user conversation.UserID, id string, change func(*T) error) (T, error)
	Delete(ctx context.Context, user conversation.UserID, id string) error
}

// CoachStore keeps a user's coaches under ids that the app chooses.
type CoachStore interface {
	Coach(ctx context.Context, user conversation.UserID, id string) (Coach, error)
	Coaches(ctx context.Context, user conversation.UserID, page conversation.Page) ([]Coach, conversation.Position, error)
	PutCoach(ctx context.Context, user conversation.UserID, coach Coach) (Coach, error)
	DeleteCoach(ctx context.Context, user conversation.UserID, id string) error
}
