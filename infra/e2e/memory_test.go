package e2e_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/throughline/throughline/infra/client"
)

type memory struct {
	ID, Type, Content, Source, SupersededBy string
	Pinned                                  bool
	Confidence                              float64
	MessageIDs                              []string
	ValidUntil                              *time.Time
}

func memories(t *testing.T, api *client.Client) []memory {
	t.Helper()
	var list struct{ Items []memory }
	do(t, api, http.MethodGet, "/v1/memories", nil, &list)
	return list.Items
}

// safetyBlock returns the ids of the memories in the block of what must not be forgotten.
func (p builtPrompt) safetyBlock() (ids []string) {
	for _, b := range p.Manifest.Blocks {
		if b.Name == "safety" {
			for _, i := range b.Items {
				ids = append(ids, i.ID)
			}
		}
	}
	return ids
}

// TestAnAllergyIsRememberedElsewhere tells an allergy in one context. Seconds later the prompt of another context has
// it in its safety block. When the user says that it is over, it leaves the prompts and is kept as superseded.
func TestAnAllergyIsRememberedElsewhere(t *testing.T) {
	t.Parallel()
	api := newUser(t)
	open(t, api, "program_designer", "designer")
	said := talk(t, api, "designer", "By the way, I'm allergic to peanuts.")
	open(t, api, "coach_conversation", "coach")
	var allergy memory
	eventually(t, 10*time.Second, "the allergy in the other context's prompt", func() bool {
		for _, m := range memories(t, api) {
			if m.Pinned && strings.Contains(m.Content, "peanuts") {
				allergy = m
				return slices.Contains(buildPrompt(t, api, "coach", "What shall I eat?").safetyBlock(), m.ID)
			}
		}
		return false
	})
	if allergy.Source != "extracted" || !slices.Equal(allergy.MessageIDs, []string{said.UserMessageID}) {
		t.Errorf("the memory is %+v, of message %s", allergy, said.UserMessageID)
	}
	talk(t, api, "coach", "Good news: I'm not allergic to peanuts any more.")
	eventually(t, 10*time.Second, "the end of the allergy", func() bool {
		return !slices.Contains(buildPrompt(t, api, "coach", "What shall I eat?").safetyBlock(), allergy.ID)
	})
	for _, m := range memories(t, api) {
		if m.ID == allergy.ID && (m.SupersededBy == "" || m.ValidUntil == nil) {
			t.Errorf("the old memory is %+v", m)
		}
	}
}

// TestForgetInTheChat asks the coach to forget an allergy. The coach's answer confirms it without its words, and the
// memory is gone at once.
func TestForgetInTheChat(t *testing.T) {
	t.Parallel()
	api := newUser(t)
	open(t, api, "coach_conversation", "coach")
	talk(t, api, "coach", "I'm allergic to peanuts.")
	eventually(t, 10*time.Second, "the allergy is remembered", func() bool { return len(memories(t, api)) == 1 })
	answer := talk(t, api, "coach", "Please forget that I'm allergic to peanuts.")
	if !strings.Contains(answer.Text, "It is forgotten") || strings.Contains(answer.Text, "peanut") {
		t.Errorf("the coach says %q", answer.Text)
	}
	if left := memories(t, api); len(left) != 0 {
		t.Errorf("memories %+v", left)
	}
	if p := storedPrompt(t, api, answer.PromptID); len(p.Tools) != 2 || p.Tools[1].Name != "forget" {
		t.Errorf("the prompt offers %+v", p.Tools)
	}
}
