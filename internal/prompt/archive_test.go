package prompt_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/prompt"
	"github.com/throughline/throughline/internal/prompt/pack"
	"github.com/throughline/throughline/internal/recall/rank"
	"github.com/throughline/throughline/internal/testing/check"
)

// TestStoredPrompts reads stored prompts and lists them.
func TestStoredPrompts(t *testing.T) {
	t.Parallel()
	w := newFixture()
	r := ann(t, w)
	deps := w.deps(now)
	s := prompt.New(deps)
	p := build(t, s, "ann", r)
	got := check.Got(s.Get(t.Context(), "ann", p.ID))(t)
	if diff := cmp.Diff(p.Tools, got.Tools); diff != "" || len(got.Tools) == 0 {
		t.Errorf("tools -built +stored:\n%s", diff)
	}
	if *got.System != p.System || !cmp.Equal(got.Messages, p.Messages) || got.Tokens != p.Tokens ||
		got.SessionID != "chat" {
		t.Errorf("read back %+v", got)
	}
	if diff := cmp.Diff(p.Manifest, *got.Manifest); diff != "" {
		t.Errorf("manifest -built +stored:\n%s", diff)
	}
	if got.CreatedAt != "2026-02-05T18:30:00.000Z" || got.ExpiresAt != "2026-02-12T18:30:00.000Z" ||
		len(got.SHA256) != 64 {
		t.Errorf("stored from %s to %s, hash %s", got.CreatedAt, got.ExpiresAt, got.SHA256)
	}
	deps.StoreText = false
	bare := build(t, prompt.New(deps), "ann", r)
	second, err := s.Get(t.Context(), "ann", bare.ID)
	if err != nil || second.System != nil || second.Messages != nil || second.SHA256 != got.SHA256 {
		t.Errorf("without text: %+v, %v", second, err)
	}
	list, _, err := s.List(t.Context(), "ann", "chat", conversation.Page{Limit: 10})
	if err != nil || len(list) != 2 || list[0].ID != bare.ID || list[0].Manifest != nil {
		t.Errorf("list %+v, %v", list, err)
	}
	whole, _, err := s.ListFull(t.Context(), "ann", conversation.Page{Limit: 10})
	check.OK(t, err)
	check.Same(t, []prompt.Record{second, got}, whole, "whole list")
	r.SkipSave = true
	if p := build(t, s, "ann", r); len(w.prompts) != 2 || p.Model != "gpt-4o" {
		t.Errorf("%d stored, model %q", len(w.prompts), p.Model)
	}
	check.Fault(t, check.ErrorOf(s.Get(t.Context(), "ann", "prompt_1_x")), fault.NotFound, "an unknown prompt")
}

// TestStoredText reads the stored texts of all recipes, the payload of context-format among them (maas-context-format,
// "Assembly Logic", 4).
func TestStoredText(t *testing.T) {
	t.Parallel()
	for _, recipe := range prompt.Recipes {
		w := newFixture()
		r := ann(t, w)
		r.Recipe = recipe.Name
		s := w.service(now)
		p := build(t, s, "ann", r)
		got := check.Got(s.Get(t.Context(), "ann", p.ID))(t)
		if *got.System != p.System || got.Text != p.Text || !cmp.Equal(got.Messages, p.Messages) ||
			got.Recipe != recipe.Name {
			t.Errorf("%s: read back %+v", recipe.Name, got)
		}
	}
}

// TestCreationTimeIsThatOfTheID encodes a prompt a minute after it was built.
func TestCreationTimeIsThatOfTheID(t *testing.T) {
	t.Parallel()
	k, err := prompt.NewStoredPrompt(prompt.Prompt{ID: fmt.Sprintf("prompt_%d_x", now.UnixMilli())},
		prompt.SaveOptions{Now: now.Add(time.Minute), TTL: time.Hour})
	if err != nil || !k.CreatedAt.Equal(now) {
		t.Errorf("created at %v, %v", k.CreatedAt, err)
	}
}

// TestManifestIsBounded stores a manifest that is too large. It loses items, dropped ones first, and says how many.
func TestManifestIsBounded(t *testing.T) {
	t.Parallel()
	var items []prompt.Item
	for i := range 3000 {
		decision := pack.Dropped
		if i%100 == 0 {
			decision = pack.Included
		}
		items = append(items, prompt.Item{ID: fmt.Sprintf("%x", i*7919*104729), Decision: decision, Reason: "r"})
	}
	p := prompt.Prompt{ID: "prompt_1_x", Manifest: prompt.Manifest{Blocks: []prompt.Block{{Name: "b", Items: items}}}}
	k, err := prompt.NewStoredPrompt(p, prompt.SaveOptions{Now: now})
	if err != nil || len(k.Manifest) > prompt.MaxManifestBytes {
		t.Fatalf("%d bytes, %v", len(k.Manifest), err)
	}
	w := newFixture()
	w.prompts[k.ID] = k
	got := check.Got(w.service(now).Get(t.Context(), "u", k.ID))(t)
	items = got.Manifest.Blocks[0].Items
	if len(items) != 40 || len(got.Manifest.Warnings) != 1 || !strings.Contains(got.Manifest.Warnings[0], "2960") {
		t.Errorf("%d items, warnings %q", len(items), got.Manifest.Warnings)
	}
	check.Equal(t, 2, len(slices.Collect(maps.Keys(countDecisions(items)))), "decisions")
}

// TestLargeManifestsKeepTheirItems stores a manifest that is too large because of the parts of its scores. It loses
// these and no item.
func TestLargeManifestsKeepTheirItems(t *testing.T) {
	t.Parallel()
	items := make([]prompt.Item, 120)
	for i := range items {
		items[i] = prompt.Item{
			ID: fmt.Sprintf("%x", i*7919*104729), Decision: pack.Included, Score: 0.5,
		}
		for f := range len(rank.Names) + 1 {
			items[i].Features = append(items[i].Features, float64((i+1)*(f+3)*7919%9973)/1000)
		}
	}
	p := prompt.Prompt{ID: "prompt_1_x", Manifest: prompt.Manifest{Blocks: []prompt.Block{{Name: "b", Items: items}}}}
	k := check.Got(prompt.NewStoredPrompt(p, prompt.SaveOptions{Now: now}))(t)
	w := newFixture()
	w.prompts[k.ID] = k
	got := check.Got(w.service(now).Get(t.Context(), "u", k.ID))(t)
	stored := got.Manifest.Blocks[0].Items
	warnings := got.Manifest.Warnings
	if len(stored) != len(items) || stored[0].Features != nil || stored[0].Score != 0.5 || len(warnings) != 1 {
		t.Errorf("%d items, the first %+v, warnings %q", len(stored), stored[0], warnings)
	}
	if items[0].Features == nil {
		t.Error("the prompt's own manifest has lost the parts of its scores")
	}
}

func countDecisions(items []prompt.Item) map[pack.Decision]int {
	n := map[pack.Decision]int{}
	for _, i := range items {
		n[i.Decision]++
	}
	return n
}
