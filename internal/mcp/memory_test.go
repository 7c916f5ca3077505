package mcp_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/testing/check"
)

// TestRememberIsIdempotent repeats a fact in other spellings, after the idempotency record has expired, and from many
// calls at once.
func TestRememberIsIdempotent(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	ann := s.connect(t, "ann")
	first := mustCall[remembered](t, ann, "remember", arguments{"content": "Likes tea.", "pinned": true})
	if !first.Created || first.Memory.Type != "PROFILE" || !first.Memory.Pinned || first.Notice == "" {
		t.Fatalf("remembered %+v", first)
	}
	for _, wait := range []time.Duration{0, 25 * time.Hour} {
		s.clock.Advance(wait)
		for _, content := range []string{"Likes tea.", "likes  TEA"} {
			again := mustCall[remembered](t, ann, "remember", arguments{"content": content})
			if again.Created || again.Memory.ID != first.Memory.ID {
				t.Errorf("after %v %q: %+v", wait, content, again)
			}
		}
	}
	for name, other := range map[string]arguments{
		"another kind":  {"content": "Likes tea.", "type": "PROJECT"},
		"somebody else": {"content": "Likes tea.", "about": "Marta"},
		"other words":   {"content": "Likes green tea."},
	} {
		if got := mustCall[remembered](t, ann, "remember", other); !got.Created {
			t.Errorf("%s is taken for the same: %+v", name, got)
		}
	}
}

func TestRememberAtOnceStoresOne(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	ids := make([]string, 8)
	var calls sync.WaitGroup
	for i := range ids {
		session := s.connect(t, "ann")
		calls.Go(func() {
			ids[i] = mustCall[remembered](t, session, "remember", arguments{"content": "Runs on Mondays."}).Memory.ID
		})
	}
	calls.Wait()
	if all := slices.Compact(slices.Clone(ids)); len(all) != 1 || all[0] == "" {
		t.Errorf("calls at once stored %v", ids)
	}
}

// TestRememberAfterForget remembers, forgets and remembers the same: the idempotency records of the forgotten memories
// must not bring them back, or keep the fact out.
func TestRememberAfterForget(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	ann := s.connect(t, "ann")
	seen := map[string]bool{}
	for range 3 {
		got := mustCall[remembered](t, ann, "remember", arguments{"content": "Sails."})
		if !got.Created || seen[got.Memory.ID] {
			t.Fatalf("remembered %+v, after %v", got, seen)
		}
		seen[got.Memory.ID] = true
		mustCall[any](t, ann, "forget", arguments{"id": got.Memory.ID})
	}
	if all := mustCall[listed](t, ann, "list_memories", nil); len(all.Items) != 0 {
		t.Errorf("listed %+v", all.Items)
	}
}

func TestForgetReturnsAReceipt(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	ann := s.connect(t, "ann")
	const content = "Was treated for depression in 2019."
	kept := mustCall[remembered](t, ann, "remember", arguments{"content": "Likes tea."}).Memory
	gone := mustCall[remembered](t, ann, "remember", arguments{"content": content}).Memory
	receipt := mustCall[map[string]any](t, ann, "forget", arguments{"id": gone.ID})
	if receipt["forgotten"] != true || receipt["id"] != gone.ID || receipt["forgottenAt"] == "" {
		t.Errorf("receipt %v", receipt)
	}
	if strings.Contains(fmt.Sprint(receipt), "depression") {
		t.Errorf("the receipt repeats the content: %v", receipt)
	}
	for _, id := range []string{gone.ID, gone.ID[:len(gone.ID)-1], "depression", "x"} {
		if _, failure := call[any](t, ann, "forget", arguments{"id": id}); !strings.Contains(failure, "list_memories") {
			t.Errorf("forget %s: %q does not say what to do", id, failure)
		}
	}
	if _, failure := call[any](t, s.connect(t, "bob"), "forget", arguments{"id": kept.ID}); failure == "" {
		t.Error("another user forgot the memory")
	}
	busy := s.connect(t, "busy")
	held := mustCall[remembered](t, busy, "remember", arguments{"content": "Likes tea."}).Memory
	_, refused := call[any](t, busy, "forget", arguments{"id": held.ID})
	if left := mustCall[listed](t, busy, "list_memories", nil); refused == "" || len(left.Items) != 1 {
		t.Errorf("a user who asks for too much forgets: %q, %+v", refused, left.Items)
	}
	all := mustCall[listed](t, ann, "list_memories", arguments{"includeEnded": true})
	if len(all.Items) != 1 || all.Items[0].ID != kept.ID {
		t.Errorf("left %+v", all.Items)
	}
	check.Lacks(t, s.log.String(), "depression", "the log has content")
}

