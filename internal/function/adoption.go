//go:build !nomigration

package function

import (
	"context"
	"time"

	"github.com/throughline/throughline/internal/config"
	"github.com/throughline/throughline/internal/delay"
	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/health"
	"github.com/throughline/throughline/internal/migration"
	"github.com/throughline/throughline/internal/migration/adopt"
)

// This file is all that the functions other than migrate know of the migration. Its counterpart adoption_none.go has
// the same names for who has deleted it (docs/migrating.md).

// Arrivals is a consumer of the table's stream that takes in the sessions of the app's own records.
type Arrivals = adopt.ArrivalMover

// adoption serves the sessions of the app's own records, in the initial stage of a configuration.
func adoption(cfg config.Config) dynamo.Option {
	return adopt.WithInitialStage(migration.Stage(cfg.InitialStage))
}

// CountAdopted sets what counts the tokens of messages that the app wrote.
func CountAdopted(count func(string) int) dynamo.Option { return adopt.WithTokens(count) }

// NewArrivals returns a consumer that takes sessions in when the next consumer has handled a batch.
func NewArrivals(db *dynamo.DB, next adopt.Consumer) Arrivals { return adopt.NewArrivalMover(db, next) }

// MigrationHealth reads how far the migration is.
func MigrationHealth(cfg config.Config, db *dynamo.DB) health.Migration {
	return migrationHealth{&migration.Service{
		Table: adopt.NewMigrationStore(db, DynamoDB(cfg)), Now: time.Now, Sleep: delay.Sleep,
	}}
}

type migrationHealth struct{ *migration.Service }

// Migrated returns how far the migration is.
func (m migrationHealth) Migrated(ctx context.Context) (health.Migrated, error) {
	a, err := m.Status(ctx)
	p := a.Progress
	return health.Migrated{
		Stage: string(a.Stage), Percent: a.Percent, Backfilled: a.Backfilled, VerifiedAt: a.VerifiedAt, Cleaned: a.Cleaned,
		Done: a.Done, Progress: health.Progress{
			Action: string(p.Action), Percent: p.Percent, PerSecond: p.PerSecond, SecondLeft: p.SecondLeft,
			Sessions: p.Sessions, Messages: p.Messages, Problems: p.Problems,
		},
	}, err
}
