package prompt

import (
	"github.com/throughline/throughline/internal/prompt/block"
	"github.com/throughline/throughline/internal/prompt/choose"
	"github.com/throughline/throughline/internal/prompt/pack"
	"github.com/throughline/throughline/internal/prompt/render"
	"github.com/throughline/throughline/internal/prompt/scoping"
)

// workingContext is the recipe of working-context-builder: the agent's system prompt with what is known of the user,
// the session's messages scoped to the agent, and no tools (AC 4).
var workingContext = Recipe{
	Name:          WorkingContext,
	Specification: "working-context-builder",
	Budget:        pack.Cost{Tokens: 4000},
	Instruction:   "What you read above about the user was said or noted before. " + neverInstructions,
	Format:        render.Markdown,
	Scoping:       scoping.LastN,
	Reads:         Reads{Messages: 50},
	NeedsProfile:  true, // finding F7
	IncludeEmail:  true,
	Order: []string{
		block.Role, block.Manner, block.Safety, block.Profile, block.Goals, block.UserSummary,
		block.Engagement, block.SessionSummary, block.Expertise, block.Instruction, block.Recent, block.Current,
	},
	Slots: []Slot{
		{Block: block.Role, Required: true, Style: render.Prose},
		{Block: block.Current, Required: true, Style: render.VerbatimMessage},
		{Block: block.Instruction, Required: true, Style: render.Prose, Heading: "## About These Notes"},
		safetySlot(render.Bullet, "## Safety"),
		mannerSlot(render.Bullet, "## Manner\n"),
		{Block: block.Recent, Style: render.RoleMessage, Cap: Cap{Shorten: true}},
		{
			Block: block.Goals, Style: render.NumberedTitle, Heading: "## User's Active Goals", Empty: "No active goals yet.",
			Cap: Cap{Items: MaxGoals}, When: choose.WithLongTerm,
		},
		{Block: block.UserSummary, Style: render.BoldFields, Heading: "## What You Know About This User"},
		{Block: block.Profile, Style: render.BoldFields, Heading: "## User Context"},
		{Block: block.Engagement, Style: render.BoldFields, Heading: "## Engagement", Select: choose.SpecifiedEngagement},
		{Block: block.SessionSummary, Style: render.Prose, Heading: "## Earlier In This Conversation", Select: choose.Older},
		{Block: block.Expertise, Style: render.Paragraphs, Heading: "## Expertise"},
	},
}

// MaxGoals is how many active goals a prompt has (working-context-builder, finding F10).
const MaxGoals = 10
