package e2e_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/throughline/throughline/infra/client"
)

func say(role, content string) map[string]any {
	return map[string]any{"messages": []any{map[string]any{"role": role, "content": content}}}
}

// appended is the answer to an append.
type appended struct {
	Messages []struct {
		MessageID, Content, Timestamp string
		Seq                           int
	}
	Session struct {
		MessageCount  int
		LastMessageAt string
	}
}

// TestOneKeyFiftyTimesAtOnce sends the same append fifty times at once: one message, fifty equal answers.
func TestOneKeyFiftyTimesAtOnce(t *testing.T) {
	api := newUser(t)
	open(t, api, "coach_conversation", "s")
	answers := make([]appended, 50)
	var wait sync.WaitGroup
	for i := range answers {
		wait.Go(func() {
			if err := api.Do(t.Context(), http.MethodPost, "/v1/sessions/s/messages", say("user", "once"), &answers[i], client.Key("k")); err != nil {
				t.Errorf("append %d: %v", i, err)
			}
		})
	}
	wait.Wait()
	for i, a := range answers {
		if diff := cmp.Diff(answers[0], a); diff != "" {
			t.Fatalf("answer %d differs from the first:\n%s", i, diff)
		}
	}
	if n := len(messages(t, api, "s")); n != 1 {
		t.Errorf("the session holds %d messages, want 1", n)
	}
}

// TestManyWritersOneSession has twenty writers append to one session: nothing fails, nothing is lost, doubled or
// reordered.
func TestManyWritersOneSession(t *testing.T) {
	const writers, each = 20, 20
	api := newUser(t)
	open(t, api, "coach_conversation", "s")
	var wait sync.WaitGroup
	for w := range writers {
		wait.Go(func() {
			for i := range each {
				if err := api.Do(t.Context(), http.MethodPost, "/v1/sessions/s/messages", say("user", fmt.Sprintf("%d %d", w, i)), nil); err != nil {
					t.Errorf("writer %d, message %d: %v", w, i, err)
				}
			}
		})
	}
	wait.Wait()
	all := page(t, api, "/v1/sessions/s/messages?limit=37")
	if len(all) != writers*each {
		t.Fatalf("%d messages, want %d", len(all), writers*each)
	}
	next := make([]int, writers)
	for i, m := range all {
		if m.Seq != i+1 || i > 0 && m.Timestamp <= all[i-1].Timestamp {
			t.Fatalf("message %d has seq %d and time %s behind %s", i, m.Seq, m.Timestamp, all[max(i-1, 0)].Timestamp)
		}
		var w, n int
		if _, err := fmt.Sscan(m.Content, &w, &n); err != nil || n != next[w] {
			t.Fatalf("writer %d's message %d comes where %d should (%v)", w, n, next[w], err)
		}
		next[w]++
	}
}

type listed struct {
	MessageID, Content, Timestamp string
	Seq                           int
}

// page reads a whole list, page by page.
func page(t *testing.T, api *client.Client, path string) []listed {
	t.Helper()
	var all []listed
	cursor := ""
	for {
		at := path
		if cursor != "" {
			at += "&cursor=" + url.QueryEscape(cursor)
		}
		var list struct {
			Items      []listed
			NextCursor string
		}
		if err := api.Do(t.Context(), http.MethodGet, at, nil, &list); err != nil {
			t.Fatalf("read %s: %v", at, err)
		}
		all = append(all, list.Items...)
		if cursor = list.NextCursor; cursor == "" {
			return all
		}
	}
}

