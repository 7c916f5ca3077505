// Package choose is the second step of a prompt: it chooses the candidates of each block from what was gathered, the
// most valuable first, and says why a candidate is left out. It knows neither budgets nor formats.
//
// To add a block, add its name to package block, its selector to selectors, and a slot to the recipes that have it.
package choose

import (
	"slices"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/prompt/block"
	"github.com/throughline/throughline/internal/prompt/gather"
	"github.com/throughline/throughline/internal/prompt/scoping"
	"github.com/throughline/throughline/internal/quote"
	"github.com/throughline/throughline/internal/summary"
)

// A Selector returns a block's candidates, the most valuable first. It also returns those that its cap or its rules
// leave out, each with the reason, for the manifest. It reads nothing: what was not gathered needs a source in package
// gather.
type Selector func(c *chooser, slot *Slot) []*Candidate

// selectors is the registry of blocks.
var selectors = map[string]Selector{
	block.Role:             chooseRole,
	block.Current:          chooseCurrent,
	block.Recent:           chooseRecent,
	block.Safety:           chooseSafety,
	block.Manner:           chooseManner,
	block.Now:              chooseNow,
	block.Foundation:       chooseFoundation,
	block.Activity:         chooseActivity,
	block.Loops:            chooseLoops,
	block.Goals:            chooseGoals,
	block.RelevantMemories: chooseRelevantMemories,
	block.RelevantMessages: chooseRelevantMessages,
	block.Timeline:         chooseTimeline,
	block.Thread:           chooseThread,
	block.Profile:          chooseProfile,
	block.Engagement:       chooseEngagement,
	block.UserSummary:      chooseUserSummary,
	block.Wins:             chooseWins,
	block.Spine:            chooseSpine,
	block.SessionSummary:   chooseSessionSummary,
	block.Seed:             chooseSeed,
	block.State:            chooseState,
	block.SessionSummaries: chooseSessionSummaries,
	block.Expertise:        chooseExpertise,
	block.Instruction:      chooseInstruction,
}

// A Condition decides by the request whether the prompt has a block.
type Condition func(c *chooser) bool

// Slot says how the candidates of one block are chosen.
type Slot struct {
	// Block names the block.
	Block string
	// Items limits the number of candidates, Chars the characters of each; 0 does not limit. NoEllipsis cuts a text at
	// Chars without a sign that it continues.
	Items, Chars int
	NoEllipsis   bool
	// FillRest is set if the block gets what the budget leaves in the end. Its selector may then defer candidates that it
	// would leave out.
	FillRest bool
	// Grouped puts each candidate into the frame of its conversation.
	Grouped bool
	// Select, if set, replaces the selector of the registry.
	Select Selector
	// When, if set, is the condition on which the prompt has the block.
	When Condition
}

// Plan says what the blocks of one prompt are chosen by.
type Plan struct {
	// Slots are the blocks, the most valuable first: it gets what two blocks could have.
	Slots []Slot
	// Recipe is the recipe's name. Role is the role text of requests without SystemRole; if both are empty, the coach's
	// persona is. Rules follow the role. Instruction is the last text.
	Recipe, SystemRole, Role, Rules, Instruction string
	// Modules are what the agent knows, Tools the definitions that the model is sent.
	Modules, Tools []Constant
	// IncludeEmail adds the e-mail address to the profile.
	IncludeEmail bool
	// Strategy and Scoping select the session's own messages. ScopedByRequest is set if the request names them.
	Strategy        scoping.Strategy
	Scoping         scoping.Config
	ScopedByRequest bool
	// StablePrefix marks the candidates that came up after the sitting began as fresh, and gives the others no label that
	// changes within the day. Continues is set if the prompt before this one of the session had a stable prefix, too: the
	// prompt is then packed in another order than that of value, so a message that two blocks could have is left to both.
	StablePrefix, Continues bool
	// Asks is set if the message asks for something that was said elsewhere.
	Asks bool
}

