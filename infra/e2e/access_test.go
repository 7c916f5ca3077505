package e2e_test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"maps"
	"math/big"
	"net/http"
	"strings"
	"testing"

	"github.com/golang-jwt/jwt/v5"

	"github.com/throughline/throughline/infra/client"
)

// TestBrokenTokens sends tokens that are broken in each known way to every door: each function of the HTTP API, the
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
				if status := statusOf(t, door, body, token); status != http.StatusUnauthorized {
					t.Errorf("status %d", status)
				}
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
	r, err := http.NewRequestWithContext(t.Context(), method, shared.Base+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	r.Header.Set("Accept", "application/json, text/event-stream")
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	out, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = out.Body.Close()
	return out.StatusCode
}

// brokenTokens are tokens of ann that are broken or forged.
func brokenTokens(t *testing.T) map[string]string {
	t.Helper()
	good := mintToken(t, shared, "ann")
	header, rest, _ := strings.Cut(good, ".")
	payload, signature, _ := strings.Cut(rest, ".")
	var claims jwt.MapClaims
	parsed, _, err := jwt.NewParser().ParseUnverified(good, &claims)
	if err != nil {
		t.Fatal(err)
	}
	var keys struct{ Keys []struct{ N, E string } }
	do(t, client.New(shared.Base), http.MethodGet, "/.well-known/jwks.json", nil, &keys)
	n, err := base64.RawURLEncoding.DecodeString(keys.Keys[0].N)
	if err != nil {
		t.Fatal(err)
	}
	der := x509.MarshalPKCS1PublicKey(&rsa.PublicKey{N: new(big.Int).SetBytes(n), E: 65537})
	own, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	sign := func(method jwt.SigningMethod, key any, headers, others map[string]any) string {
		all := maps.Clone(claims)
		maps.Copy(all, others)
		token := jwt.NewWithClaims(method, all)
		token.Header["kid"] = parsed.Header["kid"]
		maps.Copy(token.Header, headers)
		maps.DeleteFunc(token.Header, func(_ string, v any) bool { return v == nil })
		signed, err := token.SignedString(key)
		if err != nil {
			t.Fatal(err)
		}
		return signed
	}
	forged := func(headers, others map[string]any) string { return sign(jwt.SigningMethodRS256, own, headers, others) }
	secret := func(key []byte) string { return sign(jwt.SigningMethodHS256, key, nil, nil) }
	encode := base64.RawURLEncoding.EncodeToString
	var expired struct{ Token string }
	do(t, client.New(shared.Base), http.MethodPost, "/dev/tokens", map[string]any{"userId": "ann", "expiresIn": -3600},
		&expired)
	return map[string]string{
		"none": "", "no token": "abc", "expired": expired.Token,
		"alg none":           encode([]byte(`{"alg":"none","typ":"JWT"}`)) + "." + payload + ".",
		"alg None":           encode([]byte(`{"alg":"None","typ":"JWT"}`)) + "." + payload + "." + signature,
		"HS256 with the PEM": secret(pem.EncodeToMemory(&pem.Block{Type: "RSA PUBLIC KEY", Bytes: der})),
		"HS256 with the DER": secret(der), "HS256 with n": secret(n),
		"another key, same kid": forged(nil, nil), "no kid": forged(map[string]any{"kid": nil}, nil),
		"jku": forged(map[string]any{"jku": "https://evil.example/keys"}, nil),
		"jwk": forged(map[string]any{"jwk": map[string]any{
			"kty": "RSA", "n": encode(own.N.Bytes()), "e": "AQAB",
		}}, nil),
		"another issuer":   forged(nil, map[string]any{"iss": "https://evil.example"}),
		"another audience": forged(nil, map[string]any{"aud": "another"}),
		"another's claims": header + "." + encode([]byte(`{"sub":"bob"}`)) + "." + signature,
		"wrong signature":  header + "." + payload + "." + signature[:len(signature)-5] + "AAAAA",
		"padded":           good + "==", "trailing": good + ".e30",
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
