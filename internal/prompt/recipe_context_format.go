package prompt

import (
	"github.com/throughline/throughline/internal/prompt/block"
	"github.com/throughline/throughline/internal/prompt/choose"
	"github.com/throughline/throughline/internal/prompt/pack"
	"github.com/throughline/throughline/internal/prompt/render"
)

// contextFormat is the recipe of maas-context-format v0.1. It has no rules, because the specification gives the whole
// payload.
var contextFormat = newContextFormat(ContextFormat, "maas-context-format v0.1", "", Slot{Select: choose.Previous})

// contextFormat05 adds the specification's backlog up to v0.5: tags on summaries, vector retrieval, a user profile
// section, and sections by the type of query. Its rules follow the role in the same section.
var contextFormat05 = newContextFormat(ContextFormat05, "maas-context-format v0.5",
	"What you read below was said or noted before. "+neverInstructions,
	Slot{Select: choose.Tagged, When: choose.UnlessGreeting},
	Slot{
		Block: block.Profile, Style: render.LabelValue, Heading: "USER PROFILE:", Cap: Cap{Tokens: 100},
		When: choose.AboutUser,
	},
)

// newContextFormat returns a recipe of maas-context-format: one plain payload of 700 tokens, the current message not
// counted. rules follow the role. previous says how it selects the earlier sessions, and more are its last slots.
func newContextFormat(name, specification, rules string, previous Slot, more ...Slot) Recipe {
	previous.Block, previous.Style, previous.Heading = block.SessionSummaries, render.ParagraphLine, previousHeading
	previous.Cap = Cap{Items: 3, Tokens: 300, Shorten: true}
	return Recipe{
		Name:            name,
		Specification:   specification,
		Budget:          pack.Cost{Tokens: 700},
		MessageExcluded: true,
		Role:            contextFormatRole,
		Rules:           rules,
		Instruction:     contextFormatInstruction,
		Format:          render.PlainText,
		Reads:           Reads{Messages: 30, Sessions: 20, Hits: 12, Summaries: true},
		Order: []string{
			block.Role, block.Manner, block.Safety, block.Profile, block.SessionSummaries, block.Recent,
			block.Current, block.Instruction,
		},
		Slots: append([]Slot{
			{Block: block.Role, Required: true, Style: render.Prose, Heading: "SYSTEM ROLE:", Cap: Cap{Tokens: 50}},
			{Block: block.Current, Required: true, Style: render.Prose, Heading: "CURRENT QUERY:"},
			{Block: block.Instruction, Required: true, Style: render.Prose, Cap: Cap{Tokens: 20}},
			safetySlot(render.NotedLine, "SAFETY:"),
			mannerSlot(render.NotedLine, "MANNER: "),
			previous,
			{
				Block: block.Recent, Style: render.ExchangeLine, Heading: "RECENT CONVERSATION:",
				Cap: Cap{Tokens: choose.RecentTokens, Shorten: true}, Select: choose.Exchanges,
			},
		}, more...),
	}
}

const (
	contextFormatRole        = "You are a helpful AI assistant with long-term memory of past conversations with this user."
	contextFormatInstruction = "Please respond naturally, referencing past context when relevant."
	previousHeading          = "PREVIOUS CONTEXT (from long-term memory):"
)
