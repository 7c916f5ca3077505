package adopt_test

import (
	"flag"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/dynamo/adopt"
	"github.com/throughline/throughline/internal/dynamo/dynamotest"
	"github.com/throughline/throughline/internal/migration"
	"github.com/throughline/throughline/internal/storetest"
)

// allStages runs the whole suite in the stages of the migration in which messages are in the shared store.
var allStages = flag.Bool("stages", false, "run the whole suite of the store in each stage of the migration")

// TestStoreInEmbedded runs what clients do with sessions and messages in the stage in which they are in arrays.
func TestStoreInEmbedded(t *testing.T) {
	storetest.RunConversations(t, openIn(migration.Embedded))
}

// TestStoreInDual does so in the stage in which the arrays are read.
func TestStoreInDual(t *testing.T) { runIn(t, migration.Dual) }

// TestStoreInSharedRead does so in the stage in which the shared store is read.
func TestStoreInSharedRead(t *testing.T) { runIn(t, migration.SharedRead) }

func runIn(t *testing.T, stage migration.Stage) {
	t.Helper()
	if *allStages {
		storetest.Run(t, openIn(stage))
		return
	}
	storetest.RunConversations(t, openIn(stage))
}

func openIn(stage migration.Stage) func(*testing.T, func() time.Time) storetest.Subject {
	return func(t *testing.T, now func() time.Time) storetest.Subject {
		t.Helper()
		table := dynamotest.Table(t)
		return storetest.Subject{
			Stores:    dynamotest.Open(t, table, dynamo.WithClock(now), adopt.WithInitialStage(stage)),
			Adopted:   adopt.Array{Placement: stage.Placement()},
			AppRecord: func(*testing.T, conversation.UserID) func() bool { return func() bool { return true } },
		}
	}
}
