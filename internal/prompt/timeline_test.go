package prompt_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/longterm"
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

// TestTimeline tells one line of each conversation that the search found, the oldest first, in the whole room. Of a
// small budget it has its share. What does not fit are the conversations that touch the topic least.
func TestTimeline(t *testing.T) {
	t.Parallel()
	w := newFixture()
	r := toldAbout(w, 12)
	p := build(t, w.service(now), "u", r)
	_, text, _ := strings.Cut(systemText(p), "# THE TOPIC OVER TIME\n")
	text, _, _ = strings.Cut(text, "\n\n")
	lines := strings.Split(text, "\n")[1:]
	if len(lines) != 12 {
		t.Fatalf("%d lines:\n%s", len(lines), text)
	}
	for i, line := range lines {
		n := i
		of := []string{"Coach", "Workout Log"}[n%2]
		day := now.AddDate(0, 0, 7*(n-12)).Format("2 January 2006")
		want := fmt.Sprintf("[%s, %s, user]: Kayak trip number %d.", day, of, n)
		if !strings.HasPrefix(line, want) || len(line) > 260 {
			t.Errorf("line %d is %q, want %q", i, line, want)
		}
	}
	b := blockOf(t, p, "timeline")
	if b.Cacheable || !strings.Contains(b.Items[0].Reason, "cut to 160") {
		t.Errorf("%d tokens, cacheable %v, because %q", b.Tokens, b.Cacheable, b.Items[0].Reason)
	}
	if m := blockOf(t, p, "relevant_messages"); len(m.Items) != 12 {
		t.Errorf("beside it are %d messages of 12", len(m.Items))
	}
	r.Budget = &prompt.Budget{Tokens: 1600}
	p = build(t, w.service(now), "u", r)
	text = systemText(p)
	if blockOf(t, p, "timeline").Tokens > 240 || !strings.Contains(text, "user]: Kayak trip number 11.") ||
		strings.Contains(text, "user]: Kayak trip number 0.") {
		t.Errorf("of 1,600 tokens:\n%s", text)
	}
}

// TestTimelineOfTheUser has conversations whose likeliest message is the assistant's praise, and many that only share a
// word with the question: the lines are what the user said, of the conversations that are not far less likely.
func TestTimelineOfTheUser(t *testing.T) {
	t.Parallel()
	w := newFixture()
	p := w.user("u")
	for i := range 8 {
		at := now.AddDate(0, 0, i-9)
		p.converse(fmt.Sprint("talk", i), "coach_conversation", "c", at,
			says(0, fmt.Sprintf("Kayak trip number %d.", i)), answers(0, "Well done, a kayak trip!"))
	}
	for i := range p.messages {
		m := &p.messages[i]
		h := recall.Hit{ID: m.ID, Score: 0.3, Message: m}
		if m.Role == "user" {
			h.Score = 0.2
		}
		if i >= 10 {
			h.Score /= 100
		}
		p.hits = append(p.hits, h)
	}
	p.converse("new", "program_designer", "c", now.Add(-time.Minute))
	text := systemText(build(t, w.service(now), "u", prompt.Request{
		Context: "program_designer", SessionID: "new", CoachID: "c", Message: "In what order did my kayak trips go?",
	}))
	_, text, _ = strings.Cut(text, "# THE TOPIC OVER TIME\n")
	text, _, _ = strings.Cut(text, "\n\n")
	if strings.Count(text, "user]: Kayak trip") != 5 || strings.Contains(text, "assistant]") {
		t.Errorf("the timeline:\n%s", text)
	}
}

// TestLongLoops has promises of 2,000 characters each. In a new session and in a chat they leave the room to what was
// found.
func TestLongLoops(t *testing.T) {
	t.Parallel()
	for _, turns := range []int{0, 12} {
		for _, budget := range []int{1500, 2000, 4000} {
			w := newFixture()
			r := toldAbout(w, 40)
			if turns > 0 {
				_, r = chat(w, turns)
			}
			p := w.user("u")
			for i := range 7 {
				p.snapshot.Todos = append(p.snapshot.Todos, longterm.Todo{
					ID: fmt.Sprint("t", i), Status: longterm.Pending, CreatedAt: now.Add(time.Duration(-i) * time.Hour),
					Content: fmt.Sprint("Promise ", i, strings.Repeat(" and another thing to do", 80)), CoachID: r.CoachID,
				})
			}
			r.Message, r.Budget = "Where did I write of kayak trips?", &prompt.Budget{Tokens: budget}
			built := build(t, w.service(now), "u", r)
			loops, found := blockOf(t, built, "open_loops").Tokens, blockOf(t, built, "relevant_messages").Tokens
			if loops > budget/10 || budget >= 2000 && loops == 0 || found < budget/5 {
				t.Errorf("%d turns, %d tokens: %d for loops, %d for what was found", turns, budget, loops, found)
			}
		}
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
