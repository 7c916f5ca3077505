package e2e_test

import (
	"encoding/base64"
	"net/http"
	"strings"
	"testing"

	"github.com/throughline/throughline/infra/client"
)

// TestTokens checks which tokens the API accepts. The coach's function URL has a check of its own.
func TestTokens(t *testing.T) {
	t.Parallel()
	anonymous := client.New(shared.Base)
	header, rest, _ := strings.Cut(mintToken(t, shared, "ann"), ".")
	payload, signature, _ := strings.Cut(rest, ".")
	unsigned := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none","typ":"JWT"}`)) + "." + payload + "."
	last := signature[:len(signature)-5]
	tokens := map[string]string{
		"none":            "",
		"not a token":     "abc",
		"unsigned":        unsigned,
		"wrong signature": header + "." + payload + "." + last + "AAAAA",
		"another's claim": header + "." + base64.RawURLEncoding.EncodeToString([]byte(`{"sub":"bob"}`)) + "." + signature,
	}
	for name, token := range tokens {
		t.Run(name, func(t *testing.T) {
			api := anonymous.WithToken(token)
			wantProblem(t, api.Do(t.Context(), http.MethodGet, "/v1/sessions", nil, nil), 401, "unauthorized", "")
			chat := map[string]any{"sessionId": "s", "message": "hi"}
			wantProblem(t, api.Do(t.Context(), http.MethodPost, "/v1/chat", chat, nil), 401, "unauthorized", "")
		})
	}
}

// TestTokensWithClientID checks that both doors accept access tokens as Amazon Cognito makes them, without an aud.
func TestTokensWithClientID(t *testing.T) {
	t.Parallel()
	var minted struct{ Token string }
	anonymous := client.New(shared.Base)
	do(t, anonymous, http.MethodPost, "/dev/tokens", map[string]any{"userId": "cog", "audience": "client_id"}, &minted)
	api := anonymous.WithToken(minted.Token)
	open(t, api, "coach_conversation", "s")
	var got answer
	if err := api.Chat(t.Context(), map[string]any{"sessionId": "s", "message": "hi"}, got.read); err != nil {
		t.Fatal(err)
	}
	if n := len(messages(t, api, "s")); n != 2 {
		t.Errorf("%d messages after a turn", n)
	}
}

// TestInvalidInputIsRefused checks that the refusal names the field, and that nothing is written.
func TestInvalidInputIsRefused(t *testing.T) {
	t.Parallel()
	api := newUser(t)
	open(t, api, "coach_conversation", "s")
	messagesPath := "/v1/sessions/s/messages"
	message := func(fields map[string]any) map[string]any { return map[string]any{"messages": []any{fields}} }
	tests := []struct {
		name, path string
		body       any
		field      string
	}{
		{"unknown context", "/v1/sessions", map[string]any{"context": "kitchen", "coachId": "c"}, "context"},
		{"no coach", "/v1/sessions", map[string]any{"context": "workout_log"}, "coachId"},
		{
			"bad session id", "/v1/sessions",
			map[string]any{"context": "workout_log", "coachId": "c", "sessionId": "a#b"},
			"sessionId",
		},
		{"no messages", messagesPath, map[string]any{"messages": []any{}}, "messages"},
		{"unknown role", messagesPath, message(map[string]any{"role": "robot", "content": "x"}), "messages[0].role"},
		{"no content", messagesPath, message(map[string]any{"role": "user", "content": ""}), "messages[0].content"},
		{
			"unknown field", messagesPath,
			message(map[string]any{"role": "user", "content": "x", "mood": "y"}), "messages[0].mood",
		},
		{"no message", "/v1/chat", map[string]any{"sessionId": "s"}, "message"},
		{"budget too small", "/v1/prompts", map[string]any{
			"context": "coach_conversation", "sessionId": "s", "message": "hi", "budget": map[string]any{"tokens": 10},
		}, "budget.tokens"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			wantProblem(t, api.Do(t.Context(), http.MethodPost, test.path, test.body, nil), 422, "invalid", test.field)
		})
	}
	if n := len(messages(t, api, "s")); n != 0 {
		t.Errorf("the session holds %d messages after refused calls", n)
	}
}

// TestAnotherUsersSessionIsNotFound reads one user's session as another user.
func TestAnotherUsersSessionIsNotFound(t *testing.T) {
	t.Parallel()
	ann, bob := newUser(t), newUser(t)
	open(t, ann, "coach_conversation", "private")
	talk(t, ann, "private", swap)
	for _, path := range []string{"/v1/sessions/private", "/v1/sessions/private/messages"} {
		wantProblem(t, bob.Do(t.Context(), http.MethodGet, path, nil, nil), 404, "not_found", "")
	}
	chat := map[string]any{"sessionId": "private", "message": "hi"}
	wantProblem(t, bob.Chat(t.Context(), chat, new(answer).read), 404, "not_found", "")
	open(t, bob, "coach_conversation", "private")
	if n := len(messages(t, bob, "private")); n != 0 {
		t.Errorf("another user's session of the same name shows %d messages", n)
	}
}
