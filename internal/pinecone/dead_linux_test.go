package pinecone_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/testing/faultstest"
	"github.com/throughline/throughline/internal/testing/pineconetest"
)

// TestADeadConnectionCostsOneAttempt cuts the connections of a client as a network does that forgot them while the
// function was frozen: what is sent is not answered, and nothing says that the connection is gone.
func TestADeadConnectionCostsOneAttempt(t *testing.T) {
	t.Parallel()
	network := faultstest.NewNetwork(t, strings.TrimPrefix(pineconetest.Host(t, 2), "http://"))
	c := pineconetest.Dial(t, "http://"+network.Address, 0)
	upsert(t, c, "anna", 0, record("m1", 1, 0))
	network.Forget()
	ctx, cancel := context.WithTimeout(t.Context(), 4*budget) // less than the pings of gRPC take, on a busy machine
	defer cancel()
	if got, err := c.Query(ctx, "anna", 0, east); err != nil || len(got) != 1 {
		t.Errorf("on a dead connection: %v, %v", got, err)
	}
}

func TestNoAttemptOutlivesItsCall(t *testing.T) {
	t.Parallel()
	network := faultstest.NewNetwork(t, strings.TrimPrefix(pineconetest.Host(t, 2), "http://"))
	c := pineconetest.Dial(t, "http://"+network.Address, 0)
	upsert(t, c, "anna", 0, record("m1", 1, 0))
	network.Forget()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	check.Fault(t, check.ErrorOf(c.Query(ctx, "anna", 0, east)), fault.Unavailable, "a call without an answer")
}
