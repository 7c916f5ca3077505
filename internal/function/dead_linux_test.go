package function_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/throughline/throughline/internal/testing/faultstest"
)

// TestDeadConnectionsCostOneAttempt makes several connections and lets the network forget them.
func TestDeadConnectionsCostOneAttempt(t *testing.T) {
	t.Parallel()
	const connections = 6
	var calls atomic.Int64
	meet := meeting(connections)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if calls.Add(1) <= connections { // each on a connection of its own
			meet()
		}
		answer(w, oneItem)
	}))
	t.Cleanup(server.Close)
	network := faultstest.NewNetwork(t, strings.TrimPrefix(server.URL, "http://"))
	client := tableAt("http://" + network.Address)
	var requests sync.WaitGroup
	for range connections {
		requests.Go(func() { query(t, t.Context(), client) })
	}
	requests.Wait()
	network.Forget()

	ctx, cancel := context.WithTimeout(t.Context(), operationTime)
	defer cancel()
	query(t, ctx, client)
	if n := network.Connections(); n != connections+1 {
		t.Errorf("%d connections, want one after the %d that died", n, connections)
	}
}
