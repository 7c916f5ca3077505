package e2e_test

import (
	"encoding/base64"
	"net/http"
	"strings"
	"testing"

	"github.com/throughline/throughline/infra/client"
	"github.com/throughline/throughline/internal/testing/check"
)

// TestBrokenTokens sends broken tokens to every door: each function of the HTTP API, the
// streams of the function URL, and MCP.
func TestBrokenTokens(t *testing.T) {
	t.Parallel()
	doors := map[string]string{
		"GET /v1/sessions": "", "POST /v1/recall": `{"text":"x"}`, "POST /v1/prompts": `{}`, "GET /v1/export": "",
		"POST /v1/chat": `{"sessionId":"s","message":"hi"}`, "GET /v1/sessions/s/answer": "",
		"POST /mcp": `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`,
	}
	for name, token := range brokenTokens(t) {
		for door, body := range doors {
			t.Run(name+" "+door, func(t *testing.T) {
				t.Parallel()
				check.Equal(t, http.StatusUnauthorized, statusOf(t, door, body, token), "status")
			})
		}
	}
	good := mintToken(t, shared, "ann")
	for door, body := range doors {
		if status := statusOf(t, door, body, good); status == http.StatusUnauthorized || status == http.StatusForbidden {
			t.Errorf("%s: status %d with a good token", door, status)
		}
	}
}

// statusOf returns the status of a call with a token.
func statusOf(t *testing.T, door, body, token string) int {
	t.Helper()
	method, path, _ := strings.Cut(door, " ")
	r := check.Got(http.NewRequestWithContext(t.Context(), method, shared.Base+path, strings.NewReader(body)))(t)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	r.Header.Set("Accept", "application/json, text/event-stream")
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	out := check.Got(http.DefaultClient.Do(r))(t)
	_ = out.Body.Close()
	return out.StatusCode
}

// brokenTokens are tokens of ann that are broken or forged, one of each kind. The tests of internal/auth have them all.
func brokenTokens(t *testing.T) map[string]string {
	t.Helper()
	good := mintToken(t, shared, "ann")
	header, rest, _ := strings.Cut(good, ".")
	payload, signature, _ := strings.Cut(rest, ".")
	encode := base64.RawURLEncoding.EncodeToString
	var expired struct{ Token string }
	do(t, client.New(shared.Base), http.MethodPost, "/dev/tokens", map[string]any{"userId": "ann", "expiresIn": -3600},
		&expired)
	return map[string]string{
		"none": "", "no token": "abc", "expired": expired.Token,
		"alg none":         encode([]byte(`{"alg":"none","typ":"JWT"}`)) + "." + payload + ".",
		"another's claims": header + "." + encode([]byte(`{"sub":"bob"}`)) + "." + signature,
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
	check.OK(t, api.Chat(t.Context(), map[string]any{"sessionId": "s", "message": "hi"}, got.read))
	check.Equal(t, 2, len(messages(t, api, "s")), "messages after a turn")
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
