package prompt

import "github.com/throughline/throughline/internal/vector"

// blockMap is the recipe of prompt-assembly-map: each block is a system message, followed by the recent messages. The
// specification gives blocks, caps and order, and cuts texts without an ellipsis. The order of value is that of
// unified.
var blockMap = Recipe{
	Name:          BlockMap,
	Specification: "prompt-assembly-map",
	Budget:        cost{tokens: 4000},
	Format:        systemMessages,
	Scoping:       LastN,
	Reads:         Reads{Messages: 50, Sessions: 20, Hits: 24, Records: []string{vector.MemoryRecord}},
	Order: []string{
		blockNow, blockState, blockRole, blockFoundation, blockRelevantMemories, blockLoops, blockWins, blockSeed,
		blockSpine, blockLatest, blockRecent, blockCurrent,
	},
	Slots: []Slot{
		{Block: blockRole, Required: true, Style: prose},
		{Block: blockCurrent, Required: true, Style: verbatimMessage},
		{Block: blockRecent, Style: roleMessage, Cap: Cap{Chars: 800, NoEllipsis: true}},
		{Block: blockNow, Style: labelValue},
		{Block: blockFoundation, Style: plainLine, Heading: "[FOUNDATION MEMORIES]:", Cap: Cap{Items: 12}},
		{Block: blockLoops, Style: plainLine, Heading: "OPEN LOOPS (pending):", Cap: Cap{Items: 5}},
		{Block: blockRelevantMemories, Style: plainLine, Heading: "[RELEVANT MEMORIES]:", Cap: Cap{Items: 8}},
		{Block: blockWins, Style: plainLine, Heading: "Recent wins:", Cap: Cap{Items: 3}},
		{Block: blockSpine, Style: prefixed("Conversation summary:"), Cap: Cap{Chars: 1200, NoEllipsis: true}},
		{Block: blockLatest, Style: prefixed("LATEST SESSION SUMMARY:"), Cap: Cap{Chars: 600, NoEllipsis: true}},
		{Block: blockSeed, Style: prefixed("User context:"), Cap: Cap{Chars: 800, NoEllipsis: true}},
		{Block: blockState, Style: labelValue},
	},
}

// systemMessages is the format with one system message per block. A block's text can't leave its message. The labels
// that could open another block inside it are guarded.
var systemMessages = &Format{
	Guard: func(text string) string { return guardLines(text, blockMapLabels) },
	Assemble: func(sections []section, messages []Message) rendering {
		var all []Message
		for _, s := range sections {
			all = append(all, Message{Role: "system", Content: trimEnd(s.text)})
		}
		return rendering{messages: append(all, messages...)}
	},
}

var blockMapLabels = startsWithLabel(
	"[FOUNDATION MEMORIES]", "[RELEVANT MEMORIES]", "OPEN LOOPS", "Recent wins:", "User context:", "Conversation summary:",
	"LATEST SESSION SUMMARY", "Local time:", "Last message:", "Thread:", "The messages before this one:", "Screen:",
	"Title:", "Mode:", "Status:",
)

// Styles of plain lists.
var (
	// plainLine is one line of text alone.
	plainLine = &Style{OneLine: true}
	// labelValue is a line "Label: value" for each field.
	labelValue = &Style{Field: func(label, value string) string { return label + ": " + value }}
)

// prefixed is text after the block's name, in the same line.
func prefixed(name string) *Style { return &Style{Prefix: constantPrefix(name)} }
