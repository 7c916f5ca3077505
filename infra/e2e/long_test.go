package e2e_test

import (
	"fmt"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/throughline/throughline/infra/client"
	"github.com/throughline/throughline/infra/launch"
)

// TestASessionOfFiftyThousandMessages imports a long history and reads it back page by page, on a stack of its own: the
// work that follows from it would keep the other tests waiting. What it costs is for the benchmark to say.
func TestASessionOfFiftyThousandMessages(t *testing.T) {
	const length, batch = 50_000, 50
	stack, err := launch.Start(t.Context(), program, os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := stack.Stop(); err != nil {
			t.Error(err)
		}
	})
	api, err := client.New(stack.Base).As(t.Context(), "historian")
	if err != nil {
		t.Fatal(err)
	}
	open(t, api, "coach_conversation", "s")
	var answer appended
	for seq := 1; seq <= length; seq += batch {
		if err := api.Do(t.Context(), http.MethodPost, "/v1/sessions/s/messages", history(seq, batch), &answer); err != nil {
			t.Fatalf("append at %d: %v", seq, err)
		}
	}
	if answer.Session.MessageCount != length {
		t.Errorf("the session counts %d messages", answer.Session.MessageCount)
	}
	all := page(t, api, "/v1/sessions/s/messages?limit=200")
	if len(all) != length {
		t.Fatalf("the pages hold %d messages, want %d", len(all), length)
	}
	for i, m := range all {
		if m.Seq != i+1 || m.Content != content(i+1) {
			t.Fatalf("message %d is seq %d, %q", i+1, m.Seq, m.Content)
		}
	}
}

// history is a batch of a session's messages from one number on, a minute apart.
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
