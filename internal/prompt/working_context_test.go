package prompt_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/prompt"
	"github.com/throughline/throughline/internal/prompt/choose"
	"github.com/throughline/throughline/internal/registry"
	"github.com/throughline/throughline/internal/testing/check"
)

// talkative is a user with a session of n messages, and a request of an agent in it.
func talkative(w *fixture, n int, agent string) prompt.Request {
	var lines []line
	for i := range n {
		role := conversation.RoleUser
		if i%2 == 1 {
			role = conversation.RoleAssistant
		}
		lines = append(lines, line{time.Duration(i) * time.Second, role, fmt.Sprintf("message %d", i+1)})
	}
	w.user("u").converse("s", "coach_conversation", "c", now.Add(-time.Hour), lines...)
	return prompt.Request{
		Recipe: prompt.WorkingContext, Context: "coach_conversation", SessionID: "s", CoachID: "c", AgentID: agent,
		Message: "next",
	}
}

// AC 2: at most maxMessages messages, role and content only, by agent.
func TestAgentsSeeTheirLastMessages(t *testing.T) {
	t.Parallel()
	want := map[string]int{
		"coach": 10, "goalArchitect": 10, "patternAnalyst": 5, "motivator": 5,
		"accountabilityPartner": 10,
	}
	if len(want) != len(registry.Live().Agents) {
		t.Fatalf("%d agents", len(registry.Live().Agents))
	}
	for agent, n := range want {
		t.Run(agent, func(t *testing.T) {
			w := newFixture()
			p := build(t, w.service(now), "u", talkative(w, 30, agent))
			var got []string
			for _, m := range p.Messages {
				got = append(got, m.Content)
			}
			var last []string
			for i := 30 - n; i < 30; i++ {
				last = append(last, fmt.Sprintf("message %d", i+1))
			}
			check.Same(t, append(last, "next"), got, "the result")
		})
	}
}

// AC 4: base prompt, context injection, scoped messages, no tools. F1, F10 and F3 in their fixed form.
func TestWorkingContextInjection(t *testing.T) {
	t.Parallel()
	w := newFixture()
	r := talkative(w, 3, "coach")
	r.SystemRole = "You are the base prompt."
	p := w.user("u")
	p.snapshot.Profile = &longterm.Profile{Name: "Ann", Email: "ann@example.com"}
	for i := range 12 {
		p.snapshot.Goals = append(p.snapshot.Goals, longterm.Goal{
			ID: fmt.Sprint(i), Title: fmt.Sprintf("goal %02d", i), Status: longterm.GoalActive, GoalType: longterm.Habit,
			CreatedAt: now.Add(time.Duration(i-100) * time.Hour),
		})
	}
	p.snapshot.Goals = append(p.snapshot.Goals,
		longterm.Goal{ID: "odd", Title: "odd type", Status: longterm.GoalActive, GoalType: "wish", CreatedAt: now},
		longterm.Goal{
			ID: "done", Title: "done goal", Status: longterm.GoalCompleted, GoalType: longterm.Habit,
			CreatedAt: now,
		})
	got := build(t, w.service(now), "u", r)
	for _, want := range []string{
		"You are the base prompt.\n\n## User Context\n**Name:** Ann\n**Email:** ann@example.com\n\n## User's Active " +
			"Goals\n1. \"goal 02\" (habit)\n",
		"10. \"goal 11\" (habit)\n\n## Engagement\n**Status:** new user (first conversation)\n\n## Expertise\n",
	} {
		check.Contains(t, got.System, want, "the system prompt")
	}
	for _, not := range []string{"goal 01", "odd type", "done goal"} {
		if strings.Contains(got.System, not) {
			t.Errorf("the system prompt has %q", not)
		}
	}
	if got.Tools == nil || len(got.Tools) != 0 {
		t.Errorf("tools %v, want an empty list", got.Tools)
	}
}

// Without goals the specification's own words are used; where goals could not be read, nothing is claimed.
func TestNoGoalsIsNotUnknownGoals(t *testing.T) {
	t.Parallel()
	w := newFixture()
	r := talkative(w, 1, "coach")
	if p := build(t, w.service(now), "u", r); !strings.Contains(p.System, "## User's Active Goals\nNo active goals yet.") {
		t.Errorf("no goals: %s", p.System)
	}
	w.fail["long_term"] = errBroken
	if p := build(t, w.service(now), "u", r); strings.Contains(p.System, "No active goals") ||
		strings.Contains(p.System, "Engagement") {
		t.Errorf("unknown goals: %s", p.System)
	}
}

