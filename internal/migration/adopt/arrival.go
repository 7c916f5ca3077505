package adopt

import (
	"context"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/migration"
)

// Consumer handles changes in order, and returns how many of them need not be delivered again.
type Consumer interface {
	Consume(ctx context.Context, changes []conversation.Change) (done int, err error)
}

// ArrivalMover moves the sessions that an app still writes into its own records when the user's stage is shared. From
// then on lists and prompts have them. Of a session whose record the app has deleted it lets the sweep delete the rest.
type ArrivalMover struct {
	*Adopter
	next Consumer
}

// NewArrivalMover returns a consumer that moves sessions when the next consumer has handled a batch.
func NewArrivalMover(db *dynamo.DB, next Consumer) ArrivalMover { return ArrivalMover{Of(db), next} }

// Consume passes the changes on, moves the embedded sessions among them, and sees to those that are gone.
func (m ArrivalMover) Consume(ctx context.Context, changes []conversation.Change) (int, error) {
	done, err := m.next.Consume(ctx, changes)
	for i, c := range changes[:min(done, len(changes))] {
		if c.Gone != nil {
			if goneErr := m.gone(ctx, c.User, *c.Gone); goneErr != nil {
				return i, goneErr
			}
		}
		if c.Embedded == "" {
			continue
		}
		state, stageErr := m.migrationState(ctx)
		if stageErr != nil {
			return i, stageErr
		}
		if state.Of(c.User) != migration.Shared {
			continue
		}
		moveErr := m.move(ctx, c.User, c.Embedded, migration.InStore, false)
		if moveErr != nil && !fault.Is(moveErr, fault.NotFound) {
			return i, moveErr
		}
	}
	return done, err
}

// gone lets the sweep delete what is left of a session whose record was deleted. An embedded one may have copies.
func (m ArrivalMover) gone(ctx context.Context, user conversation.UserID, s conversation.Session) error {
	const op = "delete session"
	if isAppsOwn(s) {
		records, err := m.db.ReadCurrent(ctx, op, user)
		if err != nil {
			return err
		}
		s.Generation = records.Generation(user)
	}
	if isEmbedded(s) {
		if stored, err := hasStored(ctx, m.db, user, s); err != nil || !stored {
			return err
		}
	}
	return dynamo.NewTombstoneStore(m.db).SaveGone(ctx, user, s)
}
