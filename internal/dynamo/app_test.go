package dynamo_test

import (
	"testing"

	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/testing/dynamodbtest"
	"github.com/throughline/throughline/internal/testing/dynamotest"
)

// TestAppStore keeps files of the registry, each under its version, and the first one of a version.
func TestAppStore(t *testing.T) {
	t.Parallel()
	table := dynamotest.Table(t)
	store := dynamo.NewAppStore(dynamo.New(dynamodbtest.Client(t), table))
	checkFault(t, errorOf(store.File(t.Context(), "1")), fault.NotFound, "a version that is not there")
	for _, file := range []string{"first", "second"} {
		check.OK(t, store.Put(t.Context(), "1", file))
	}
	if got, err := store.File(t.Context(), "1"); err != nil || got != "first" {
		t.Errorf("file %q, %v", got, err)
	}
}
