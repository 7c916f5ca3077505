package e2e_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/throughline/throughline/infra/client"
)

// erased is what DELETE /v1/user answers: a receipt, or that it goes on.
type erased struct {
	Erasing  bool
	Progress struct{ Counts map[string]int }

	Generation, Vectors int
	Counts              map[string]int
}

// TestErasingGoesOnWhereTheIndexFails erases a user while the vector index answers nothing but errors: the erasure has
// begun and says so, and the receipt of the repeat that ends it counts everything once.
func TestErasingGoesOnWhereTheIndexFails(t *testing.T) {
	api := newUser(t)
	open(t, api, "coach_conversation", "s")
	talk(t, api, "s", swap)
	settle(t)
	setFaults(t, map[string]any{"pinecone": map[string]any{"errorRate": 1}})
	for range 2 {
		var got erased
		if err := api.Do(t.Context(), http.MethodDelete, "/v1/user", nil, &got); err != nil {
			t.Fatalf("erase without an index: %v", err)
		}
		if !got.Erasing || got.Progress.Counts["message"] != 2 || got.Progress.Counts["session"] != 1 {
			t.Errorf("erase without an index: %+v", got)
		}
	}
	if n := len(sessionsOf(t, api)); n != 0 {
		t.Errorf("%d sessions are there while the erasure goes on", n)
	}
	clear := map[string]any{"pinecone": map[string]any{}}
	if err := client.New(shared.Base).Do(t.Context(), http.MethodPost, "/dev/faults", clear, nil); err != nil {
		t.Fatal(err)
	}
	var got erased
	eventually(t, 30*time.Second, "receipt of the erasure", func() bool {
		got = erased{}
		if err := api.Do(t.Context(), http.MethodDelete, "/v1/user", nil, &got); err != nil {
			t.Fatal(err)
		}
		return !got.Erasing
	})
	if got.Generation != 1 || got.Counts["message"] != 2 || got.Counts["session"] != 1 || got.Vectors < 2 {
		t.Errorf("the receipt says %+v", got)
	}
}

func sessionsOf(t *testing.T, api *client.Client) []any {
	t.Helper()
	var list struct{ Items []any }
	if err := api.Do(t.Context(), http.MethodGet, "/v1/sessions", nil, &list); err != nil {
		t.Fatal(err)
	}
	return list.Items
}
