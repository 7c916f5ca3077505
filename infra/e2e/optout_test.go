package e2e_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/throughline/throughline/infra/client"
	"github.com/throughline/throughline/internal/testing/check"
)

// secrets are the words that the user says in one session of each context.
var secrets = map[string]string{
	"coach_conversation": "Quillfern", "program_designer": "Marrowbay", "coach_creator": "Tolverine",
	"training_program": "Pellucet", "workout_log": "Brindlewick",
}

// TestNoReaderPassesAnOptOut asks everything that reads sessions, from each context and from outside of all, while some
// contexts share nothing. Then it asks again while all is shared, so that a reader which never shows anything is found.
func TestNoReaderPassesAnOptOut(t *testing.T) {
	t.Parallel()
	api := newUser(t)
	for context, secret := range secrets {
		open(t, api, context, "of-"+context)
		text := "My locker code word is " + secret + ". Remember that, please."
		body := map[string]any{"messages": []any{map[string]any{"role": "user", "content": text}}}
		do(t, api, http.MethodPost, "/v1/sessions/of-"+context+"/messages", body, nil)
		do(t, api, http.MethodPatch, "/v1/sessions/of-"+context, map[string]any{"status": "completed"}, nil)
	}
	settle(t)
	for name, tc := range map[string]struct {
		preferences map[string]any
		apart       map[string]bool
	}{
		"one context": {unshared("workout_log"), map[string]bool{"workout_log": true}},
		"two contexts": {
			unshared("coach_conversation", "program_designer"),
			map[string]bool{"coach_conversation": true, "program_designer": true},
		},
		"no crossing": {map[string]any{"crossContext": false}, nil},
	} {
		do(t, api, http.MethodPut, "/v1/preferences", tc.preferences, nil)
		for reader, shown := range readAll(t, api) {
			asking, _, _ := strings.Cut(reader, ":")
			for context, secret := range secrets {
				isHidden := tc.apart == nil || tc.apart[context] || tc.apart[asking]
				if context != asking && isHidden && strings.Contains(shown, secret) {
					t.Errorf("%s: %s shows what was said in %s", name, reader, context)
				}
			}
		}
	}
	do(t, api, http.MethodPut, "/v1/preferences", map[string]any{}, nil)
	for reader, shown := range readAll(t, api) {
		asking, _, _ := strings.Cut(reader, ":")
		others := 0
		for context, secret := range secrets {
			if context != asking && strings.Contains(shown, secret) {
				others++
			}
		}
		if others == 0 {
			t.Errorf("while all is shared, %s shows nothing of another context, so this test cannot fail:\n%s", reader, shown)
		}
	}
}

// unshared are the preferences of a user who keeps some contexts apart.
func unshared(contexts ...string) map[string]any {
	apart := map[string]any{}
	for _, c := range contexts {
		apart[c] = map[string]any{"share": false}
	}
	return map[string]any{"contexts": apart}
}

// readAll asks each reader and returns its answer as text, by the context that asks, empty for none, and its name.
func readAll(t *testing.T, api *client.Client) map[string]string {
	t.Helper()
	const query = "What is my locker code word?"
	shown := map[string]string{}
	read := func(reader, path string, body map[string]any) {
		var answer any
		do(t, api, http.MethodPost, path, body, &answer)
		text := check.Got(json.Marshal(answer))(t)
		shown[reader] = string(text)
	}
	read(":recall", "/v1/recall", map[string]any{"query": query, "limit": 50})
	for context := range secrets {
		session := "of-" + context
		read(context+":recall", "/v1/recall", map[string]any{"query": query, "sessionId": session, "limit": 50})
		for _, id := range []string{"", session} {
			body := map[string]any{"context": context, "query": query, "within": "48h", "limit": 10}
			if id != "" {
				body["sessionId"] = id
			}
			read(fmt.Sprintf("%s:query in %q", context, id), "/v1/context/query", body)
		}
		for _, recipe := range []string{"unified", "context-format", "context-format@0.5", "tiered-history", "block-map"} {
			read(context+":"+recipe, "/v1/prompts", map[string]any{
				"context": context, "sessionId": session, "recipe": recipe, "message": query,
			})
		}
	}
	return shown
}
