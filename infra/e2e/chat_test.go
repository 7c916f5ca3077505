package e2e_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/throughline/throughline/infra/client"
	"github.com/throughline/throughline/internal/testing/check"
)

// TestUserMessageIsStoredBeforeTheFirstToken reads the message through the API while the answer streams.
func TestUserMessageIsStoredBeforeTheFirstToken(t *testing.T) {
	t.Parallel()
	api := newUser(t)
	open(t, api, "coach_conversation", "s")
	var got answer
	err := api.Chat(t.Context(), map[string]any{"sessionId": "s", "message": swap}, func(e client.Event) error {
		if e.Name == "prompt" {
			if err := got.read(e); err != nil {
				return err
			}
			stored := messages(t, api, "s")
			// The answer may be stored too by now: the client reads the stream with a delay.
			if len(stored) == 0 || stored[0].MessageID != got.UserMessageID || stored[0].Content != swap {
				t.Errorf("before the first token the session holds %+v, want the user's message %s", stored, got.UserMessageID)
			}
			return nil
		}
		return got.read(e)
	})
	check.OK(t, err)
	stored := messages(t, api, "s")
	if len(stored) != 2 || stored[1].MessageID != got.MessageID || stored[1].Content != got.Text ||
		stored[1].Role != "assistant" {
		t.Errorf("after done the session holds %+v, want the answer %s once", stored, got.MessageID)
	}
	if got.Tokens < 3 {
		t.Errorf("the answer came in %d pieces, want it streamed", got.Tokens)
	}
}

// TestEachKindOfModelSearches has coaches with models of their own: one that takes tools in the Responses API only, one
// that is not served elsewhere, one from before, and one of another vendor. The local server refuses what they refuse.
func TestEachKindOfModelSearches(t *testing.T) {
	t.Parallel()
	for _, model := range []string{"gpt-6.1-sol", "gpt-5.5-pro", "o4-mini", "llama3"} {
		api := newUser(t) // who has not asked before: the question would be found
		coach := map[string]any{"name": "Nova", "persona": "You are Nova.", "model": model}
		do(t, api, http.MethodPut, "/v1/coaches/"+model, coach, nil)
		session := map[string]any{"context": "coach_conversation", "coachId": model, "sessionId": model}
		do(t, api, http.MethodPost, "/v1/sessions", session, nil)
		got := talk(t, api, model, "What did we say about my boat last month?")
		if !strings.Contains(got.Text, "searched our conversations") || got.FinishReason != "stop" {
			t.Errorf("%s said %q, finished by %q", model, got.Text, got.FinishReason)
		}
	}
}

// TestTurnsReuseThePromptOfTheTurnBefore has a coach whose persona is long enough for the provider's cache. From the
// third turn on, most of a prompt comes from it: the first has no earlier messages, and the second writes what the
// third reuses.
func TestTurnsReuseThePromptOfTheTurnBefore(t *testing.T) {
	t.Parallel()
	api := newUser(t)
	persona := "You are Mia, a coach.\n" + strings.Repeat("Keep each answer short, and ask one question at most. ", 150)
	do(t, api, http.MethodPut, "/v1/coaches/coach", map[string]any{"name": "Mia", "persona": persona}, nil)
	open(t, api, "coach_conversation", "s")
	for turn, message := range []string{"Hello.", "My knee is fine.", "I slept well.", "I have an hour."} {
		got := talk(t, api, "s", message)
		if share := float64(got.Usage.CachedTokens) / float64(got.Usage.PromptTokens); turn >= 2 && share < 0.6 {
			t.Errorf("turn %d: %d of %d tokens were cached", turn+1, got.Usage.CachedTokens, got.Usage.PromptTokens)
		}
		if turn == 0 && got.Usage.CachedTokens != 0 {
			t.Errorf("the first turn had %d tokens cached", got.Usage.CachedTokens)
		}
		stored := messages(t, api, "s")
		kept, _ := stored[len(stored)-1].Metadata["usage"].(map[string]any)
		if kept["cachedTokens"] != float64(got.Usage.CachedTokens) {
			t.Errorf("the stored answer has the usage %v, done had %+v", kept, got.Usage)
		}
	}
}
