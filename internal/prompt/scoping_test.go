package prompt_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/prompt"
	"github.com/throughline/throughline/internal/prompt/gather"
	"github.com/throughline/throughline/internal/prompt/scoping"
	"github.com/throughline/throughline/internal/registry"
	"github.com/throughline/throughline/internal/testing/check"
)

// scope makes every recipe use a strategy until the returned function is called. Its tests do not run in parallel.
func scope(strategy string) (restore func()) {
	before := prompt.Recipes
	prompt.Recipes = slices.Clone(before)
	for i := range prompt.Recipes {
		prompt.Recipes[i].Scoping = strategy
	}
	return func() { prompt.Recipes = before }
}

func drawStrategy(t *rapid.T) string {
	return rapid.SampledFrom([]string{scoping.LastN, scoping.TokenWindow, scoping.Compaction}).Draw(t, "strategy")
}

// With compaction in its entry, a recipe has the session's summary for what it covers, and no message falls
// into the gap between the two, as far back as twice the agent's messages. (unified has its transcripts for both.)
func TestRecipesWithCompaction(t *testing.T) {
	defer scope(scoping.Compaction)()
	for recipe, summary := range map[string]func(prompt.Prompt) string{
		prompt.WorkingContext: func(p prompt.Prompt) string {
			return sectionOf(systemText(p),
				"## Earlier In This Conversation\n")
		},
		prompt.BlockMap: func(p prompt.Prompt) string {
			return strings.Join(systemBlock(t, p,
				"LATEST SESSION SUMMARY: "), "\n")
		},
	} {
		for covered, first := range map[int]int{22: 23, 28: 26, 5: 20} {
			w := newFixture()
			r := talkative(w, 30, "motivator")
			r.Recipe = recipe
			summarize(&w.user("u").sessions[0], "They compared bands.").Summary.CoveredThrough = covered
			w.timelineLag = 1 // so that the messages come from the tail, of which no more is read than is needed
			p := build(t, w.service(now), "u", r)
			if got := ownMessages(p); got[0] != fmt.Sprintf("message %d", max(first, 20)) || got[len(got)-1] != "next" {
				t.Errorf("%s, %d covered: has %q", recipe, covered, got)
			}
			check.Equal(t, "They compared bands.", summary(p), "%s, %d covered: the older messages read as", recipe, covered)
		}
	}
}

// With a token window in its entry, a recipe has as many of the last messages as half of the budget holds, at most
// 50, also to a request that names only their number.
func TestRecipesWithTokenWindow(t *testing.T) {
	defer scope(scoping.TokenWindow)()
	fifty := 50
	for _, recipe := range []string{prompt.WorkingContext, prompt.Unified, prompt.BlockMap} {
		for budget, size := range map[int]int{400: 10, 4000: 50} {
			for _, scoping := range []*prompt.Scoping{nil, {MaxMessages: &fifty}} {
				w := newFixture()
				r := talkative(w, 80, "motivator")
				for i := range w.user("u").messages {
					w.user("u").messages[i].Tokens = 20
				}
				w.timelineLag = 1 // so that the messages come from the tail
				r.Recipe, r.Scoping, r.Budget = recipe, scoping, &prompt.Budget{Tokens: budget}
				p := build(t, w.service(now), "u", r)
				if got := ownMessages(p); len(got) != size+1 || got[0] != fmt.Sprintf("message %d", 81-size) {
					t.Errorf("%s, budget %d, scoping %+v: has %q", recipe, budget, scoping, got)
				}
			}
		}
	}
}

// An agent sees what its filter lets through, as many messages as it may, however far apart they are.
func TestAgentsFilterWhatIsRelevant(t *testing.T) {
	app := *registry.Live()
	app.Agents = append(slices.Clone(app.Agents), registry.Agent{ID: "listener", Messages: 4, Hears: []string{"user"}})
	registry.Use(&app)
	t.Cleanup(func() { registry.Use(nil) })
	w := newFixture()
	r := talkative(w, 30, "listener")
	w.timelineLag = 1 // so that the messages come from the tail
	p := build(t, w.service(now), "u", r)
	want := []string{"message 23", "message 25", "message 27", "message 29", "next"}
	check.Same(t, want, ownMessages(p), "the listener hears")
}

// scoped builds a prompt of a session of n messages with a request's scoping. Every third message is the motivator's.
func scoped(t *testing.T, n int, recipe string, s prompt.Scoping, lag int) prompt.Prompt {
	t.Helper()
	w := newFixture()
	r := talkative(w, n, "motivator")
	p := w.user("u")
	for i := range p.messages {
		if i%3 == 0 {
			p.messages[i].AgentID = "motivator"
		}
	}
	summarize(&p.sessions[0], "They compared bands.").Summary.CoveredThrough = n / 2
	w.timelineLag = lag
	r.Recipe, r.Scoping, r.Budget = recipe, &s, &prompt.Budget{Tokens: 30_000}
	return build(t, w.service(now), "u", r)
}

// shownNumbers are the numbers of the session's messages that a prompt has as role messages.
func shownNumbers(t *testing.T, p prompt.Prompt) []int {
	t.Helper()
	var numbers []int
	for _, content := range ownMessages(p)[:len(ownMessages(p))-1] {
		var n int
		if _, err := fmt.Sscanf(content, "message %d", &n); err != nil {
			t.Fatalf("%q: %v", content, err)
		}
		numbers = append(numbers, n)
	}
	return numbers
}

