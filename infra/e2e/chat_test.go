package e2e_test

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/throughline/throughline/infra/client"
)

// TestTheUsersMessageIsDurableBeforeTheFirstToken reads it through the API from within the stream.
func TestTheUsersMessageIsDurableBeforeTheFirstToken(t *testing.T) {
	api := newUser(t)
	open(t, api, "coach_conversation", "s")
	var got answer
	err := api.Chat(t.Context(), map[string]any{"sessionId": "s", "message": swap}, func(e client.Event) error {
		if e.Name == "prompt" {
			if err := got.take(e); err != nil {
				return err
			}
			stored := messages(t, api, "s")
			// The answer may be there too by now: the client reads at its own pace.
			if len(stored) == 0 || stored[0].MessageID != got.UserMessageID || stored[0].Content != swap {
				t.Errorf("before the first token the session holds %+v, want the user's message %s", stored, got.UserMessageID)
			}
			return nil
		}
		return got.take(e)
	})
	if err != nil {
		t.Fatal(err)
	}
	stored := messages(t, api, "s")
	if len(stored) != 2 || stored[1].MessageID != got.MessageID || stored[1].Content != got.Text || stored[1].Role != "assistant" {
		t.Errorf("after done the session holds %+v, want the answer %s once", stored, got.MessageID)
	}
	if got.Tokens < 3 {
		t.Errorf("the answer came in %d pieces, want it streamed", got.Tokens)
	}
}

func TestARepeatReplaysTheAnswer(t *testing.T) {
	api := newUser(t)
	open(t, api, "coach_conversation", "s")
	first := talk(t, api, "s", tomorrow, client.Key("k"))
	again := talk(t, api, "s", tomorrow, client.Key("k"))
	if again.Text != first.Text || again.MessageID != first.MessageID || again.PromptID != first.PromptID ||
		again.UserMessageID != first.UserMessageID || again.FinishReason != first.FinishReason {
		t.Errorf("the repeat said %+v, want what the first said: %+v", again, first)
	}
	if n := len(messages(t, api, "s")); n != 2 {
		t.Errorf("the session holds %d messages, want 2", n)
	}
	err := api.Chat(t.Context(), map[string]any{"sessionId": "s", "message": "something else"}, again.take, client.Key("k"))
	wantProblem(t, err, 422, "idempotency_mismatch", "")
}

// TestOneRequestGenerates sends the same turn many times at once: one generates, the others are told to wait or get
// the stored answer.
func TestOneRequestGenerates(t *testing.T) {
	api := newUser(t)
	open(t, api, "coach_conversation", "s")
	var wait sync.WaitGroup
	for range 10 {
		wait.Go(func() {
			var a answer
			err := api.Chat(t.Context(), map[string]any{"sessionId": "s", "message": tomorrow}, a.take, client.Key("k"))
			if err != nil {
				wantProblem(t, err, 409, "conflict", "")
			} else if a.Last != "done" {
				t.Errorf("a stream ended in %q", a.Last)
			}
		})
	}
	wait.Wait()
	if n := len(messages(t, api, "s")); n != 2 {
		t.Errorf("the session holds %d messages, want 2", n)
	}
}

// TestAClientThatLeavesChangesNothing goes away after the first token; the whole answer is stored all the same.
func TestAClientThatLeavesChangesNothing(t *testing.T) {
	api := newUser(t)
	open(t, api, "coach_conversation", "s")
	errGone := errors.New("gone")
	var seen answer
	err := api.Chat(t.Context(), map[string]any{"sessionId": "s", "message": swap}, func(e client.Event) error {
		if err := seen.take(e); err != nil {
			return err
		}
		if e.Name == "token" {
			return errGone
		}
		return nil
	}, client.Key("k"))
	if !errors.Is(err, errGone) {
		t.Fatalf("the stream ended with %v before the client left", err)
	}
	eventually(t, 10*time.Second, "the stored answer", func() bool { return len(messages(t, api, "s")) == 2 })
	whole := talk(t, api, "s", swap, client.Key("k"))
	if stored := messages(t, api, "s"); len(stored) != 2 || stored[1].Content != whole.Text || stored[1].Metadata["interrupted"] != nil {
		t.Errorf("the session holds %+v, want the whole answer once", stored)
	}
	if !strings.HasPrefix(whole.Text, seen.Text) || len(whole.Text) == len(seen.Text) {
		t.Errorf("the client saw %q of %q, want a true beginning", seen.Text, whole.Text)
	}
}
