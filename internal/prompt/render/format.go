package render

import (
	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/prompt/choose"
)

// Format is how a recipe's prompt is written.
type Format struct {
	// Guard makes stored text safe in the format: its result can't be mistaken for the format's structure. Control tokens
	// are broken before.
	Guard func(text string) string
	// Group returns what is written before and after the messages of one conversation, each part ending in a line
	// feed. It is nil if the format has no conversations.
	Group func(g *choose.Group) (open, end string)
	// Separator is written between two sections, in place of the line feeds that end the first. End is written after
	// the last.
	Separator, End string
	// Assemble joins the sections and the role messages.
	Assemble func(sections []section, messages []Message) Prompt
}

// Markdown is the format of sections with headings in one system text. A line that begins with # opens a section, one
// that begins with [ an item.
var Markdown = &Format{
	Guard:     func(text string) string { return guardLines(text, isMarkdownStructure) },
	Group:     func(g *choose.Group) (open, end string) { return "## " + g.Label + "\n", "" },
	Separator: "\n\n",
	Assemble: func(sections []section, messages []Message) Prompt {
		return Prompt{System: joinSections(sections, ""), Messages: messages}
	},
}

// Tagged is the XML-tagged format. Guarded text has no angle brackets, so it can neither open nor close a tag.
var Tagged = &Format{
	Guard: escapeXML,
	Group: func(g *choose.Group) (open, end string) {
		from, kind := "", ""
		switch {
		case g.From != "":
			from = ` from="` + g.From + `"`
		case g.Since != "":
			from = ` since="` + g.Since + `"`
		}
		if g.Kind == choose.KindSummary {
			kind = ` type="summary"`
		}
		return `<conversation context="` + choose.ContextLabel(g.Context) + `" date="` + g.Date + `"` + from +
			` to="` + g.To + `" when="` + g.Day + `"` + kind + ">\n", "</conversation>\n"
	},
	Separator: "\n\n",
	End:       "\n",
	Assemble: func(sections []section, messages []Message) Prompt {
		return Prompt{System: joinSections(sections, "\n</conversation-history>"), Messages: messages}
	},
}

// PlainText is the format of labelled sections without markup. Lines of content that begin with one of its labels are
// guarded.
var PlainText = &Format{
	Guard:     func(text string) string { return guardLines(text, plainTextLabels) },
	Group:     func(*choose.Group) (open, end string) { return "", "\n" },
	Separator: "\n\n",
	Assemble: func(sections []section, _ []Message) Prompt {
		return Prompt{Text: joinSections(sections, "")}
	},
}

var plainTextLabels = startsWithLabel(
	"SYSTEM ROLE", "MANNER", "SAFETY", "USER PROFILE", "PREVIOUS CONTEXT", "RECENT CONVERSATION", "CURRENT QUERY", "User:",
	"Assistant:",
	"Please respond naturally",
)

// SystemMessages is the format with one system message per block. A block's text can't leave its message. The labels
// that could open another block inside it are guarded.
var SystemMessages = &Format{
	Guard: func(text string) string { return guardLines(text, blockLabels) },
	Assemble: func(sections []section, messages []Message) Prompt {
		var all []Message
		for _, s := range sections {
			all = append(all, Message{Role: string(conversation.RoleSystem), Content: trimEnd(s.text)})
		}
		return Prompt{Messages: append(all, messages...)}
	},
}

var blockLabels = startsWithLabel(
	"[SAFETY]", "[MANNER]", "[FOUNDATION MEMORIES]", "[RELEVANT MEMORIES]", "OPEN LOOPS", "Recent wins:", "User context:",
	"Conversation summary:",
	"LATEST SESSION SUMMARY", "Local time:", "Last message:", "Thread:", "The messages before this one:", "Screen:",
	"Title:", "Mode:", "Status:",
)
