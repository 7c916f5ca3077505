// Package stacktest starts a local stack for tests of benchmarks.
package stacktest

import (
	"testing"

	"github.com/throughline/throughline/infra/local/functions"
	"github.com/throughline/throughline/infra/local/stack"
	"github.com/throughline/throughline/internal/testing/dynamodbtest"
)

// Start starts the local stack until the test ends.
func Start(t testing.TB) *stack.Stack {
	t.Helper()
	cfg, err := stack.Parse(map[string]string{
		"PORT": "0", "AWS_ENDPOINT_URL_DYNAMODB": dynamodbtest.Endpoint(t), "TABLE_NAME": dynamodbtest.TableName(t),
	})
	if err != nil {
		t.Fatal(err)
	}
	cfg.Functions = functions.All()
	running, err := stack.Start(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := running.Stop(); err != nil {
			t.Error(err)
		}
	})
	return running
}
