package longterm

import (
	"context"

	"github.com/throughline/throughline/internal/conversation"
)

// Access decides which records may be read: the user's preferences, and the generation that a record must have. The
// generation counts the erasures of the user.
type Access struct {
	Preferences Preferences
	Generation  int64
	// NotMigrated says that the shared store does not have all of the user's history yet.
	NotMigrated bool
}

// AccessReader reads what a service may do with what is stored of a user.
type AccessReader interface {
	// Access returns preferences and generation in one read.
	Access(ctx context.Context, user conversation.UserID) (Access, error)
}

// SpineReader reads spines.
type SpineReader interface {
	// Spines returns the user's spines that have a text, by coach id, and the preferences that say in which contexts they
	// may be shown.
	Spines(ctx context.Context, user conversation.UserID) ([]Spine, Preferences, error)
}

// Singleton stores the only record of a kind that a user has: profile, seed, user summary, preferences.
type Singleton[T any] interface {
	// Get returns the record. Before the first Put it is NotFound, except preferences, which have defaults.
	Get(ctx context.Context, user conversation.UserID) (T, error)
	// Put replaces the record and returns it as stored.
	Put(ctx context.Context, user conversation.UserID, record T) (T, error)
}

// Collection stores the records of a kind of which a user has many: goals, check-ins, memories, todos. A record of
// another user is NotFound.
type Collection[T any] interface {
	// Create stores a record with a new id, as created now, and returns it. replayed reports whether an earlier call
	// with the same idempotency key has stored it. Create then returns the record of that call, even if it was changed
	// or deleted since.
	Create(
		ctx context.Context, user conversation.UserID, record T, idem conversation.Idempotency,
	) (stored T, replayed bool, err error)
	Get(ctx context.Context, user conversation.UserID, id string) (T, error)
	// List returns one page of the live and the past records, newest first.
	List(ctx context.Context, user conversation.UserID, page conversation.Page) ([]T, conversation.Position, error)
	// Update applies change to the current record and stores it. change runs again after a conflict with another writer.
	// Update returns an error of change as it is.
	Update(ctx context.Context, user conversation.UserID, id string, change func(*T) error) (T, error)
	Delete(ctx context.Context, user conversation.UserID, id string) error
}

// Newest returns the newest records of a collection, at least limit where there are so many, or all where it is 0.
func Newest[T any](ctx context.Context, user conversation.UserID, of Collection[T], limit int) (all []T, err error) {
	for page := (conversation.Page{Limit: 200}); ; {
		records, next, err := of.List(ctx, user, page)
		if err != nil {
			return nil, err
		}
		all = append(all, records...)
		if page.After = next; next == "" || limit > 0 && len(all) >= limit {
			return all, nil
		}
	}
}

// CoachStore stores a user's coaches, under ids that the app chooses.
type CoachStore interface {
	Coach(ctx context.Context, user conversation.UserID, id string) (Coach, error)
	Coaches(ctx context.Context, user conversation.UserID, page conversation.Page) ([]Coach, conversation.Position, error)
	PutCoach(ctx context.Context, user conversation.UserID, coach Coach) (Coach, error)
	DeleteCoach(ctx context.Context, user conversation.UserID, id string) error
}
