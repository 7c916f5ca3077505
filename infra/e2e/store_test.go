package e2e_test

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/throughline/throughline/infra/client"
	"github.com/throughline/throughline/internal/testing/check"
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
	api := check.Got(client.New(stack.Base).As(t.Context(), "historian"))(t)
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
