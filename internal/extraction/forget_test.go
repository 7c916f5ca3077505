package extraction_test

import (
	"strings"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/conversation"
)

// TestForgottenMessagesAreNotRead has a message that the user asked to forget before it was read, and one before the
// watermark, which is no context either.
func TestForgottenMessagesAreNotRead(t *testing.T) {
	t.Parallel()
	e := newEcho(t)
	forget := func(m conversation.Message) {
		t.Helper()
		if _, done, err := e.stores.Forgetting.ForgetMessage(t.Context(), e.user, m.ID); done || err != nil {
			t.Fatal(done, err)
		}
	}
	forget(e.say(t, "a", "fact 1", "fact 2")[0])
	e.extract(t, "a")
	e.wantValid(t, "fact 2")
	e.advance(time.Minute)
	e.more(t, "a", "fact 3")
	e.extract(t, "a")
	e.wantValid(t, "fact 2", "fact 3")
	if last := e.inputs[len(e.inputs)-1]; strings.Contains(last, "fact 1") || !strings.Contains(last, "fact 2") {
		t.Errorf("the model reads:\n%s", last)
	}
}
