package adopt_test

import (
	"flag"
	"testing"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/dynamo/table"
	"github.com/throughline/throughline/internal/migration/adopt"
	"github.com/throughline/throughline/internal/testing/dynamodbtest"
)

const alice = conversation.UserID("alice#1")

var noKey conversation.Idempotency

// everyAnswer is set in make soak.
var everyAnswer = flag.Bool("every-answer", false, "every call at which an append or a move is stopped or late")

// TestMain has few checks of properties, because each has many remote calls.
func TestMain(m *testing.M) { dynamodbtest.MainWithChecks(m, 6) }

// open returns a DB that adopts the sessions of an app's own records.
func open(client table.API, name string, options ...dynamo.Option) *dynamo.DB {
	return dynamo.New(client, name, append([]dynamo.Option{adopt.WithLegacy()}, options...)...)
}
