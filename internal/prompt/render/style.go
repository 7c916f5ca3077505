package render

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/prompt/calendar"
	"github.com/throughline/throughline/internal/prompt/choose"
)

// Style is how the items of a block are written.
type Style struct {
	// Prefix returns what is written before an item's text, in the format's own words, ending in a visible character.
	// If it is nil or returns nothing, the text begins the line. n counts the block's items from 1.
	Prefix func(c *choose.Candidate, n int, zone *time.Location) string
	// OneLine folds the text into one line.
	OneLine bool
	// Suffix ends an item; empty means a line feed.
	Suffix string
	// Field writes one of an item's fields.
	Field func(label, value string) string
	// Wrap, if set, writes a frame around the text, such as quotes.
	Wrap func(text, note string) string
	// Message makes each item a role message of its own instead of a line in a section.
	Message bool
	// Verbatim writes the text exactly as it came.
	Verbatim bool
}

func (s *Style) suffix() string { return cmp.Or(s.Suffix, "\n") }

// The styles of blocks.
var (
	// Prose is text in lines of its own.
	Prose = &Style{}
	// Paragraphs are texts with a blank line after each.
	Paragraphs = &Style{Suffix: "\n\n"}
	// ParagraphLine is a summary, a paragraph of one line, after its label if it has one: 2 February 2026: text.
	ParagraphLine = &Style{OneLine: true, Suffix: "\n\n", Prefix: afterLabel("")}
	// LabelledProse is text in lines of its own after its label.
	LabelledProse = &Style{Prefix: afterLabel("")}
	// PlainLine is one line of text alone.
	PlainLine = &Style{OneLine: true}
	// NotedLine is one line of text with its note.
	NotedLine = &Style{OneLine: true, Wrap: withNote}
	// Bullet is one line after a dash.
	Bullet = &Style{
		OneLine: true, Prefix: constantPrefix("-"), Wrap: withNote,
		Field: func(label, value string) string { return "- " + label + ": " + value },
	}
	// NumberedTitle is a goal: 1. "title" (type).
	NumberedTitle = &Style{
		OneLine: true, Prefix: func(_ *choose.Candidate, n int, _ *time.Location) string { return strconv.Itoa(n) + "." },
		Wrap: func(text, note string) string { return withNote(`"`+text+`"`, note) },
	}
	// BoldFields is a line "**Label:** value" for each field, LabelValue a line "Label: value".
	BoldFields = &Style{Field: func(label, value string) string { return "**" + label + ":** " + value }}
	LabelValue = &Style{Field: func(label, value string) string { return label + ": " + value }}
	// Labelled is one line after the item's label: [Program Designer - 2 hours ago]: text.
	Labelled = &Style{
		OneLine: true,
		Prefix:  func(c *choose.Candidate, _ int, _ *time.Location) string { return "[" + c.Label + "]:" },
	}
	// Attributed is a message outside its conversation: [Coach - yesterday, user] text.
	Attributed = &Style{
		OneLine: true,
		Prefix:  func(c *choose.Candidate, _ int, _ *time.Location) string { return "[" + c.Label + "]" },
	}
	// TranscriptLine is a message of a transcript: [User 18:05] text.
	TranscriptLine = &Style{Prefix: func(c *choose.Candidate, _ int, zone *time.Location) string {
		return "[" + choose.SpeakerName(c.Role) + " " + calendar.Clock(c.At, zone) + "]"
	}}
	// TaggedLine is a message of a tagged transcript: [human 18:05] text.
	TaggedLine = &Style{Prefix: func(c *choose.Candidate, _ int, zone *time.Location) string {
		if c.Role == conversation.RoleAssistant {
			return "[you " + calendar.Clock(c.At, zone) + "]"
		}
		return "[human " + calendar.Clock(c.At, zone) + "]"
	}}
	// ExchangeLine is one message of an exchange: User: text.
	ExchangeLine = &Style{Prefix: func(c *choose.Candidate, _ int, _ *time.Location) string {
		return choose.SpeakerName(c.Role) + ":"
	}}
	// ThreadStatus is the status of the thread as a tag.
	ThreadStatus = &Style{Wrap: func(text, _ string) string { return "<thread-status>" + text + "</thread-status>" }}
	// RoleMessage is a role message.
	RoleMessage = &Style{Message: true}
	// VerbatimMessage is the current message, exactly as it came.
	VerbatimMessage = &Style{Message: true, Verbatim: true}
)

// Prefixed is text after the block's name, all in one line.
func Prefixed(name string) *Style { return &Style{OneLine: true, Prefix: constantPrefix(name)} }

// PrefixedAndLabelled is text after the block's name and its label, all in one line.
func PrefixedAndLabelled(name string) *Style {
	return &Style{OneLine: true, Prefix: afterLabel(name + " ")}
}

// afterLabel is the prefix of a label and a colon after a name. Without a label it is the name.
func afterLabel(name string) func(*choose.Candidate, int, *time.Location) string {
	return func(c *choose.Candidate, _ int, _ *time.Location) string {
		if c.Label == "" {
			return strings.TrimSuffix(name, " ")
		}
		return name + c.Label + ":"
	}
}

func constantPrefix(prefix string) func(*choose.Candidate, int, *time.Location) string {
	return func(*choose.Candidate, int, *time.Location) string { return prefix }
}

func withNote(text, note string) string {
	if note == "" {
		return text
	}
	return text + " (" + note + ")"
}
