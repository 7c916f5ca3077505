// Package dynamotest gives tests a store on a fresh table of a real engine.
package dynamotest

import (
	"testing"

	"github.com/throughline/throughline/infra/local/dynamodblocal/dynamodbtest"
	"github.com/throughline/throughline/internal/dynamo"
)

// New returns a store on a table of this test's own. The package's TestMain has to call dynamodbtest.Main.
func New(t testing.TB, options ...dynamo.Option) *dynamo.Store {
	t.Helper()
	return dynamo.New(dynamodbtest.Client(t), Table(t), options...)
}

// Table creates a table for this test and returns its name.
func Table(t testing.TB) string {
	t.Helper()
	return dynamodbtest.Table(t, dynamo.CreateTableInput("throughline"))
}