// A request scopes the session's messages for its call, with each strategy, in each recipe that has recent messages.
func TestRequestsScopeTheirMessages(t *testing.T) {
	t.Parallel()
	type of = prompt.Scoping
	motivator := []string{"motivator"}
	for name, tt := range map[string]struct {
		scoping     of
		first, size int
		step        int
		older       bool
	}{
		"maxMessages":                {of{MaxMessages: new(200)}, 201, 200, 1, false},
		"one message":                {of{MaxMessages: new(1)}, 400, 1, 1, false},
		"the agent's own number":     {of{Strategy: scoping.LastN}, 396, 5, 1, false},
		"a token window":             {of{Strategy: scoping.TokenWindow}, 351, 50, 1, false},
		"a window of a number":       {of{Strategy: scoping.TokenWindow, MaxMessages: new(120)}, 281, 120, 1, false},
		"compaction":                 {of{Strategy: scoping.Compaction, MaxMessages: new(150)}, 201, 200, 1, true},
		"an agent":                   {of{MaxMessages: new(30), AgentIDs: motivator}, 313, 30, 3, false},
		"an agent in a window":       {of{Strategy: scoping.TokenWindow, AgentIDs: motivator}, 253, 50, 3, false},
		"an agent's whole share":     {of{MaxMessages: new(200), AgentIDs: motivator}, 1, 134, 3, false},
		"an agent that said nothing": {of{AgentIDs: []string{"goalArchitect"}}, 0, 0, 1, false},
	} {
		for _, recipe := range []string{prompt.WorkingContext, prompt.Unified, prompt.BlockMap} {
			for _, lag := range []int{0, 1} {
				p := scoped(t, 400, recipe, tt.scoping, lag)
				var want []int
				for i := range tt.size {
					want = append(want, tt.first+i*tt.step)
				}
				if recipe == prompt.Unified && name == "the agent's own number" {
					want = want[1:] // its window begins after a multiple of four
				}
				if got := shownNumbers(t, p); !slices.Equal(got, want) {
					t.Errorf("%s, %s, lag %d: %d messages %v, want %v", name, recipe, lag, len(got), got, want)
				}
				older := strings.Contains(systemText(p), "## Earlier In This Conversation\nThey compared bands.")
				if recipe == prompt.WorkingContext && older != tt.older {
					t.Errorf("%s: the summary replaces the older messages: %v", name, older)
				}
			}
		}
	}
}

// A message without an agent is the default agent's.
func TestMessagesWithoutAnAgentAreTheCoachs(t *testing.T) {
	t.Parallel()
	p := scoped(t, 12, prompt.WorkingContext, prompt.Scoping{AgentIDs: []string{prompt.DefaultAgent()}}, 0)
	check.Same(t, []int{6, 8, 9, 11, 12}, shownNumbers(t, p), "has")
}

// context-format has the last exchanges of the scoped messages.
func TestExchangesAreScoped(t *testing.T) {
	t.Parallel()
	p := scoped(t, 12, prompt.ContextFormat, prompt.Scoping{MaxMessages: new(1)}, 0)
	check.Contains(t, p.Text, "RECENT CONVERSATION:\nAssistant: message 12\n\nCURRENT", "text")
}

// The filter looks through a bounded number of messages, and the manifest says when that ended it.
func TestFilterIsBounded(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]int{gather.MaxFiltered: 0, gather.MaxFiltered + 1: 1} {
		w := newFixture()
		r := talkative(w, n, "coach")
		w.user("u").messages[0].AgentID = "motivator"
		r.Scoping = &prompt.Scoping{AgentIDs: []string{"motivator"}}
		p := build(t, w.service(now), "u", r)
		if len(p.Manifest.Warnings) != want || len(ownMessages(p)) != 2-want {
			t.Errorf("%d messages: warnings %q, has %q", n, p.Manifest.Warnings, ownMessages(p))
		}
	}
}

// A scoping that names what there is not is refused, with the values that are allowed.
func TestScopingIsChecked(t *testing.T) {
	t.Parallel()
	w := newFixture()
	for want, s := range map[string]prompt.Scoping{
		"scoping.strategy must be one of last-n, token-window, compaction": {Strategy: "first-n"},
		"scoping.maxMessages must be from 1 to 200":                        {MaxMessages: new(0)},
		"scoping.agentIds must name at least one agent":                    {AgentIDs: []string{}},
		"scoping.agentIds[1] must be one of coach, goalArchitect, patternAnalyst, motivator, accountabilityPartner": {
			AgentIDs: []string{"coach", "x"},
		},
		"scoping.agentIds[0] must be one of coach, goalArchitect, patternAnalyst, motivator, accountabilityPartner": {
			AgentIDs: []string{""},
		},
	} {
		r := talkative(w, 1, "coach")
		r.Scoping = &s
		_, err := w.service(now).Build(t.Context(), "u", r)
		fields := fault.From(err).Fields
		if len(fields) != 1 || fields[0].Field+" "+fields[0].Message != want {
			t.Errorf("%+v, want %q", fields, want)
		}
	}
}

// ownMessages are the contents of a prompt's user and assistant messages.
func ownMessages(p prompt.Prompt) []string {
	var contents []string
	for _, m := range p.Messages {
		if m.Role != "system" {
			contents = append(contents, m.Content)
		}
	}
	return contents
}

// sectionOf is what is under a heading, up to the next blank line.
func sectionOf(system, heading string) string {
	_, text, _ := strings.Cut(system, heading)
	text, _, _ = strings.Cut(text, "\n\n")
	return text
}