func TestUpdateMemory(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	ann := s.connect(t, "ann")
	type updated struct{ Memory memory }
	id := mustCall[remembered](t, ann, "remember", arguments{"content": "Lives in Bergen."}).Memory.ID
	got := mustCall[updated](t, ann, "update_memory", arguments{
		"id": id, "content": "Lives in Oslo.", "until": "2999-01-31", "pinned": true, "type": "PROJECT",
	}).Memory
	want := memory{
		ID: id, Type: "PROJECT", Content: "Lives in Oslo.", Until: "2999-01-31", Pinned: true, Valid: true,
	}
	if got != want {
		t.Errorf("updated to %+v, want %+v", got, want)
	}
	if got := mustCall[updated](t, ann, "update_memory", arguments{"id": id, "until": ""}).Memory; got.Until != "" {
		t.Errorf("until is still %s", got.Until)
	}
	check.Got(s.stores.Memories.Update(t.Context(), "ann", id, func(m *longterm.Memory) error {
		m.ValidUntil, m.EndedReason, m.SupersededBy = s.clock.Time().AddDate(0, 0, 7), longterm.EndedReplaced, "a plan"
		return nil
	}))(t)
	if got := mustCall[updated](t, ann, "update_memory", arguments{"id": id, "ended": "over"}).Memory; got.Valid ||
		got.EndedReason != "over" {
		t.Errorf("ended to %+v", got)
	}
	if all := mustCall[listed](t, ann, "list_memories", nil); len(all.Items) != 0 {
		t.Errorf("the ended memory is listed: %+v", all.Items)
	}
	again := mustCall[remembered](t, ann, "remember", arguments{"content": "Lives in Oslo.", "type": "PROJECT"})
	if !again.Created {
		t.Error("a fact that has ended keeps the same fact out")
	}
	for name, in := range map[string]arguments{
		"nothing": {"id": id}, "a day that is none": {"id": id, "until": "soon"}, "blank": {"id": id, "content": " "},
		"no type": {"id": id, "type": "SECRET"}, "another reason": {"id": id, "ended": "forgotten"},
		"an unknown field": {"id": id, "user": "bob"}, "no id": {"content": "x"}, "null": {"id": id, "pinned": nil},
	} {
		if _, failure := call[updated](t, ann, "update_memory", in); failure == "" {
			t.Errorf("%s was accepted", name)
		}
	}
	bob := s.connect(t, "bob")
	if _, failure := call[updated](t, bob, "update_memory", arguments{"id": id, "pinned": true}); failure == "" {
		t.Error("another user changed the memory")
	}
}

func TestListMemoriesInPages(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	ann := s.connect(t, "ann")
	const n = 7
	for i := range n {
		s.clock.Advance(time.Second)
		mustCall[remembered](t, ann, "remember", arguments{"content": fmt.Sprintf("Fact %d.", i), "type": "PEOPLE"})
	}
	var seen []string
	cursor := ""
	for range n {
		page := mustCall[listed](t, ann, "list_memories", arguments{"limit": 3, "cursor": cursor, "type": "PEOPLE"})
		for _, m := range page.Items {
			seen = append(seen, m.Content)
		}
		if cursor = page.NextCursor; cursor == "" {
			break
		}
	}
	if len(seen) != n || seen[0] != "Fact 6." || seen[n-1] != "Fact 0." {
		t.Errorf("listed %v", seen)
	}
	if _, failure := call[listed](t, ann, "list_memories", arguments{"cursor": "memory#x"}); failure == "" {
		t.Error("a cursor that is none was accepted")
	}
	if got := mustCall[listed](t, ann, "list_memories", arguments{"type": "PROJECT"}); len(got.Items) != 0 {
		t.Errorf("of another kind: %+v", got.Items)
	}
}

// TestUsersAtOnce calls for many users at once, through one server, and looks for one user's data in another's answers.
func TestUsersAtOnce(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	const users, rounds = 8, 5
	var calls sync.WaitGroup
	for i := range users {
		name := fmt.Sprintf("user-%d", i)
		session := s.connect(t, name)
		calls.Go(func() {
			for round := range rounds {
				mustCall[remembered](t, session, "remember", arguments{"content": fmt.Sprintf("%s says %d", name, round)})
				all := mustCall[listed](t, session, "list_memories", nil)
				if len(all.Items) != round+1 {
					t.Errorf("%s has %d memories, want %d", name, len(all.Items), round+1)
				}
				for _, m := range all.Items {
					if !strings.HasPrefix(m.Content, name+" ") {
						t.Errorf("%s reads %q", name, m.Content)
					}
				}
			}
		})
	}
	calls.Wait()
}

// TestStoredTextsAreCleaned stores a fact with characters that a reader does not see.
func TestStoredTextsAreCleaned(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	ann := s.connect(t, "ann")
	got := mustCall[remembered](t, ann, "remember", arguments{
		"content": "Likes\u202e tea\u0000.", "about": "\u202eUlf\U000E0041",
	})
	stored, err := s.stores.Memories.Get(t.Context(), conversation.UserID("ann"), got.Memory.ID)
	if err != nil || stored.Content != "Likes\u202e tea\u0000." {
		t.Errorf("stored %q, %v", stored.Content, err)
	}
	if got.Memory.Content != "Likes tea." || got.Memory.About != "Ulf" {
		t.Errorf("shown %q about %q", got.Memory.Content, got.Memory.About)
	}
}