// TestContentComesBackExactly stores what text can hold.
func TestContentComesBackExactly(t *testing.T) {
	api := newUser(t)
	open(t, api, "coach_conversation", "s")
	contents := []string{
		"👩🏽‍🚀 family 👨‍👩‍👧‍👦 flag 🏴‍☠️", "e\u0301 \u1e9b\u0323", "שלום \u202e abc \u202c", "a\u0000b\x01\x1f\x7f", "\u2028\ufeff\uffff",
		strings.Repeat("ä", 128<<10), " \t\n ",
	}
	for _, c := range contents {
		if err := api.Do(t.Context(), http.MethodPost, "/v1/sessions/s/messages", say("user", c), nil); err != nil {
			t.Fatalf("append %.20q: %v", c, err)
		}
	}
	for i, m := range messages(t, api, "s") {
		if m.Content != contents[i] {
			t.Errorf("content %d came back as %.40q", i, m.Content)
		}
	}
}

// TestALaggingIndexHidesNothing lets the local indexes lag five seconds: what was acknowledged is in the next read,
// and in the next prompt.
func TestALaggingIndexHidesNothing(t *testing.T) {
	api := newUser(t)
	setFaults(t, map[string]any{"dynamodb": map[string]any{"indexLagMs": 5000}})
	open(t, api, "coach_conversation", "s")
	for i := range 3 {
		if err := api.Do(t.Context(), http.MethodPost, "/v1/sessions/s/messages", say("user", fmt.Sprint("word", i)), nil); err != nil {
			t.Fatal(err)
		}
		if got := messages(t, api, "s"); len(got) != i+1 {
			t.Fatalf("after %d appends the session shows %d messages", i+1, len(got))
		}
	}
	var built builtPrompt
	body := map[string]any{"context": "coach_conversation", "sessionId": "s", "message": "and now?"}
	if err := api.Do(t.Context(), http.MethodPost, "/v1/prompts", body, &built); err != nil {
		t.Fatal(err)
	}
	if n := len(built.Messages); n != 4 {
		t.Errorf("the prompt tells %d messages, want three and the current one", n)
	}
	middle := messages(t, api, "s")[1].MessageID
	if err := api.Do(t.Context(), http.MethodDelete, "/v1/sessions/s/messages/"+url.PathEscape(middle), nil, nil); err != nil {
		t.Fatal(err)
	}
	if got := messages(t, api, "s"); len(got) != 2 || got[1].Seq != 3 {
		t.Errorf("after the delete the session shows %+v", got)
	}
}

// setFaults sets the fault doors for the rest of the test.
func setFaults(t *testing.T, faults map[string]any) {
	t.Helper()
	anonymous := client.New(shared.Base)
	if err := anonymous.Do(t.Context(), http.MethodPost, "/dev/faults", faults, nil); err != nil {
		t.Fatal(err)
	}
	clear := map[string]any{}
	for service := range faults {
		clear[service] = map[string]any{}
	}
	t.Cleanup(func() {
		if err := anonymous.Do(context.WithoutCancel(t.Context()), http.MethodPost, "/dev/faults", clear, nil); err != nil {
			t.Error(err)
		}
	})
}

func settle(t *testing.T) {
	t.Helper()
	var state struct {
		Settled bool
		Pending int
	}
	if err := client.New(shared.Base).Do(t.Context(), http.MethodPost, "/dev/settle", map[string]any{"timeoutMs": 30000}, &state); err != nil {
		t.Fatal(err)
	}
	if !state.Settled {
		t.Fatalf("the stack did not settle: %d pending", state.Pending)
	}
}

