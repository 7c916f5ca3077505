package e2e_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/throughline/throughline/infra/client"
	"github.com/throughline/throughline/internal/testing/check"
)

// erased is the answer of DELETE /v1/user: a receipt, or the progress of an erasure that is not done.
type erased struct {
	Erasing  bool
	Progress struct{ Counts map[string]int }

	Generation, Vectors int
	Counts              map[string]int
}

// TestErasingContinuesAfterTheIndexFails erases a user while the vector index answers only errors. The answer is the
// progress, and the receipt of the request that completes the erasure counts everything once.
func TestErasingContinuesAfterTheIndexFails(t *testing.T) {
	api := newUser(t)
	open(t, api, "coach_conversation", "s")
	talk(t, api, "s", swap)
	settle(t)
	setFaults(t, map[string]any{"pinecone": map[string]any{"errorRate": 1}})
	for range 2 {
		var got erased
		do(t, api, http.MethodDelete, "/v1/user", nil, &got)
		if !got.Erasing || got.Progress.Counts["message"] != 2 || got.Progress.Counts["session"] != 1 {
			t.Errorf("erase without an index: %+v", got)
		}
	}
	check.Equal(t, 0, len(sessionsOf(t, api)), "sessions are there while the erasure goes on")
	clear := map[string]any{"pinecone": map[string]any{}}
	do(t, client.New(shared.Base), http.MethodPost, "/dev/faults", clear, nil)
	var got erased
	eventually(t, 30*time.Second, "receipt of the erasure", func() bool {
		got = erased{}
		do(t, api, http.MethodDelete, "/v1/user", nil, &got)
		return !got.Erasing
	})
	if got.Generation != 1 || got.Counts["message"] != 2 || got.Counts["session"] != 1 || got.Vectors < 2 {
		t.Errorf("the receipt says %+v", got)
	}
}

// TestErasingLeavesNothing erases a user while summaries and vectors are being made, and redelivers every stream
// record. Then the user comes back.
func TestErasingLeavesNothing(t *testing.T) {
	api := newUser(t)
	open(t, api, "program_designer", "designer")
	talk(t, api, "designer", "My secret word is marzipan and I want to swap hip thrusts.")
	open(t, api, "coach_conversation", "coach")
	talk(t, api, "coach", "Marzipan again.")
	do(t, api, http.MethodPut, "/v1/profile", map[string]any{"name": "Marzipan"}, nil)
	var receipt struct {
		Generation, Remaining int
		Counts                map[string]int
		Erasing               bool
	}
	eventually(t, 30*time.Second, "receipt of the erasure", func() bool {
		do(t, api, http.MethodDelete, "/v1/user", nil, &receipt)
		return !receipt.Erasing
	})
	if receipt.Generation != 1 || receipt.Remaining != 0 || receipt.Counts["message"]+receipt.Counts["messages"] != 4 {
		t.Errorf("the receipt says %+v", receipt)
	}
	do(t, client.New(shared.Base), http.MethodPost, "/dev/redeliver", nil, nil)
	settle(t)
	wantNowhere(t, api, "arzipan")

	open(t, api, "coach_conversation", "coach")
	old := map[string]any{"messages": []any{map[string]any{
		"role": "user", "content": "I like nougat.", "timestamp": "2020-01-01T00:00:00.000Z",
	}}}
	do(t, api, http.MethodPost, "/v1/sessions/coach/messages", old, nil)
	settle(t)
	wantNowhere(t, api, "arzipan")
	if got := messages(t, api, "coach"); len(got) != 1 || got[0].Content != "I like nougat." {
		t.Errorf("the session after the erasure holds %+v", got)
	}
}

// wantNowhere checks that a word is in nothing that the user can read.
func wantNowhere(t *testing.T, api *client.Client, word string) {
	t.Helper()
	reads := map[string]any{}
	for _, path := range []string{"/v1/sessions", "/v1/messages", "/v1/memories", "/v1/todos", "/v1/prompts"} {
		var list struct{ Items []any }
		do(t, api, http.MethodGet, path, nil, &list)
		reads[path] = list.Items
	}
	var found, summaries any
	do(t, api, http.MethodPost, "/v1/recall", map[string]any{"query": "secret word"}, &found)
	query := map[string]any{"context": "coach_conversation"}
	do(t, api, http.MethodPost, "/v1/context/query", query, &summaries)
	reads["recall"], reads["summaries"] = found, summaries
	for where, read := range reads {
		check.Lacks(t, fmt.Sprint(read), word, "%s still has it", where)
	}
}

// TestDeletingASessionLeavesNothingOfIt deletes a session that a prompt of another session quotes.
func TestDeletingASessionLeavesNothingOfIt(t *testing.T) {
	api := newUser(t)
	open(t, api, "program_designer", "designer")
	talk(t, api, "designer", "I want marzipan bridges in my program.")
	open(t, api, "coach_conversation", "coach")
	settle(t)
	built := buildPrompt(t, api, "coach", "What did I want in my program?")
	if !strings.Contains(built.System, "marzipan") {
		t.Fatalf("the coach does not know what the designer heard:\n%s", built.System)
	}
	do(t, api, http.MethodDelete, "/v1/sessions/designer", nil, nil)
	do(t, client.New(shared.Base), http.MethodPost, "/dev/redeliver", nil, nil)
	settle(t)
	wantNowhere(t, api, "arzipan")
	stored := storedPrompt(t, api, built.PromptID)
	if stored.System != "" || len(stored.Messages) != 0 || len(stored.Manifest.Blocks) == 0 {
		t.Errorf("the stored prompt holds %d bytes of system, %d messages, %d blocks; want only the manifest",
			len(stored.System), len(stored.Messages), len(stored.Manifest.Blocks))
	}
}

func sessionsOf(t *testing.T, api *client.Client) []any {
	t.Helper()
	var list struct{ Items []any }
	do(t, api, http.MethodGet, "/v1/sessions", nil, &list)
	return list.Items
}
