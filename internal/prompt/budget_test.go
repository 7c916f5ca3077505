package prompt_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/prompt"
	"github.com/throughline/throughline/internal/prompt/pack"
	"github.com/throughline/throughline/internal/recall"
	"github.com/throughline/throughline/internal/testing/check"
)

// realTokens counts what a model is really sent, tools included.
func realTokens(p prompt.Prompt) int {
	if p.Text != "" {
		return tokens.Count(p.Text)
	}
	n := tokens.Count(p.System)
	for _, tool := range p.Tools {
		n += tokens.Count(fmt.Sprintf(`{"function":{"name":%q,"description":%q,"parameters":%s},"type":"function"}`,
			tool.Name, tool.Description, tool.Parameters))
	}
	for _, m := range p.Messages {
		n += tokens.Count(m.Content)
	}
	return n
}

// refusals counts the requests of a test and those that were refused. It is safe for concurrent use.
type refusals struct{ requests, refused atomic.Int64 }

// build builds a prompt. It fails unless the prompt is built or its required blocks exceed the budget; it reports
// which.
func (c *refusals) build(t failer, w *fixture, recipe prompt.Recipe, r prompt.Request) (prompt.Prompt, bool) {
	t.Helper()
	c.requests.Add(1)
	p, err := w.service(now).Build(context.Background(), "u", r)
	if err == nil {
		return p, true
	}
	if !fault.Is(err, fault.Invalid) {
		t.Fatalf("%s: %v", recipe.Name, err)
	}
	c.refused.Add(1)
	if need, budget := requiredTokens(t, w, recipe, r), budgetOf(recipe, r); need+maxJoints <= budget {
		t.Fatalf("%s: refused (%v), but the required blocks take %d of %d tokens", recipe.Name, err, need, budget)
	}
	return prompt.Prompt{}, false
}

// maxJoints is by how many tokens the required blocks may differ from one prompt to another, because the tokens at the
// joint of two blocks depend on both.
const maxJoints = 8

// requiredTokens counts the required blocks, which are the same with a budget that holds everything.
func requiredTokens(t failer, w *fixture, recipe prompt.Recipe, r prompt.Request) int {
	t.Helper()
	r.Budget = &prompt.Budget{Tokens: 1_000_000}
	p, err := w.service(now).Build(context.Background(), "u", r)
	if err != nil {
		t.Fatalf("%s: refused with a budget of %d tokens: %v", recipe.Name, r.Budget.Tokens, err)
	}
	need := 0
	for i, b := range p.Manifest.Blocks {
		required := func(s prompt.Slot) bool { return s.Block == p.Manifest.Blocks[i].Name && s.Required }
		if slices.ContainsFunc(recipe.Slots, required) {
			need += b.Tokens
		}
	}
	return need
}

// budgetOf is how many tokens a request leaves for the prompt, the current message included.
func budgetOf(recipe prompt.Recipe, r prompt.Request) int {
	if r.Budget != nil {
		return r.Budget.Tokens
	}
	budget := defaultTokens[recipe.Name]
	if recipe.MessageExcluded {
		budget += tokens.Count(r.Message)
	}
	return budget
}

// defaultTokens are the budgets of requests that name none.
var defaultTokens = map[string]int{
	prompt.Unified: 4000, prompt.WorkingContext: 4000, prompt.ContextFormat: 700, prompt.ContextFormat05: 700,
	prompt.TieredHistory: 30_000, prompt.BlockMap: 4000,
}

// check fails if most requests were refused, because the test then says little.
func (c *refusals) check(t failer) {
	t.Helper()
	if requests, refused := c.requests.Load(), c.refused.Load(); requests >= 20 && refused*2 > requests {
		t.Fatalf("%d of %d requests were refused", refused, requests)
	}
}

// The promise of every recipe: the real tokenizer never counts more than the total, the total never passes the budget,
// the blocks add up to it, each message and fact is in the prompt once, and the message is there, whole and last. Every
// text of the users is made of what could break a format, and the prompt still reads back as its manifest says.
func TestBudgetAndStructureHold(t *testing.T) {
	for _, recipe := range prompt.Recipes {
		t.Run(recipe.Name, func(t *testing.T) {
			var count refusals
			defer count.check(t)
			rapid.Check(t, func(t *rapid.T) {
				defer scope(drawStrategy(t))()
				w := newFixture()
				r := drawUser(t, w.user("u"))
				r.Recipe = recipe.Name
				if rapid.Bool().Draw(t, "own role") {
					r.SystemRole = drawText(t, "role", 20)
				}
				budget := rapid.SampledFrom([]string{"default", "small", "large", "large"}).Draw(t, "budget")
				switch budget {
				case "small":
					r.Budget = &prompt.Budget{Tokens: rapid.IntRange(prompt.MinBudget, 3000).Draw(t, "tokens")}
				case "large":
					r.Budget = &prompt.Budget{Tokens: rapid.IntRange(2000, 30_000).Draw(t, "tokens")}
				}
				p, built := count.build(t, w, recipe, r)
				if !built {
					return
				}
				checkPrompt(t, recipe, r, p)
				if budget == "large" { // so that no text is cut
					checkStructure(t, p, storedTexts(w.user("u"), r))
				}
			})
		})
	}
}

