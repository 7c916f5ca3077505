package conversation_test

import (
	"strings"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/conversation"
)

func TestIsUrgent(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"By the way, I'm ALLERGIC to peanuts.": true, "Ich habe eine Allergie gegen Nüsse.": true,
		"Je m’appelle Anne": true, "Me llamo Ana": true, "My name is Ann.": true, "please call me Al": true,
		"Remember that I train at six": true, "I tore my ACL": true, "tengo asma": true, "Sou alérgica a camarão": true,
		"": false, "What should I do tomorrow?": false, "call men": false, "nonallergic": false, "un asmatico": false,
		"My left shoulder clicks, so no overhead presses.": false, "We lift. " + strings.Repeat("We lift. ", 40): false,
		strings.Repeat("x ", 4000) + "allergic": false,
	} {
		if got := conversation.IsUrgent(text); got != want {
			t.Errorf("%.60q is urgent: %v, want %v", text, got, want)
		}
	}
}

// TestSeqsOfUsers checks that only messages of the user are counted as those that have to be read.
func TestSeqsOfUsers(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 2, 5, 18, 30, 0, 0, time.UTC)
	var s conversation.Session
	say := func(role conversation.Role, text string) {
		_, s = s.Extend([]conversation.NewMessage{{Role: role, Content: text}}, now)
	}
	say(conversation.RoleAssistant, "Are you allergic to peanuts?")
	if s.UserSeq != 0 || s.UrgentSeq != 0 || s.NeedsExtraction() {
		t.Errorf("after the assistant's message the session is %+v", s)
	}
	say(conversation.RoleUser, "I'm allergic to peanuts.")
	say(conversation.RoleUser, "Thanks.")
	say(conversation.RoleSystem, "allergy noted")
	if s.UserSeq != 3 || s.UrgentSeq != 2 || !s.NeedsExtraction() {
		t.Errorf("the last message of the user is %d, the last urgent one %d", s.UserSeq, s.UrgentSeq)
	}
	if s.Extracted.Seq = 3; s.NeedsExtraction() {
		t.Error("a session that is read needs it")
	}
}
