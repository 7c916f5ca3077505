package prompt_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/prompt"
	"github.com/throughline/throughline/internal/recall"
)

// TestActivityByDay has a screen of today and seven talks of yesterday beside a chat. Those of yesterday are in front,
// whatever the search says of them. That of today is late, because its age changes, with the first line of the heading
// alone.
func TestActivityByDay(t *testing.T) {
	t.Parallel()
	w := newFixture()
	p, r := chat(w, 4)
	for i := range 7 {
		at := now.Add(-26*time.Hour - time.Duration(i)*minute)
		log := p.converse(fmt.Sprint("log", i), "workout_log", "c", at, says(0, "Swim."))
		summarize(log, fmt.Sprintf("They swam %d km.", i+1))
	}
	const explained = "The user recently had the following"
	const yesterday = "[Workout Log - yesterday]: They swam 1 km."
	const today = "[Program Designer - 3 hours ago]: They swapped."
	prompts := make([]prompt.Prompt, 2)
	for i, id := range []string{"log6", "design"} {
		hit := p.messages[slices.IndexFunc(p.messages, func(m conversation.Message) bool { return m.SessionID == id })]
		p.hits = []recall.Hit{{ID: hit.ID, Score: 0.1, Message: &hit}}
		prompts[i] = build(t, w.service(now), "u", r)
		late := prompts[i].Messages[len(prompts[i].Messages)-2].Content
		front := frontOf(prompts[i])
		if !strings.Contains(front, explained) || !strings.Contains(front, yesterday) || strings.Contains(front, today) {
			t.Errorf("in front:\n%s", front)
		}
		if !strings.Contains(late, "# RECENT ACTIVITY IN OTHER CONTEXTS\n"+today) || strings.Contains(late, "yesterday]") {
			t.Errorf("late:\n%s", late)
		}
	}
	if diff := cmp.Diff(frontOf(prompts[0]), frontOf(prompts[1])); diff != "" {
		t.Errorf("what was found decides what is in front, -before +after:\n%s", diff)
	}
	r.Budget = &prompt.Budget{Tokens: 1000} // no server keeps the beginning of so short a prompt
	if small := build(t, w.service(now), "u", r); strings.Contains(small.System, today) {
		t.Errorf("in front of a short prompt:\n%s", small.System)
	}
}

// TestWindowFillsUp has a chat of long messages that goes on after a pause. Each turn begins as the one before until
// the window moves, though the session's messages then take more than a quarter of the budget.
func TestWindowFillsUp(t *testing.T) {
	t.Parallel()
	w := newFixture()
	p, r := chat(w, 0)
	const long = 110 // tokens
	for i := range 40 {
		growBy(p, now.Add(-4*time.Hour+time.Duration(i)*minute), long)
	}
	before, begun := "", 0
	for turn := range 24 {
		at := now.Add(time.Duration(turn) * minute)
		built := build(t, w.service(at), "u", r)
		if recent := included(blockOf(t, built, "recent_messages")); recent > 4 {
			if begun++; !strings.HasPrefix(frontOf(built), before) {
				t.Errorf("turn %d, of %d messages:\n%s", turn, recent, cmp.Diff(before, frontOf(built)))
			}
		}
		before = frontOf(built)
		growBy(p, at, long)
	}
	if begun < 12 {
		t.Errorf("the window was not full in %d turns only", begun)
	}
}

// growBy adds an exchange of two long messages to the chat.
func growBy(p *person, at time.Time, tokens int) {
	grow(p, at)
	for i := range 2 {
		m := &p.messages[len(p.messages)-1-i]
		m.Content, m.Tokens = strings.Repeat(" word", tokens), tokens
	}
}