// TestEveryBudget tries budget after budget on blocks that end in texts whose ends can't be counted by themselves.
func TestEveryBudget(t *testing.T) {
	t.Parallel()
	for _, end := range []string{
		strings.Repeat("-", 200), strings.Repeat("!", 200), strings.Repeat("e\u0301", 100),
		strings.Repeat("दौड़", 40), strings.Repeat("😀", 60),
	} {
		w := newFixture()
		p := w.user("u")
		p.converse("s", "coach_conversation", "mia", now.Add(-10*minute), says(0, "Morning!"))
		for i, content := range []string{"Likes tea", "Has a dog", "Rows", "Swims", end} {
			p.snapshot.Memories = append(p.snapshot.Memories, longterm.Memory{
				ID: fmt.Sprint("m", i), Type: longterm.ProfileMemory, Content: content, Source: longterm.Seeded,
				CreatedAt: now.Add(-time.Duration(9-i) * time.Hour), Tokens: tokens.Count(content),
			})
			p.snapshot.Goals = append(p.snapshot.Goals,
				longterm.Goal{ID: fmt.Sprint("g", i), Title: content, Status: longterm.GoalActive, GoalType: longterm.Habit})
		}
		r := prompt.Request{Context: "coach_conversation", SessionID: "s", CoachID: "mia", Message: "ok", SkipSave: true}
		for budget := prompt.MinBudget; budget < 700; budget += 7 {
			r.Budget = &prompt.Budget{Tokens: budget}
			got := build(t, w.service(now), "u", r)
			if got.Tokens.Total > budget || realTokens(got) > got.Tokens.Total {
				t.Errorf("%.12q: %d of %d tokens, really %d", end, got.Tokens.Total, budget, realTokens(got))
			}
		}
	}
}

func checkPrompt(t *rapid.T, recipe prompt.Recipe, r prompt.Request, p prompt.Prompt) {
	real := realTokens(p)
	if real > p.Tokens.Total {
		t.Fatalf("%d real tokens, %d accounted\n%s", real, p.Tokens.Total, everything(p))
	}
	if waste := p.Tokens.Total - real; waste > 40+p.Tokens.Total/20 {
		t.Fatalf("%d tokens accounted, only %d real", p.Tokens.Total, real)
	}
	limit := p.Tokens.Budget
	if recipe.MessageExcluded && r.Budget == nil {
		limit += tokens.Count(r.Message) + 20
	}
	if p.Tokens.Total > limit {
		t.Fatalf("%d tokens of %d", p.Tokens.Total, limit)
	}
	if last := p.Messages[len(p.Messages)-1]; last.Content != r.Message || last.Role != "user" {
		t.Fatalf("the last message is %+v", last)
	}
	sum, seen := 0, map[string]string{}
	for _, b := range p.Manifest.Blocks {
		sum += b.Tokens
		items := 0
		for _, i := range b.Items {
			if i.Reason == "" || i.Decision == "" {
				t.Fatalf("%s has an item without a decision: %+v", b.Name, i)
			}
			items += i.Tokens
			if i.Decision == pack.Dropped || i.Kind != "message" && i.Kind != "memory" {
				continue
			}
			if by, twice := seen[i.ID]; twice {
				t.Fatalf("%s is in the prompt in %s and in %s", i.ID, by, b.Name)
			}
			seen[i.ID] = b.Name
		}
	}
	if sum != p.Tokens.Total {
		t.Fatalf("the blocks sum up to %d, the total is %d", sum, p.Tokens.Total)
	}
}

// The size warning of prompt-assembly-map: the system blocks past 80% of the budget are logged and in the manifest.
func TestSizeWarning(t *testing.T) {
	t.Parallel()
	w := newFixture()
	r := ann(t, w)
	var log bytes.Buffer
	deps := w.deps(now)
	deps.Log = slog.New(slog.NewTextHandler(&log, nil))
	s := prompt.New(deps)
	r.Budget = &prompt.Budget{Tokens: 2000}
	if p := build(t, s, "ann", r); len(p.Manifest.Warnings) != 0 || log.Len() > 0 {
		t.Errorf("warnings %q, log %s", p.Manifest.Warnings, &log)
	}
	r.Budget = &prompt.Budget{Tokens: 520}
	p := build(t, s, "ann", r)
	if len(p.Manifest.Warnings) != 1 || !strings.Contains(p.Manifest.Warnings[0], "80%") {
		t.Errorf("warnings %q", p.Manifest.Warnings)
	}
	if got := log.String(); !strings.Contains(got, "level=WARN") || !strings.Contains(got, "promptId="+p.ID) ||
		!strings.Contains(got, "80%") {
		t.Errorf("log %s", got)
	}
}

// TestHitsGrowWithTheBudget asks for more messages in a larger prompt, and for none where the recipe searches nothing.
func TestHitsGrowWithTheBudget(t *testing.T) {
	t.Parallel()
	for tokens, want := range map[int]int{1000: 84, 4000: 84, 6000: 142, 8000: 200, 100_000: 200} {
		w := newFixture()
		r := ann(t, w)
		r.Recipe, r.Budget = "unified", &prompt.Budget{Tokens: tokens}
		build(t, w.service(now), "ann", r)
		check.Equal(t, want, w.asked.Limit, "hits of a prompt of %d tokens", tokens)
		r.Recipe, w.asked = "tiered-history", recall.Search{}
		build(t, w.service(now), "ann", r)
		check.Equal(t, 0, w.asked.Limit, "hits of a recipe without a search, of %d tokens", tokens)
	}
}
