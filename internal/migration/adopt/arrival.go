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
// then on lists and prompts have them.
type ArrivalMover struct {
	*Adopter
	next Consumer
}

// NewArrivalMover returns a consumer that moves sessions when the next consumer has handled a batch.
func NewArrivalMover(db *dynamo.DB, next Consumer) ArrivalMover { return ArrivalMover{Of(db), next} }

// Consume passes the changes on and moves the embedded sessions among them.
func (m ArrivalMover) Consume(ctx context.Context, changes []conversation.Change) (int, error) {
	done, err := m.next.Consume(ctx, changes)
	for i, c := range changes[:min(done, len(changes))] {
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
