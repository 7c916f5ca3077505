package dynamo_test

import (
	"testing"

	"github.com/throughline/throughline/infra/local/dynamodblocal/dynamodbtest"
	"github.com/throughline/throughline/internal/dynamo"
)

func TestMain(m *testing.M) { dynamodbtest.Main(m) }

// TestTableIsWhatTheEngineTakes creates the table as the local stack does.
func TestTableIsWhatTheEngineTakes(t *testing.T) {
	if name := dynamodbtest.Table(t, dynamo.CreateTableInput("any")); name == "" {
		t.Fatal("no table")
	}
}
