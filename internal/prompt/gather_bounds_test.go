package prompt_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/prompt"
)

// TestPagesOfSessions counts the pages of sessions that a prompt reads.
func TestPagesOfSessions(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		recipe       string
		age          time.Duration
		isSummarized bool
		want         int
	}{
		"without transcripts, the first page has the latest": {prompt.BlockMap, 24 * time.Hour, true, 1},
		"before the tiers, the latest is not there yet":      {prompt.Unified, 10 * 24 * time.Hour, false, 2},
		"before the tiers, nothing names the latest":         {prompt.TieredHistory, 10 * 24 * time.Hour, false, 1},
		"of yesterday": {prompt.TieredHistory, 24 * time.Hour, true, 4},
	} {
		w := newFixture()
		p := w.user("u")
		p.converse("here", "coach_conversation", "c", now)
		for i := range 300 {
			s := p.converse(fmt.Sprint("s", i), "workout_log", "c", now.Add(-tt.age-time.Duration(i)*time.Second), says(0, "x"))
			if tt.isSummarized {
				summarize(s, "x")
			}
		}
		build(t, w.service(now), "u", request(tt.recipe))
		if got := w.calls["sessions"]; got != tt.want {
			t.Errorf("%s: %d pages, want %d", name, got, tt.want)
		}
	}
}

// TestLatestSummaryIsRead has sessions of which only the newest one has a summary, and recent_activity has it. The
// latest summary beside it is on the second page.
func TestLatestSummaryIsRead(t *testing.T) {
	t.Parallel()
	w := newFixture()
	p := w.user("u")
	p.converse("here", "coach_conversation", "c", now)
	summarize(p.converse("log", "workout_log", "c", now.Add(-time.Hour), says(0, "x")), "They logged swings.")
	for i := range 30 {
		p.converse(fmt.Sprint("s", i), "coach_conversation", "c", now.Add(-time.Duration(10+i)*24*time.Hour), says(0, "x"))
	}
	summarize(&p.sessions[len(p.sessions)-1], "They spoke of walks.")
	got := blockOf(t, build(t, w.service(now), "u", request(prompt.Unified)), "session_summary")
	if len(got.Items) != 1 || got.Items[0].SessionID != "s29" {
		t.Errorf("latest summary: %+v", got.Items)
	}
}

// TestMessageDeletedMeanwhile has a session of which a message is deleted while the prompt is built. The prompt has
// the others from the first one, so the latest summary is that of another session.
func TestMessageDeletedMeanwhile(t *testing.T) {
	t.Parallel()
	w := newFixture()
	p := w.user("u")
	summarize(p.converse("here", "coach_conversation", "c", now.Add(-9*minute), exchanges(3)...), "They spoke of bands.")
	p.messages = slices.Delete(p.messages, 2, 3)
	summarize(p.converse("design", "coach_conversation", "c", on(4, 8, 0), says(0, "Done.")), "They built a program.")
	got := build(t, w.service(now), "u", request(prompt.BlockMap))
	latest, recent := blockOf(t, got, "session_summary"), blockOf(t, got, "recent_messages")
	if len(latest.Items) != 1 || latest.Items[0].SessionID != "design" || included(recent) != 5 {
		t.Errorf("latest summary: %+v, %d messages", latest.Items, included(recent))
	}
}

// TestPageThatCannotBeRead fails the second page of sessions. It is not read again.
func TestPageThatCannotBeRead(t *testing.T) {
	t.Parallel()
	w := newFixture()
	p := w.user("u")
	p.converse("here", "coach_conversation", "c", now)
	for i := range 100 {
		p.converse(fmt.Sprint("s", i), "workout_log", "c", now.Add(-24*time.Hour-time.Duration(i)*time.Second), says(0, "x"))
	}
	w.during["sessions"] = func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.fail["sessions"] = errors.New("down")
	}
	got := build(t, w.service(now), "u", request(prompt.TieredHistory)).Manifest.Degraded
	if w.calls["sessions"] != 2 || len(got) != 1 || got[0].Source != "sessions" {
		t.Errorf("%d pages, degraded %v", w.calls["sessions"], got)
	}
}

// TestBudgetThatFillsLater has a thread that fills the budget after another read. The manifest says that the budget
// ended the read.
func TestBudgetThatFillsLater(t *testing.T) {
	t.Parallel()
	w := newFixture()
	lines, took := numbered(900, "the long walk in the park today was")
	w.user("u").converse("here", "coach_conversation", "c", now.Add(-took), lines...)
	r := request(prompt.TieredHistory)
	r.Budget = &prompt.Budget{Tokens: 6000}
	got := itemOf(t, build(t, w.service(now), "u", r), "thread_history", "here")
	if w.calls["before"] == 0 || !strings.HasSuffix(got.Reason, "those before were not read: the budget was full") {
		t.Errorf("%d more reads, %+v", w.calls["before"], got)
	}
}

// TestMessageOverTheCharacters has a message within the tokens of the budget and over its characters.
func TestMessageOverTheCharacters(t *testing.T) {
	t.Parallel()
	w := newFixture()
	w.user("u").converse("here", "coach_conversation", "c", now)
	r := request(prompt.TieredHistory)
	r.Message = strings.Repeat(strings.Repeat(" ", 80)+"x", 1500)
	_, err := w.service(now).Build(t.Context(), "u", r)
	if err == nil || !strings.Contains(err.Error(), "the budget is 120000 characters") {
		t.Errorf("%d tokens: %v", tokens.Count(r.Message), err)
	}
}
