package e2e_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"reflect"
	"sync"
	"testing"

	"github.com/throughline/throughline/infra/client"
	"github.com/throughline/throughline/internal/testing/check"
)

// begun is a turn of an own model.
type begun struct {
	TurnID        string          `json:"turnId"`
	UserMessageID string          `json:"userMessageId"`
	Prompt        json.RawMessage `json:"prompt"`
}

type finished struct {
	MessageID string          `json:"messageId"`
	Session   json.RawMessage `json:"session"`
}

// TestTurnOfAnOwnModel begins a turn several times at once and finishes it several times at once. The question and the
// answer are stored once, and all callers get the same.
func TestTurnOfAnOwnModel(t *testing.T) {
	t.Parallel()
	api := newUser(t)
	open(t, api, "coach_conversation", "s")
	say(t, api, "s", "My left knee hurts on stairs.")
	key := client.Header{Name: "Idempotency-Key", Value: "turn-1"}
	ask := object{"sessionId": "s", "message": "What may I do?", "budget": object{"tokens": 2000}}
	turns := atOnce(t, 4, func() (b begun, err error) {
		return b, api.Do(t.Context(), http.MethodPost, "/v1/turns", ask, &b, key)
	})
	first := turns[0]
	var prompt struct {
		PromptID string
		Messages []struct{ Role, Content string }
	}
	check.OK(t, json.Unmarshal(first.Prompt, &prompt))
	if last := prompt.Messages[len(prompt.Messages)-1]; first.TurnID == "" || prompt.PromptID == "" ||
		last.Role != "user" || last.Content != "What may I do?" {
		t.Errorf("the turn %s has the prompt %+v", first.TurnID, prompt)
	}
	path := "/v1/turns/" + first.TurnID
	if got := state(t, api, path); got.Status != "open" || got.UserMessageID != first.UserMessageID {
		t.Errorf("before the answer: %+v", got)
	}
	answer := object{
		"parts": []object{{"type": "text", "text": "Swim, or cycle."}}, "model": "my-model",
		"usage": object{"promptTokens": 900, "completionTokens": 5, "totalTokens": 905},
	}
	ends := atOnce(t, 4, func() (f finished, err error) {
		return f, api.Do(t.Context(), http.MethodPost, path+"/finish", answer, &f)
	})
	stored := messages(t, api, "s")
	if len(stored) != 3 || stored[1].MessageID != first.UserMessageID || stored[2].MessageID != ends[0].MessageID ||
		stored[2].Content != "Swim, or cycle." || stored[2].Role != "assistant" {
		t.Errorf("stored: %+v", stored)
	}
	if got := state(t, api, path); got.Status != "finished" || got.MessageID != ends[0].MessageID {
		t.Errorf("after the answer: %+v", got)
	}
}

// TestTurnThatFails reports an error without an answer, then one with a part of it.
func TestTurnThatFails(t *testing.T) {
	t.Parallel()
	api := newUser(t)
	open(t, api, "coach_conversation", "s")
	var b begun
	do(t, api, http.MethodPost, "/v1/turns", object{"sessionId": "s", "message": "Are you there?"}, &b)
	path := "/v1/turns/" + b.TurnID
	var f finished
	do(t, api, http.MethodPost, path+"/finish", object{"error": "the model is down"}, &f)
	if got := state(t, api, path); got.Status != "interrupted" || f.MessageID != "" {
		t.Errorf("after the error: %+v, %+v", got, f)
	}
	do(t, api, http.MethodPost, path+"/finish", object{"error": "cut", "content": "I am he"}, &f)
	stored := messages(t, api, "s")
	if len(stored) != 2 || stored[1].MessageID != f.MessageID || stored[1].Metadata["interrupted"] != true {
		t.Errorf("stored: %+v", stored)
	}
	do(t, api, http.MethodDelete, "/v1/sessions/s", nil, nil)
	var problem *client.Problem
	if err := api.Do(t.Context(), http.MethodGet, path, nil, nil); !errors.As(err, &problem) || problem.Status != 404 {
		t.Errorf("a turn of a session that is gone: %v", err)
	}
}

type turnState struct{ Status, UserMessageID, MessageID string }

func state(t *testing.T, api *client.Client, path string) (s turnState) {
	t.Helper()
	do(t, api, http.MethodGet, path, nil, &s)
	return s
}

// atOnce makes calls at once that all have to succeed with the same.
func atOnce[V any](t *testing.T, n int, call func() (V, error)) []V {
	t.Helper()
	out, errs := make([]V, n), make([]error, n)
	var work sync.WaitGroup
	for i := range n {
		work.Go(func() { out[i], errs[i] = call() })
	}
	work.Wait()
	for i := range n {
		if errs[i] != nil || !reflect.DeepEqual(out[0], out[i]) {
			t.Fatalf("call %d: %v, %v, and the first %v", i, out[i], errs[i], out[0])
		}
	}
	return out
}