// F7: no profile is invented; the manifest says that it is missing. Only this recipe's specification takes a profile
// for granted, so a prompt of another recipe lacks nothing.
func TestMissingProfileIsNamed(t *testing.T) {
	t.Parallel()
	w := newFixture()
	p := build(t, w.service(now), "u", talkative(w, 1, "coach"))
	if strings.Contains(p.System, "User Context") || len(p.Manifest.Degraded) != 1 ||
		p.Manifest.Degraded[0].Reason != "profile missing" {
		t.Errorf("degraded %v, system %s", p.Manifest.Degraded, p.System)
	}
	for _, recipe := range prompt.Recipes {
		if recipe.NeedsProfile {
			continue
		}
		r := talkative(w, 1, "coach")
		r.Recipe = recipe.Name
		p := build(t, w.service(now), "u", r)
		if len(p.Manifest.Degraded) > 0 || strings.Contains(everything(p), "PROFILE") {
			t.Errorf("%s: degraded %v, %s", recipe.Name, p.Manifest.Degraded, everything(p))
		}
		for _, b := range p.Manifest.Blocks {
			if b.Name == "profile" && (len(b.Items) != 1 || b.Items[0].Reason != "the user has none" || b.Tokens != 0) {
				t.Errorf("%s: the manifest says %+v", recipe.Name, b)
			}
		}
	}
}

// AC 6, 7 and 8.
func TestEngagement(t *testing.T) {
	t.Parallel()
	day := 24 * time.Hour
	tests := map[string]struct {
		ago    time.Duration
		status string
		days   int
	}{
		"2 days":            {2 * day, "engaged", 2},
		"10 days":           {10 * day, "returning", 10},
		"just now":          {0, "engaged", 0},
		"the threshold":     {3*day + 23*time.Hour, "engaged", 3},
		"past it":           {4 * day, "returning", 4},
		"a clock that runs": {-time.Minute, "engaged", 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			at := now.Add(-tt.ago)
			e := choose.EngagementOf(&longterm.CheckIn{Timestamp: at}, now)
			if e.Status != tt.status || e.Days == nil || *e.Days != tt.days || !e.LastCheckInAt.Equal(at) {
				t.Errorf("%+v", e)
			}
		})
	}
	if e := choose.EngagementOf(nil, now); e.Status != "new" || e.Days != nil || !e.LastCheckInAt.IsZero() {
		t.Errorf("without a check-in: %+v", e)
	}
}

// AC 5 holds for an agent without a module; each of the five has its own.
func TestExpertise(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for _, agent := range registry.Live().Agents {
		w := newFixture()
		p := build(t, w.service(now), "u", talkative(w, 1, agent.ID))
		_, text, found := strings.Cut(p.System, "## Expertise\n")
		if !found || len(text) < 300 || seen[text] != "" {
			t.Errorf("%s: %d bytes of expertise, as %q has", agent.ID, len(text), seen[text])
		}
		seen[text] = agent.ID
	}
}

// TestOneLongMessage has a message that is longer than the budget, anywhere in the window and at small budgets. It is
// cut, and what is less valuable is told.
func TestOneLongMessage(t *testing.T) {
	t.Parallel()
	for _, budget := range []int{256, 400, 700, 4000} {
		for place := range 3 {
			w := newFixture()
			p := w.user("u")
			p.snapshot.Goals = []longterm.Goal{
				{ID: "g", Title: "Run far", Status: longterm.GoalActive, GoalType: longterm.Habit},
			}
			lines := []line{says(0, "first"), answers(minute, "second"), answers(2*minute, "third")}
			lines[place].text = strings.Repeat("All work and no play. ", 60_000/22)
			p.converse("s", "coach_conversation", "c", now.Add(-time.Hour), lines...)
			got := build(t, w.service(now), "u", prompt.Request{
				Recipe: prompt.WorkingContext, Context: "coach_conversation", SessionID: "s", CoachID: "c", Message: "what next?",
				Budget: &prompt.Budget{Tokens: budget}, SkipSave: true,
			})
			text := everything(got)
			for i, l := range lines {
				if i != place && !strings.Contains(text, l.text) {
					t.Errorf("%d tokens: %q is not in the prompt beside a long message in place %d", budget, l.text, place)
				}
			}
			if !strings.Contains(text, "All work") || budget > 256 && !strings.Contains(text, "Run far") {
				t.Errorf("%d tokens, place %d: %s", budget, place, text)
			}
		}
	}
}
