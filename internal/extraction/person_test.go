package extraction_test

import (
	"strings"
	"testing"

	"github.com/throughline/throughline/internal/conversation"
)

// TestShortAnswersAreRead has each answer behind its question in the request, however often the user said the same.
func TestShortAnswersAreRead(t *testing.T) {
	t.Parallel()
	e := newEcho(t)
	var messages []conversation.NewMessage
	for _, line := range []string{
		"Any heart disease?", "No", "Have you had a stroke?", "No.", "Have you had a stroke?", "No", "Do you smoke?",
		"Yes", "Do you take insulin?", "yes!", "", "Yes",
	} {
		role := conversation.RoleUser
		if strings.HasSuffix(line, "?") {
			role = conversation.RoleAssistant
		}
		if line != "" {
			messages = append(messages, conversation.NewMessage{Role: role, Content: line})
		}
	}
	e.create(t, "a")
	e.append(t, "a", messages...)
	e.extract(t, "a")
	var got []string
	for line := range strings.Lines(e.inputs[0]) {
		if _, said, ok := strings.Cut(line, "] "); ok {
			_, text, _ := strings.Cut(strings.TrimSpace(said), ": ")
			got = append(got, text)
		}
	}
	want := "Any heart disease? No Have you had a stroke? No. Do you smoke? Yes Do you take insulin? yes!"
	if read := strings.Join(got, " "); read != want {
		t.Errorf("the model reads %q, want %q", read, want)
	}
}
