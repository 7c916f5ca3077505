package prompt_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/prompt"
	"github.com/throughline/throughline/internal/recall"
	"github.com/throughline/throughline/internal/testing/check"
)

// abundant is a user with more of everything than the caps of the recipe unified allow.
func abundant(w *fixture) prompt.Request {
	p := w.user("u")
	long := strings.Repeat("long words of many kinds ", 100)
	for i := range 12 {
		s := p.converse(fmt.Sprint("log", i), "workout_log", "c", now.Add(-time.Duration(i+40)*time.Hour),
			says(0, fmt.Sprint("log ", i)))
		summarize(s, fmt.Sprint("Logged session ", i, "."))
	}
	for i := range 10 { // a day each, from yesterday on
		s := p.converse(fmt.Sprint("day", i), "coach_conversation", "c", now.Add(-time.Duration(i+1)*24*time.Hour),
			says(0, fmt.Sprint("day ", i)))
		summarize(s, fmt.Sprint(long, "day ", i))
	}
	p.converse("here", "coach_conversation", "c", now.Add(-20*minute),
		slices.Repeat([]line{says(0, long), answers(time.Second, "Good.")}, 10)...)
	p.snapshot.Spines = map[string]longterm.Spine{"c": {CoachID: "c", Text: long}}
	p.snapshot.Seed = &longterm.Seed{Content: long}
	for i := range 40 {
		at := now.Add(-time.Duration(i) * time.Minute)
		kind := []longterm.MemoryType{longterm.ProfileMemory, longterm.PeopleMemory, longterm.ProjectMemory}[i%3]
		p.snapshot.Memories = append(p.snapshot.Memories,
			longterm.Memory{
				ID: fmt.Sprint("m", i), Type: kind, Content: fmt.Sprint("memory ", i), CreatedAt: at,
				Source: longterm.Seeded,
			},
			longterm.Memory{ID: fmt.Sprint("p", i), Type: kind, Content: fmt.Sprint("pinned ", i), CreatedAt: at, Pinned: true})
		found := longterm.Memory{ID: fmt.Sprint("f", i), Type: kind, Content: fmt.Sprint("found ", i), CreatedAt: at}
		p.hits = append(p.hits, recall.Hit{ID: found.ID, Memory: &found, Score: 0.9 - float64(i)/100})
		p.snapshot.Goals = append(p.snapshot.Goals, longterm.Goal{
			ID: fmt.Sprint("g", i), Title: fmt.Sprint("goal ", i),
			Status: longterm.GoalActive, GoalType: longterm.Habit, CreatedAt: at,
		})
		p.snapshot.Todos = append(p.snapshot.Todos,
			longterm.Todo{
				ID: fmt.Sprint("t", i), CoachID: "c", Content: fmt.Sprint("todo ", i/2), Status: longterm.Pending,
				CreatedAt: at,
			},
			longterm.Todo{
				ID: fmt.Sprint("w", i), CoachID: "c", Content: fmt.Sprint("win ", i), Status: longterm.TodoCompleted,
				CompletedAt: at.Add(-47 * time.Hour),
			})
		check := longterm.CheckIn{ID: fmt.Sprint("c", i), Timestamp: at, Note: fmt.Sprint("note ", i)}
		p.hits = append(p.hits, recall.Hit{ID: check.ID, CheckIn: &check, Score: 0.9 - float64(i)/100})
	}
	return prompt.Request{
		Context: "coach_conversation", SessionID: "here", CoachID: "c", Message: "next",
		Budget: &prompt.Budget{Tokens: 60_000},
	}
}

// The caps of the recipe unified: how many items each block has when the budget is large enough, and how long they are.
func TestUnifiedTable(t *testing.T) {
	t.Parallel()
	agents := map[string]int{ // of 10 and of 5, less what a step of the window leaves out
		"coach": 4, "goalArchitect": 4, "patternAnalyst": 4, "motivator": 4, "accountabilityPartner": 4,
	}
	for agent, messages := range agents {
		w := newFixture()
		r := abundant(w)
		r.AgentID = agent
		p := build(t, w.service(now), "u", r)
		want := map[string]int{
			"role": 2, "current_message": 1, "recent_messages": messages, "safety": 40, "now": 1, "foundation_memories": 12,
			"recent_activity": 5,
			"open_loops":      5, "goals": 10, "relevant_memories": 8, "relevant_messages": 40, "wins": 3,
			"spine":           1,
			"session_summary": 1, "seed": 1, "thread_history": 20 - messages,
			"session_summaries": 6 + 7, // of the coach from two to seven days ago, and of the log what activity leaves
		}
		got := map[string]int{}
		for _, b := range p.Manifest.Blocks {
			b.Items = slices.DeleteFunc(b.Items, func(i prompt.Item) bool {
				return i.Kind == "memory" && i.Reason == "the budget left room for it"
			})
			if n := included(b); n > 0 {
				got[b.Name] = n
			}
		}
		check.Same(t, want, got, "%s", agent)
	}
	w := newFixture()
	p := build(t, w.service(now), "u", abundant(w))
	for heading, chars := range map[string]int{
		"# YOUR STORY WITH THE USER SO FAR\n": 1200, "# NOTE ABOUT THE USER\n": 800,
		"# SESSION SUMMARY\n[Coach - yesterday]: ": 600,
	} {
		if got := len([]rune(sectionOf(systemText(p), heading))); got > chars || got < chars-5 {
			t.Errorf("%s has %d characters", heading, got)
		}
	}
	if rules := blockOf(t, p, "role").Items[1]; rules.Kind != "rules" || rules.Tokens > 150 {
		t.Errorf("our own words about the role: %+v", rules)
	}
	if got := len([]rune(p.Messages[0].Content)); got > 800 || got < 795 {
		t.Errorf("a recent message has %d characters", got)
	}
}
