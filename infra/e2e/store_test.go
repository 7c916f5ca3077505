package e2e_test

import (
	"context"
	"flag"
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

// userMessage is the body of an append of one user message.
func userMessage(content string) map[string]any {
	return map[string]any{"messages": []any{map[string]any{"role": "user", "content": content}}}
}

// messagesPath is the path of the messages of session s.
const messagesPath = "/v1/sessions/s/messages"

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

// TestRepeatedAppendsStoreOneMessage sends the same append fifty times at once and expects fifty equal answers.
func TestRepeatedAppendsStoreOneMessage(t *testing.T) {
	t.Parallel()
	api := newUser(t)
	open(t, api, "coach_conversation", "s")
	answers := make([]appended, 50)
	var wait sync.WaitGroup
	for i := range answers {
		wait.Go(func() {
			err := api.Do(t.Context(), http.MethodPost, messagesPath, userMessage("once"), &answers[i], client.Key("k"))
			if err != nil {
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

// TestManyWritersAppendToOneSession expects that nothing fails and that no message is lost, doubled or reordered.
func TestManyWritersAppendToOneSession(t *testing.T) {
	t.Parallel()
	const writers, each = 20, 20
	api := newUser(t)
	open(t, api, "coach_conversation", "s")
	var wait sync.WaitGroup
	for w := range writers {
		wait.Go(func() {
			for i := range each {
				message := userMessage(fmt.Sprintf("%d %d", w, i))
				if err := api.Do(t.Context(), http.MethodPost, messagesPath, message, nil); err != nil {
					t.Errorf("writer %d, message %d: %v", w, i, err)
				}
			}
		})
	}
	wait.Wait()
	all := readPages(t, api, messagesPath+"?limit=37")
	if len(all) != writers*each {
		t.Fatalf("%d messages, want %d", len(all), writers*each)
	}
	next := make([]int, writers)
	for i, m := range all {
		if m.Seq != i+1 || i > 0 && m.Timestamp <= all[i-1].Timestamp {
			t.Fatalf("message %d has seq %d and time %s after %s", i, m.Seq, m.Timestamp, all[max(i-1, 0)].Timestamp)
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

// readPages reads a whole list, page by page.
func readPages(t *testing.T, api *client.Client, path string) []listed {
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
		do(t, api, http.MethodGet, at, nil, &list)
		all = append(all, list.Items...)
		if cursor = list.NextCursor; cursor == "" {
			return all
		}
	}
}

// TestContentIsStoredExactly stores what is hard to store in a text.
func TestContentIsStoredExactly(t *testing.T) {
	t.Parallel()
	api := newUser(t)
	open(t, api, "coach_conversation", "s")
	contents := []string{
		"👩🏽‍🚀 family 👨‍👩‍👧‍👦 flag 🏴‍☠️", "e\u0301 \u1e9b\u0323", "שלום \u202e abc \u202c",
		"a\u0000b\x01\x1f\x7f", "\u2028\ufeff\uffff",
		strings.Repeat("ä", 128<<10), " \t\n ",
	}
	for _, c := range contents {
		do(t, api, http.MethodPost, messagesPath, userMessage(c), nil)
	}
	for i, m := range messages(t, api, "s") {
		if m.Content != contents[i] {
			t.Errorf("content %d came back as %.40q", i, m.Content)
		}
	}
}

// TestIndexLagHidesNothing makes the local indexes lag five seconds. An acknowledged message is in the next read and in
// the next prompt.
func TestIndexLagHidesNothing(t *testing.T) {
	api := newUser(t)
	setFaults(t, map[string]any{"dynamodb": map[string]any{"indexLagMs": 5000}})
	open(t, api, "coach_conversation", "s")
	for i := range 3 {
		do(t, api, http.MethodPost, messagesPath, userMessage(fmt.Sprint("word", i)), nil)
		if got := messages(t, api, "s"); len(got) != i+1 {
			t.Fatalf("after %d appends the session shows %d messages", i+1, len(got))
		}
	}
	said := 0
	for _, m := range buildPrompt(t, api, "s", "and now?").Messages {
		if m.Role == "user" {
			said++
		}
	}
	if said != 4 {
		t.Errorf("the prompt has %d messages of the user, want three and the current one", said)
	}
	middle := messages(t, api, "s")[1].MessageID
	do(t, api, http.MethodDelete, messagesPath+"/"+url.PathEscape(middle), nil, nil)
	if got := messages(t, api, "s"); len(got) != 2 || got[1].Seq != 3 {
		t.Errorf("after the delete the session shows %+v", got)
	}
}

// setFaults sets the faults of the shared stack until the test ends.
func setFaults(t *testing.T, faults map[string]any) {
	t.Helper()
	anonymous := client.New(shared.Base)
	do(t, anonymous, http.MethodPost, "/dev/faults", faults, nil)
	clear := map[string]any{}
	for service := range faults {
		clear[service] = map[string]any{}
	}
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		if err := anonymous.Do(ctx, http.MethodPost, "/dev/faults", clear, nil); err != nil {
			t.Error(err)
		}
	})
}

// settle waits until the background work of the shared stack is done.
func settle(t *testing.T) {
	t.Helper()
	var state struct {
		Settled bool
		Pending int
	}
	within := map[string]any{"timeoutMs": 30000}
	do(t, client.New(shared.Base), http.MethodPost, "/dev/settle", within, &state)
	if !state.Settled {
		t.Fatalf("the stack did not settle: %d pending", state.Pending)
	}
}

// longSession is the number of messages of TestLongSession, a multiple of 50. "make soak" imports 50,000.
var longSession = flag.Int("long-session", 2_000, "messages of TestLongSession")

// TestLongSession imports a session and reads it back page by page. It has a stack of its own, because the background
// work of the import would delay the other tests.
func TestLongSession(t *testing.T) {
	t.Parallel()
	length, batch := *longSession, 50
	stack := startStack(t)
	api, err := client.New(stack.Base).As(t.Context(), "historian")
	if err != nil {
		t.Fatal(err)
	}
	open(t, api, "coach_conversation", "s")
	var answer appended
	for seq := 1; seq <= length; seq += batch {
		do(t, api, http.MethodPost, messagesPath, history(seq, batch), &answer)
	}
	if answer.Session.MessageCount != length {
		t.Errorf("the session counts %d messages", answer.Session.MessageCount)
	}
	all := readPages(t, api, messagesPath+"?limit=200")
	if len(all) != length {
		t.Fatalf("the pages hold %d messages, want %d", len(all), length)
	}
	for i, m := range all {
		if m.Seq != i+1 || m.Content != content(i+1) {
			t.Fatalf("message %d is seq %d, %q", i+1, m.Seq, m.Content)
		}
	}
}

// history returns the body of an append: n messages from one number on, a minute apart.
func history(from, n int) map[string]any {
	began := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	var batch []any
	for seq := from; seq < from+n; seq++ {
		batch = append(batch, map[string]any{
			"role": [2]string{"assistant", "user"}[seq%2], "content": content(seq),
			"timestamp": began.Add(time.Duration(seq) * time.Minute).Format("2006-01-02T15:04:05.000Z"),
		})
	}
	return map[string]any{"messages": batch}
}

func content(seq int) string {
	return fmt.Sprintf("%d: three sets of ten with the kettlebell, a minute's rest, then a slow walk home", seq)
}
