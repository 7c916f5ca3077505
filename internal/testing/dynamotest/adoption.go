//go:build !nomigration

package dynamotest

import (
	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/migration"
	"github.com/throughline/throughline/internal/migration/adopt"
)

// Stages are the stages of a migration in which users have their messages elsewhere than in the table alone.
func Stages() []string {
	return []string{string(migration.Embedded), string(migration.Dual), string(migration.SharedRead)}
}

// Adopting serves the sessions of an app's own records, as the functions do.
func Adopting() dynamo.Option { return adopt.WithLegacy() }

// InStage serves them in a stage of a migration, and returns what a new session then has of it.
func InStage(stage string) (dynamo.Option, conversation.Adopted) {
	s := migration.Stage(stage)
	return adopt.WithInitialStage(s), adopt.Array{Placement: s.Placement()}
}
