package adopt

import (
	"context"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/migration"
)

// MigrationState returns the state of the migration that requests use.
func MigrationState(ctx context.Context, db *dynamo.DB) (migration.State, error) {
	return Of(db).migrationState(ctx)
}

// Move moves a session as the job does.
func Move(ctx context.Context, db *dynamo.DB, user conversation.UserID, id string, to migration.Placement,
) (migration.Work, error) {
	m := Of(db).mover(user, id)
	m.byJob = true
	err := m.move(ctx, to)
	return m.work, err
}