// TestErasingLeavesNothing erases a user while summaries and vectors are being made, redelivers every stream record,
// and lets the user come back.
func TestErasingLeavesNothing(t *testing.T) {
	api := newUser(t)
	open(t, api, "program_designer", "designer")
	talk(t, api, "designer", "My secret word is marzipan and I want to swap hip thrusts.")
	open(t, api, "coach_conversation", "coach")
	talk(t, api, "coach", "Marzipan again.")
	if err := api.Do(t.Context(), http.MethodPut, "/v1/profile", map[string]any{"name": "Marzipan"}, nil); err != nil {
		t.Fatal(err)
	}
	var receipt struct {
		Generation, Remaining int
		Counts                map[string]int
		Erasing               bool
	}
	eventually(t, 30*time.Second, "receipt of the erasure", func() bool {
		if err := api.Do(t.Context(), http.MethodDelete, "/v1/user", nil, &receipt); err != nil {
			t.Fatal(err)
		}
		return !receipt.Erasing
	})
	if receipt.Generation != 1 || receipt.Remaining != 0 || receipt.Counts["message"]+receipt.Counts["messages"] != 4 {
		t.Errorf("the receipt says %+v", receipt)
	}
	if err := client.New(shared.Base).Do(t.Context(), http.MethodPost, "/dev/redeliver", nil, nil); err != nil {
		t.Fatal(err)
	}
	settle(t)
	wantNothingOf(t, api, "arzipan")

	open(t, api, "coach_conversation", "coach")
	old := map[string]any{"messages": []any{map[string]any{"role": "user", "content": "I like nougat.", "timestamp": "2020-01-01T00:00:00.000Z"}}}
	if err := api.Do(t.Context(), http.MethodPost, "/v1/sessions/coach/messages", old, nil); err != nil {
		t.Fatal(err)
	}
	settle(t)
	wantNothingOf(t, api, "arzipan")
	if got := messages(t, api, "coach"); len(got) != 1 || got[0].Content != "I like nougat." {
		t.Errorf("what came after is %+v", got)
	}
}

// wantNothingOf looks for a word in everything a user can read.
func wantNothingOf(t *testing.T, api *client.Client, word string) {
	t.Helper()
	reads := map[string]any{}
	for _, path := range []string{"/v1/sessions", "/v1/messages", "/v1/memories", "/v1/todos", "/v1/prompts"} {
		var list struct{ Items []any }
		if err := api.Do(t.Context(), http.MethodGet, path, nil, &list); err != nil {
			t.Fatalf("read %s: %v", path, err)
		}
		reads[path] = list.Items
	}
	var found, summaries any
	if err := api.Do(t.Context(), http.MethodPost, "/v1/recall", map[string]any{"query": "secret word"}, &found); err != nil {
		t.Fatal(err)
	}
	if err := api.Do(t.Context(), http.MethodPost, "/v1/context/query", map[string]any{"context": "coach_conversation"}, &summaries); err != nil {
		t.Fatal(err)
	}
	reads["recall"], reads["summaries"] = found, summaries
	for where, read := range reads {
		if text := fmt.Sprint(read); strings.Contains(text, word) {
			t.Errorf("%s still tells: %s", where, text)
		}
	}
}

// TestDeletingASessionLeavesNothingOfIt deletes a session that a prompt of another one has quoted.
func TestDeletingASessionLeavesNothingOfIt(t *testing.T) {
	api := newUser(t)
	open(t, api, "program_designer", "designer")
	talk(t, api, "designer", "I want marzipan bridges in my program.")
	open(t, api, "coach_conversation", "coach")
	settle(t)
	var built builtPrompt
	body := map[string]any{"context": "coach_conversation", "sessionId": "coach", "message": "What did I want in my program?"}
	if err := api.Do(t.Context(), http.MethodPost, "/v1/prompts", body, &built); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(built.System, "marzipan") {
		t.Fatalf("the coach does not know what the designer heard:\n%s", built.System)
	}
	if err := api.Do(t.Context(), http.MethodDelete, "/v1/sessions/designer", nil, nil); err != nil {
		t.Fatal(err)
	}
	if err := client.New(shared.Base).Do(t.Context(), http.MethodPost, "/dev/redeliver", nil, nil); err != nil {
		t.Fatal(err)
	}
	settle(t)
	wantNothingOf(t, api, "arzipan")
	var kept builtPrompt
	if err := api.Do(t.Context(), http.MethodGet, "/v1/prompts/"+built.PromptID, nil, &kept); err != nil {
		t.Fatal(err)
	}
	if kept.System != "" || len(kept.Messages) != 0 || len(kept.Manifest.Blocks) == 0 {
		t.Errorf("the kept prompt holds %d bytes of system, %d messages, %d blocks; want only the manifest",
			len(kept.System), len(kept.Messages), len(kept.Manifest.Blocks))
	}
}

