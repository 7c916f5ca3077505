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

// TestMessagesThatAreNotRead appends a message of which no memory is to be made, though it is urgent.
func TestMessagesThatAreNotRead(t *testing.T) {
	t.Parallel()
	e := newEcho(t)
	e.create(t, "a")
	e.append(t, "a",
		conversation.NewMessage{Role: conversation.RoleUser, Content: "fact 1: I'm allergic to nuts", NoExtract: true},
		conversation.NewMessage{Role: conversation.RoleUser, Content: "fact 2"})
	if s := e.session(t, "a"); s.UrgentSeq != 0 || s.UserSeq != 2 {
		t.Errorf("the session is %+v", s)
	}
	e.extract(t, "a")
	e.wantValid(t, "fact 2")
	if strings.Contains(e.inputs[0], "fact 1") {
		t.Errorf("the model reads:\n%s", e.inputs[0])
	}
}
