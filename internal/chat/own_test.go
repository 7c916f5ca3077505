package chat_test

import (
	"testing"

	"github.com/throughline/throughline/internal/chat"
	"github.com/throughline/throughline/internal/testing/check"
)

// TestErrorsOfTheAppAreNotTold ends a turn with an error of the app's model. The message, which the user may read, says
// that it is interrupted, and not why.
func TestErrorsOfTheAppAreNotTold(t *testing.T) {
	t.Parallel()
	got := chat.OwnMetadata(chat.OwnAnswer{Content: "partial", Failure: "401: invalid key sk-1"}, "prompt_1")
	want := map[string]any{"promptId": "prompt_1", "finishReason": "interrupted", "interrupted": true}
	check.Same(t, want, got, "metadata")
}
