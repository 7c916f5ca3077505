package dynamo_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/conversation/storetest"
	"github.com/throughline/throughline/internal/dynamo/dynamotest"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/prompt"
)

func TestArchive(t *testing.T) {
	clk := newClock()
	s := dynamotest.New(t, clk.option())
	var kept []prompt.Kept
	for i := range 5 {
		at := storetest.Now.Add(time.Duration(i) * time.Millisecond)
		k := prompt.Kept{
			ID: fmt.Sprintf("prompt_%d_r%d", at.UnixMilli(), i), SessionID: fmt.Sprint("s", i%2), Recipe: "unified",
			CreatedAt: at, ExpiresAt: storetest.Now.Add(time.Duration(i+1) * time.Hour), Manifest: []byte{1, 2, 0, byte(i)},
		}
		if i == 0 {
			k.Text = []byte("text")
		}
		if err := s.Keep(t.Context(), alice, k); err != nil {
			t.Fatal(err)
		}
		kept = append([]prompt.Kept{k}, kept...)
	}
	for _, want := range kept {
		got, err := s.Kept(t.Context(), alice, want.ID)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("kept (-want +got):\n%s", diff)
		}
	}
	list := func(session string, limit int) []prompt.Kept {
		t.Helper()
		var all []prompt.Kept
		page := conversation.Page{Limit: limit}
		for {
			some, next, err := s.KeptOf(t.Context(), alice, session, page)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, some...)
			if page.After = next; next == "" {
				return all
			}
		}
	}
	for _, limit := range []int{1, 2, 50} {
		if diff := cmp.Diff(kept, list("", limit)); diff != "" {
			t.Errorf("listed by %d (-want +got):\n%s", limit, diff)
		}
		if diff := cmp.Diff([]prompt.Kept{kept[1], kept[3]}, list("s1", limit)); diff != "" {
			t.Errorf("of one session by %d (-want +got):\n%s", limit, diff)
		}
	}
	clk.advance(time.Hour)
	if _, err := s.Kept(t.Context(), alice, kept[4].ID); !fault.Is(err, fault.NotFound) {
		t.Errorf("an expired prompt: %v", err)
	}
	if got := list("", 50); len(got) != 4 {
		t.Errorf("%d prompts are listed after one expired", len(got))
	}
	if _, err := s.Kept(t.Context(), bob, kept[0].ID); !fault.Is(err, fault.NotFound) {
		t.Errorf("another user's prompt: %v", err)
	}
	late := kept[0]
	late.Generation = 1
	if err := s.Keep(t.Context(), alice, late); !fault.Is(err, fault.Conflict) {
		t.Errorf("keep a prompt of another generation: %v", err)
	}
}
