package e2e_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"testing"

	"github.com/throughline/throughline/infra/client"
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
