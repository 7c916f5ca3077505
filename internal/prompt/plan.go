package prompt

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/prompt/block"
	"github.com/throughline/throughline/internal/prompt/choose"
	"github.com/throughline/throughline/internal/prompt/gather"
	"github.com/throughline/throughline/internal/prompt/pack"
	"github.com/throughline/throughline/internal/prompt/render"
	"github.com/throughline/throughline/internal/prompt/scoping"
)

// Each step gets the part of the recipe and the request that it knows.

// gatherPlan says what is read.
func (o checkedRequest) gatherPlan(user conversation.UserID, now time.Time) gather.Plan {
	reads := o.recipe.Reads
	thread, hasThread := o.recipe.slot(block.Thread)
	plan := gather.Plan{
		User: user, Context: o.Context, SessionID: o.SessionID, CoachID: o.CoachID, AppContext: o.appContext,
		Message: o.Message, MessageID: o.MessageID, Zone: o.zone, Now: now,
		Messages: reads.Messages, Sessions: reads.Sessions, Hits: o.recipe.hits(o.budget), Records: reads.records(),
		Strategy: o.strategy(), Scoping: o.scopingConfig(),
		Thread: o.recipe.has(block.Now), Transcripts: hasThread,
		Activity: o.recipe.has(block.Activity), Latest: o.recipe.has(block.SessionSummary),
		Elsewhere: o.recipe.has(block.RelevantMessages),
		MaxTokens: o.budget.Tokens, MaxChars: o.budget.Chars, MessageChars: thread.Cap.Chars,
	}
	if o.Ahead != nil {
		plan.Embedding = o.Ahead.Embedding
		plan.Assumed = &longterm.Access{Preferences: longterm.DefaultPreferences(), Generation: o.Ahead.Generation}
	}
	return plan
}

// choosePlan says what the candidates are chosen by.
func (o checkedRequest) choosePlan(previous pack.Previous) choose.Plan {
	plan := choose.Plan{
		Recipe: o.recipe.Name, SystemRole: o.SystemRole, Role: o.recipe.Role, Rules: o.recipe.Rules,
		Instruction: o.recipe.Instruction, IncludeEmail: o.recipe.IncludeEmail,
		Strategy: o.strategy(), Scoping: o.scopingConfig(), ScopedByRequest: o.Scoping != nil,
		StablePrefix: o.recipe.StablePrefix, Continues: previous.Continues, Asks: previous.Asks,
		Slots: make([]choose.Slot, len(o.recipe.Slots)),
	}
	for _, m := range o.agent.Modules {
		plan.Modules = append(plan.Modules, choose.Constant{ID: m.Name, Text: m.Text})
	}
	for _, name := range o.toolNames() {
		plan.Tools = append(plan.Tools, sentTools[name])
	}
	for i, s := range o.recipe.Slots {
		plan.Slots[i] = choose.Slot{
			Block: s.Block, Items: s.Cap.Items, Chars: s.Cap.Chars, NoEllipsis: s.Cap.NoEllipsis,
			FillRest: s.Cap.FillRest, Grouped: s.Grouped, Select: s.Select, When: s.When,
		}
	}
	return plan
}

// packPlan says within what the candidates are packed, and in what order they are written.
func (o checkedRequest) packPlan(previous pack.Previous) pack.Plan {
	plan := pack.Plan{
		Order: o.recipe.Order, Budget: o.budget, MessageExcluded: o.recipe.MessageExcluded, Previous: previous,
		Standing: o.recipe.Standing, Slots: make([]pack.Slot, len(o.recipe.Slots)),
	}
	for i, s := range o.recipe.Slots {
		plan.Slots[i] = pack.Slot{
			Block: s.Block, Required: s.Required, Protected: s.Protected, Standing: s.Standing, Relevant: s.Relevant,
			Tokens: s.Cap.Tokens, Percent: s.Cap.Percent, FillRest: s.Cap.FillRest, Shorten: s.Cap.Shorten,
		}
	}
	return plan
}

// renderSlots says how the blocks are written.
func (r Recipe) renderSlots() []render.Slot {
	slots := make([]render.Slot, len(r.Slots))
	for i, s := range r.Slots {
		slots[i] = render.Slot{Block: s.Block, Style: s.Style, Heading: s.Heading, Empty: s.Empty, Ending: s.Ending}
	}
	return slots
}

// strategy returns the strategy that the request names, else the recipe's.
func (o checkedRequest) strategy() scoping.Strategy {
	name := o.recipe.Scoping
	if o.Scoping != nil {
		name = cmp.Or(o.Scoping.Strategy, name)
	}
	s, ok := scoping.Find(name)
	if !ok {
		panic(fmt.Sprintf("recipe %s: no scoping strategy %q", o.recipe.Name, name)) // a mistake in the program
	}
	return s
}

// scopingConfig is what the strategy selects by: the agent's configuration, in which the request replaces what it
// names.
func (o checkedRequest) scopingConfig() scoping.Config {
	c := scoping.Config{
		MaxMessages: o.agent.Messages, MaxTokens: o.budget.Tokens / 2, WindowMessages: scoping.WindowMessages,
		Relevant: isHeard(o.agent),
	}
	if o.recipe.StablePrefix && (o.Scoping == nil || o.Scoping.MaxMessages == nil) {
		c.Step = scoping.Step(c.MaxMessages)
	}
	if o.Scoping == nil {
		return c
	}
	if n := o.Scoping.MaxMessages; n != nil {
		c.MaxMessages, c.WindowMessages = *n, *n
	}
	if agents := o.Scoping.AgentIDs; agents != nil {
		c.Relevant = func(m *conversation.Message) bool {
			return slices.Contains(agents, cmp.Or(m.AgentID, DefaultAgent()))
		}
	}
	return c
}