// TestPreferencesHoldAtOnce switches sharing off and on again.
func TestPreferencesHoldAtOnce(t *testing.T) {
	api := newUser(t)
	open(t, api, "program_designer", "designer")
	talk(t, api, "designer", swap)
	open(t, api, "coach_conversation", "coach")
	prefer := func(preferences map[string]any) {
		t.Helper()
		if err := api.Do(t.Context(), http.MethodPut, "/v1/preferences", preferences, nil); err != nil {
			t.Fatal(err)
		}
	}
	knows := func() bool {
		var built builtPrompt
		body := map[string]any{"context": "coach_conversation", "sessionId": "coach", "message": tomorrow}
		if err := api.Do(t.Context(), http.MethodPost, "/v1/prompts", body, &built); err != nil {
			t.Fatal(err)
		}
		return strings.Contains(built.System, "glute bridges")
	}
	if !knows() {
		t.Fatal("with the defaults the coach does not know what the designer heard")
	}
	for name, preferences := range map[string]map[string]any{
		"no cross-context": {"crossContext": false},
		"designer unshared": {
			"contexts": map[string]any{"program_designer": map[string]any{"share": false}},
		},
		"coach unshared": {"contexts": map[string]any{"coach_conversation": map[string]any{"share": false}}},
	} {
		prefer(preferences)
		if knows() {
			t.Errorf("%s: the coach knows what the designer heard", name)
		}
		prefer(map[string]any{})
		if !knows() {
			t.Errorf("%s, switched back: the coach does not know", name)
		}
	}
}

// TestNotesAndMemoriesReachPrompts has a memory and a check-in's note found by what they say, until they are deleted.
func TestNotesAndMemoriesReachPrompts(t *testing.T) {
	api := newUser(t)
	open(t, api, "coach_conversation", "s")
	note := map[string]any{"note": "My left knee clicks on stairs."}
	if err := api.Do(t.Context(), http.MethodPost, "/v1/check-ins", note, nil); err != nil {
		t.Fatal(err)
	}
	var made struct{ ID string }
	fact := map[string]any{"type": "PEOPLE", "content": "Her sister Ana is a physiotherapist in Lisbon."}
	if err := api.Do(t.Context(), http.MethodPost, "/v1/memories", fact, &made); err != nil {
		t.Fatal(err)
	}
	settle(t)
	tells := func(message string) string {
		t.Helper()
		var built builtPrompt
		body := map[string]any{"context": "coach_conversation", "sessionId": "s", "message": message}
		if err := api.Do(t.Context(), http.MethodPost, "/v1/prompts", body, &built); err != nil {
			t.Fatal(err)
		}
		return built.System
	}
	if system := tells("Is the knee all right on stairs?"); !strings.Contains(system, "clicks on stairs") {
		t.Errorf("the prompt lacks the check-in's note:\n%s", system)
	}
	var found struct {
		Messages []struct{ Content, Role, Context string }
	}
	if err := api.Do(t.Context(), http.MethodPost, "/v1/recall", map[string]any{"query": "knee on stairs", "limit": 1}, &found); err != nil {
		t.Fatal(err)
	}
	if len(found.Messages) != 1 || found.Messages[0].Content != note["note"] || found.Messages[0].Context != "check_in" {
		t.Errorf("the recall brings %+v, not the check-in's note", found.Messages)
	}
	if system := tells("Who was the physiotherapist?"); !strings.Contains(system, "sister Ana") {
		t.Errorf("the prompt lacks the memory:\n%s", system)
	}
	if err := api.Do(t.Context(), http.MethodDelete, "/v1/memories/"+made.ID, nil, nil); err != nil {
		t.Fatal(err)
	}
	if system := tells("Who was the physiotherapist?"); strings.Contains(system, "sister Ana") {
		t.Error("the prompt still tells a deleted memory")
	}
}
