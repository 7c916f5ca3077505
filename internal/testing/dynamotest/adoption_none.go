//go:build nomigration

package dynamotest

import (
	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo"
)

// Stages returns none: there is no migration.
func Stages() []string { return nil }

// Adopting changes nothing.
func Adopting() dynamo.Option { return func(*dynamo.DB) {} }

// InStage changes nothing.
func InStage(string) (dynamo.Option, conversation.Adopted) { return Adopting(), nil }
