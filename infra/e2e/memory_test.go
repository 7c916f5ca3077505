package e2e_test

import (
	"encoding/json"
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

// TestARejectedMemoryIsForgotten has a user reject what was noted. Nothing but the history has what it was noted from.
func TestARejectedMemoryIsForgotten(t *testing.T) {
	t.Parallel()
	api := newUser(t)
	do(t, api, http.MethodPut, "/v1/preferences", object{"reviewMemories": true}, nil)
	open(t, api, "coach_conversation", "talk")
	open(t, api, "program_designer", "elsewhere")
	say(t, api, "talk", "My name is Quimby.")
	do(t, api, http.MethodPatch, "/v1/sessions/talk", object{"status": "completed"}, nil)
	settle(t)
	told := func() (in []string) {
		for name, call := range map[string]struct {
			method, path string
			body         any
		}{
			"session":  {"GET", "/v1/sessions/talk", nil},
			"memories": {"GET", "/v1/memories", nil},
			"recall":   {"POST", "/v1/recall", object{"query": "Quimby"}},
			"search":   {"POST", "/v1/search", object{"query": "Quimby"}},
			"prompt": {"POST", "/v1/prompts", object{
				"context": "program_designer", "sessionId": "elsewhere", "message": "Who is Quimby?",
			}},
		} {
			var out json.RawMessage
			do(t, api, call.method, call.path, call.body, &out)
			if strings.Contains(string(out), "name is Quimby") {
				in = append(in, name)
			}
		}
		slices.Sort(in)
		return in
	}
	if in := told(); len(in) != 5 {
		t.Fatalf("before its review it is told in %v", in)
	}
	do(t, api, http.MethodPost, "/v1/memories/"+memories(t, api)[0].ID+"/review", object{"verdict": "reject"}, nil)
	if in := told(); len(in) != 0 {
		t.Errorf("at once after its rejection it is told in %v", in)
	}
	settle(t)
	if in := told(); len(in) != 0 {
		t.Errorf("after its rejection it is told in %v", in)
	}
	if all := messages(t, api, "talk"); len(all) != 1 || !strings.Contains(all[0].Content, "Quimby") {
		t.Errorf("the history is %+v", all)
	}
}