// Constant is a text that is the same in every prompt.
type Constant struct{ ID, Text string }

// Block is the candidates of one block.
type Block struct {
	Name string
	// Omitted is set if the slot's condition leaves the block out.
	Omitted bool
	// Candidates are the most valuable first.
	Candidates []*Candidate
}

// Blocks returns the candidates of the plan's blocks, in the plan's order.
func Blocks(src *gather.Sources, plan Plan) []Block {
	c := &chooser{Sources: src, Plan: plan, claims: make(map[dedupeKey]string, len(src.Timeline))}
	if c.StablePrefix {
		c.sittingBegan = src.History.SittingBegan()
	}
	c.newest, c.persons = newestSummaries(src), personsIn(src.Snapshot.Memories)
	blocks := make([]Block, len(plan.Slots))
	for i := range plan.Slots {
		slot := &plan.Slots[i]
		blocks[i].Name = slot.Block
		if blocks[i].Omitted = slot.When != nil && !slot.When(c); blocks[i].Omitted {
			continue
		}
		choose := slot.Select
		if choose == nil {
			choose = selectors[slot.Block]
		}
		blocks[i].Candidates = choose(c, slot)
		for _, e := range blocks[i].Candidates {
			if e.Kind == KindSummary {
				correctSummary(c, e)
			}
		}
	}
	return blocks
}

// chooser chooses the candidates of one prompt.
type chooser struct {
	*gather.Sources
	Plan
	// claims are the dedupe keys that blocks have taken.
	claims map[dedupeKey]string
	// safety are the facts that safety has, settled those of them that came up before the sitting began.
	safety, settled []quote.Statement
	// newest is the newest summary of each subject.
	newest map[summary.Subject]newestSummary
	// persons are whom memories are about, by the words of their names.
	persons map[string][]string
	// sittingBegan is when the sitting of the current message began.
	sittingBegan time.Time
}

// has reports whether the prompt has a block.
func (c *chooser) has(name string) bool {
	return slices.ContainsFunc(c.Slots, func(s Slot) bool { return s.Block == name })
}

// dedupeKey identifies what a prompt includes once. of is an id or normalized content of the kind.
type dedupeKey struct{ kind, of string }

// factKey is the key of a fact as it is told.
func factKey(told string) dedupeKey { return dedupeKey{"fact", longterm.Normalize(told)} }

func messageKey(id string) dedupeKey { return dedupeKey{KindMessage, id} }

func summaryKey(sessionID string) dedupeKey { return dedupeKey{"summary", sessionID} }

// claim gives a key to a block. If another block has it already, it returns that block and false.
func (c *chooser) claim(key dedupeKey, name string) (string, bool) {
	if by, taken := c.claims[key]; taken {
		return by, false
	}
	c.claims[key] = name
	return name, true
}

// claimCandidate claims a candidate's key for a block, unless it is left out already. It leaves the candidate out if
// another block has the key.
func (c *chooser) claimCandidate(e *Candidate, key dedupeKey, name string) *Candidate {
	if e.Left != "" {
		return e
	}
	if by, first := c.claim(key, name); !first {
		e.leave("repeats " + by)
	}
	return e
}

// scope returns the session's own messages that the strategy selects, and the text that replaces older ones.
func (c *chooser) scope() (chosen []*conversation.Message, older string) {
	config := c.Scoping
	config.Summary = c.Session.Summary
	return c.Strategy.Select(c.Own, config)
}

// isFresh reports whether a summary or a message of another session came up after the sitting began.
func (c *chooser) isFresh(at time.Time) bool { return c.StablePrefix && at.After(c.sittingBegan) }

// isFreshMessage reports whether a message is of another session, and was said after the sitting began.
func (c *chooser) isFreshMessage(sessionID string, at time.Time) bool {
	return sessionID != c.Session.ID && c.isFresh(at)
}
