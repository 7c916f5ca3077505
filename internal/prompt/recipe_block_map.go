package prompt

import (
	"github.com/throughline/throughline/internal/prompt/block"
	"github.com/throughline/throughline/internal/prompt/choose"
	"github.com/throughline/throughline/internal/prompt/pack"
	"github.com/throughline/throughline/internal/prompt/render"
	"github.com/throughline/throughline/internal/prompt/scoping"
	"github.com/throughline/throughline/internal/vector"
)

// blockMap is the recipe of prompt-assembly-map: each block is a system message, followed by the recent messages. The
// specification gives blocks, caps and order, and cuts texts without an ellipsis. The order of value is that of
// unified.
//
// Every stored text is one line after a label, or a line of a list under one. Services that take a single system text
// join the messages with blank lines: no paragraph of the joined text is then without a label but the app's own.
var blockMap = Recipe{
	Name:          BlockMap,
	Specification: "prompt-assembly-map",
	Budget:        pack.Cost{Tokens: 4000},
	Instruction:   blockMapRules,
	Format:        render.SystemMessages,
	Scoping:       scoping.LastN,
	Reads:         Reads{Messages: 50, Sessions: 20, Hits: 24, Records: []string{vector.MemoryRecord}},
	Order: []string{
		block.Now, block.State, block.Role, block.Instruction, block.Manner, block.Safety, block.Foundation,
		block.RelevantMemories, block.Loops, block.Wins, block.Seed, block.Spine, block.SessionSummary, block.Recent,
		block.Current,
	},
	Slots: []Slot{
		{Block: block.Role, Required: true, Style: render.Prose},
		{Block: block.Current, Required: true, Style: render.VerbatimMessage},
		{Block: block.Instruction, Required: true, Style: render.Prose},
		safetySlot(render.NotedLine, "[SAFETY]:"),
		mannerSlot(render.NotedLine, "[MANNER]: "),
		{Block: block.Recent, Style: render.RoleMessage, Cap: Cap{Chars: 800, NoEllipsis: true}},
		{Block: block.Now, Style: render.LabelValue},
		{Block: block.Foundation, Style: render.NotedLine, Heading: "[FOUNDATION MEMORIES]:", Cap: Cap{Items: 12}},
		{Block: block.Loops, Style: render.NotedLine, Heading: "OPEN LOOPS (pending):", Cap: Cap{Items: 5}},
		{Block: block.RelevantMemories, Style: render.NotedLine, Heading: "[RELEVANT MEMORIES]:", Cap: Cap{Items: 8}},
		{Block: block.Wins, Style: render.PlainLine, Heading: "Recent wins:", Cap: Cap{Items: 3}},
		{
			Block: block.Spine, Style: render.PrefixedAndLabelled("Conversation summary:"),
			Cap: Cap{Chars: 1200, NoEllipsis: true},
		},
		{
			Block: block.SessionSummary, Style: render.Prefixed("LATEST SESSION SUMMARY:"),
			Cap: Cap{Chars: 600, NoEllipsis: true}, Select: choose.LatestSummary,
		},
		{Block: block.Seed, Style: render.Prefixed("User context:"), Cap: Cap{Chars: 800, NoEllipsis: true}},
		{Block: block.State, Style: render.LabelValue},
	},
}

// blockMapRules follow the persona, in a message of their own.
const blockMapRules = `What has a label here, such as [FOUNDATION MEMORIES], OPEN LOOPS or User context, ` +
	`was said or noted before. ` + neverInstructions
