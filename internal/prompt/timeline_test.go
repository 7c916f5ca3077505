package prompt_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/prompt"
	"github.com/throughline/throughline/internal/recall"
)

// toldAbout is a user who has spoken of a topic in n conversations, a week apart, the oldest first. The search finds
// one message of each, the oldest as the least likely one.
func toldAbout(w *fixture, n int) prompt.Request {
	p := w.user("u")
	for i := range n {
		at := now.AddDate(0, 0, 7*(i-n))
		in := []string{"coach_conversation", "workout_log"}[i%2]
		s := p.converse(fmt.Sprint("talk", i), in, "c", at)
		p.say(s, at, fmt.Sprintf("Kayak trip number %d. %s", i, strings.Repeat("The river was high. ", 30)))
	}
	for i := range p.messages {
		m := &p.messages[i]
		p.hits = append(p.hits, recall.Hit{ID: m.ID, Score: float64(i+1) / 100, Message: m})
	}
	p.converse("new", "program_designer", "c", now.Add(-time.Minute))
	return prompt.Request{
		Context: "program_designer", SessionID: "new", CoachID: "c", Message: "In what order did my kayak trips go?",
		SkipSave: true,
	}
}

// TestTimeline tells one line of each conversation that touches the topic, the oldest first, within its share of the
// budget. What does not fit are the conversations that touch it least.
func TestTimeline(t *testing.T) {
	t.Parallel()
	w := newFixture()
	r := toldAbout(w, 12)
	p := build(t, w.service(now), "u", r)
	_, text, _ := strings.Cut(systemText(p), "# THE TOPIC OVER TIME\n")
	text, _, _ = strings.Cut(text, "\n\n")
	lines := strings.Split(text, "\n")[1:]
	if len(lines) < 8 || len(lines) > 12 {
		t.Fatalf("%d lines:\n%s", len(lines), text)
	}
	for i, line := range lines {
		n := 12 - len(lines) + i
		of := []string{"Coach", "Workout Log"}[n%2]
		day := now.AddDate(0, 0, 7*(n-12)).Format("2 January 2006")
		want := fmt.Sprintf("[%s, %s, user]: Kayak trip number %d.", day, of, n)
		if !strings.HasPrefix(line, want) || len(line) > 260 {
			t.Errorf("line %d is %q, want %q", i, line, want)
		}
	}
	b := blockOf(t, p, "timeline")
	if b.Tokens > 600 || b.Cacheable || !strings.Contains(b.Items[0].Reason, "cut to 160") {
		t.Errorf("%d tokens, cacheable %v, because %q", b.Tokens, b.Cacheable, b.Items[0].Reason)
	}
	if m := blockOf(t, p, "relevant_messages"); len(m.Items) != 12 {
		t.Errorf("beside it are %d messages of 12", len(m.Items))
	}
}

// TestOverviewInAChat gives a message that asks for an overview the room that a cache would have.
func TestOverviewInAChat(t *testing.T) {
	t.Parallel()
	w := newFixture()
	_, r := chat(w, 12)
	toldAbout(w, 40)
	for i, p := 0, w.user("u"); i < len(p.hits); i++ { // none is likely enough to ask by itself
		p.hits[i].Score = 0.05
	}
	r.Message = "List all my kayak trips."
	asked := build(t, w.service(now), "u", r)
	r.Message = "The kayak trips went well."
	told := build(t, w.service(now), "u", r)
	if asked.Tokens.Total < told.Tokens.Total+500 {
		t.Errorf("%d tokens for the overview, %d without it", asked.Tokens.Total, told.Tokens.Total)
	}
}
