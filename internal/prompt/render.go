package prompt

import (
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/untrusted"
)

// Format is how a recipe's prompt is written. Guard makes stored text safe in the format: its result can't be mistaken
// for the format's structure. Control tokens are broken before.
type Format struct {
	Guard func(text string) string
	// Group returns what is written before and after the messages of one conversation, each part ending in a line
	// feed. It is nil if the format has no conversations.
	Group func(g *group) (open, end string)
	// Separator is written between two sections, in place of the line feeds that end the first. End is written after
	// the last.
	Separator, End string
	// Assemble joins the sections and the role messages.
	Assemble func(sections []section, messages []Message) rendering
}

// section is the text of one block, ending in a line feed.
type section struct {
	block *block
	text  string
}

// rendering is a prompt as the model gets it.
type rendering struct {
	system   string
	messages []Message
	text     string
}

// Style is how the entries of a block are written.
type Style struct {
	// Prefix returns what is written before an entry's text, in the format's own words, ending in a visible character.
	// If it is nil or returns nothing, the text begins the line. n counts the block's entries from 1.
	Prefix func(e *entry, n int, zone *time.Location) string
	// OneLine folds the text into one line.
	OneLine bool
	// Suffix ends an entry; empty means a line feed.
	Suffix string
	// Field writes one of an entry's fields.
	Field func(label, value string) string
	// Wrap, if set, writes a frame around the text, such as quotes.
	Wrap func(text, note string) string
	// Message makes each entry a role message of its own instead of a line in a section.
	Message bool
	// Verbatim writes the text exactly as it came.
	Verbatim bool
}

// Styles that recipes share.
var (
	// prose is text in lines of its own.
	prose = &Style{}
	// paragraphs are texts with a blank line after each.
	paragraphs = &Style{Suffix: "\n\n"}
	// bullet is one line after a dash.
	bullet = &Style{OneLine: true, Prefix: constantPrefix("-"), Wrap: withNote, Field: bulletField}
	// labelled is one line after the entry's label: [Program Designer - 2 hours ago]: text.
	labelled = &Style{
		OneLine: true,
		Prefix:  func(e *entry, _ int, _ *time.Location) string { return "[" + e.label + "]:" },
	}
	// transcriptLine is a message of a transcript: [User 18:05] text.
	transcriptLine = &Style{Prefix: func(e *entry, _ int, zone *time.Location) string {
		return "[" + speakerName(e.role) + " " + clockTime(e.at, zone) + "]"
	}}
	// attributed is a message outside its conversation: [Coach - yesterday, user] text.
	attributed = &Style{
		OneLine: true,
		Prefix:  func(e *entry, _ int, _ *time.Location) string { return "[" + e.label + "]" },
	}
	// roleMessage is a role message.
	roleMessage = &Style{Message: true}
	// verbatimMessage is the current message, exactly as it came.
	verbatimMessage = &Style{Message: true, Verbatim: true}
)

func constantPrefix(prefix string) func(*entry, int, *time.Location) string {
	return func(*entry, int, *time.Location) string { return prefix }
}

func numbered(_ *entry, n int, _ *time.Location) string { return strconv.Itoa(n) + "." }

func withNote(text, note string) string {
	if note == "" {
		return text
	}
	return text + " (" + note + ")"
}

func bulletField(label, value string) string { return "- " + label + ": " + value }

func speakerName(role conversation.Role) string {
	if role == conversation.RoleAssistant {
		return "Assistant"
	}
	return "User"
}

// renderer writes one prompt: its format, the user's time zone, and the token counter.
type renderer struct {
	format       *Format
	zone         *time.Location
	tokenCounter tokenCounter
}

// prepare renders an entry's text and sets its cost, without that of its block's heading and its conversation's frame.
func (r renderer) prepare(s *Style, e *entry) {
	if e.countOnly {
		e.cost = cost{tokens: r.tokenCounter.constant(e.text)}
		return
	}
	e.rendered = r.body(s, e)
	stored := e.tokens
	if e.rendered != e.text {
		stored = 0
	}
	if e.constant {
		stored = r.tokenCounter.constant(e.rendered)
	}
	prefix, suffix := r.prefix(s, e, 1), s.suffix()
	if s.Message {
		prefix, suffix = "", ""
	}
	e.cost = cost{
		tokens: r.tokenCounter.framed(prefix, e.rendered, suffix, stored),
		chars:  utf8.RuneCountInString(prefix) + utf8.RuneCountInString(e.rendered) + len(suffix),
	}
	if prefix != "" {
		e.cost.chars++
	}
}

func (r renderer) prefix(s *Style, e *entry, n int) string {
	if s.Prefix == nil || len(e.fields) > 0 {
		return ""
	}
	return s.Prefix(e, n, r.zone)
}

func (s *Style) suffix() string {
	if s.Suffix == "" {
		return "\n"
	}
	return s.Suffix
}

func (r renderer) body(s *Style, e *entry) string {
	if s.Verbatim {
		return e.text
	}
	if len(e.fields) > 0 {
		lines := make([]string, len(e.fields))
		for i, f := range e.fields {
			lines[i] = s.Field(r.label(f), r.guard(oneLine(untrusted.Clean(f.value))))
		}
		return strings.Join(lines, "\n")
	}
	text := e.text
	switch {
	case e.trusted:
	case s.Message:
		return untrusted.Clean(text)
	case s.OneLine:
		text = r.guard(oneLine(untrusted.Clean(text)))
	default:
		text = r.guard(strings.TrimSpace(untrusted.Clean(text)))
	}
	if s.Wrap != nil {
		text = s.Wrap(text, e.note)
	}
	return text
}

// label is a field's label. A stored one is guarded as it stands in its line, with the colon behind it.
func (r renderer) label(f field) string {
	if !f.stored {
		return f.label
	}
	return strings.TrimSuffix(r.guard(f.label+":"), ":")
}

// guard makes stored text safe: it contains no control token and can't be mistaken for the format's structure.
func (r renderer) guard(text string) string { return r.format.Guard(untrusted.BreakTokens(text)) }

// groupCost is the cost of a conversation's frame.
func (r renderer) groupCost(g *group) cost {
	if r.format.Group == nil {
		return cost{}
	}
	open, end := r.format.Group(g)
	return r.constant(open + end)
}

// constant is the cost of one of the format's own texts.
func (r renderer) constant(text string) cost {
	return cost{tokens: r.tokenCounter.constant(text), chars: utf8.RuneCountInString(text)}
}

// endReserve is the cost of a block's end, the blank line behind it, until addEnding knows it.
const endReserve = 1

// headingCost is what a block takes besides its entries: its heading, and the blank line behind it.
func (r renderer) headingCost(slot *Slot) cost {
	if slot.Style.Message {
		return cost{}
	}
	c := cost{tokens: endReserve, chars: endReserve}
	if slot.Heading != "" {
		c = c.add(r.constant(slot.Heading + "\n"))
	}
	if slot.Ending != "" {
		c = c.add(r.constant(slot.Ending + "\n"))
	}
	return c
}

// write renders the blocks in their order. The late ones make a system message in front of the current message, or end
// the system text if the session has no messages in front of them.
func (r renderer) write(blocks []*block) rendering {
	var sections, late []section
	var messages, current []Message
	for _, b := range blocks {
		switch {
		case !b.started:
		case b.slot.Block == blockCurrent && b.slot.Style.Message:
			current = r.roleMessages(b)
		case b.slot.Style.Message:
			messages = append(messages, r.roleMessages(b)...)
		case b.late:
			late = append(late, section{block: b, text: r.section(b)})
		default:
			sections = append(sections, section{block: b, text: r.section(b)})
		}
	}
	if len(messages) == 0 { // there is nothing to stand behind
		sections, late = append(sections, late...), nil
	}
	r.addEndings(sections)
	if r.addEndings(late); len(late) > 0 {
		messages = append(messages, Message{Role: string(conversation.RoleSystem), Content: joinSections(late, r.format.End)})
	}
	return r.format.Assemble(sections, append(messages, current...))
}

// addEndings counts what separates the sections of one text.
func (r renderer) addEndings(sections []section) {
	for i, s := range sections {
		separator := r.format.Separator
		if i == len(sections)-1 {
			separator = r.format.End
		}
		r.addEnding(s.block, s.text, separator)
	}
}

// addEnding replaces the reserve for the end of a block by what the separator behind it takes.
func (r renderer) addEnding(b *block, text, separator string) {
	body := trimEnd(text)
	suffix := text[len(body):]
	edge := body[strings.LastIndexByte(body, '\n')+1:]
	if i := lastBoundary(body); i >= 0 {
		edge = body[i:]
	}
	added := r.tokenCounter.edge(edge+separator) - r.tokenCounter.edge(edge+suffix)
	b.cost.tokens += added - endReserve
	b.cost.chars += len(separator) - len(suffix) - endReserve
}

func (r renderer) roleMessages(b *block) []Message {
	var out []Message
	for _, e := range b.entriesInOrder() {
		role := e.role
		if role == "" {
			role = conversation.RoleUser
		}
		out = append(out, Message{Role: string(role), Content: e.rendered})
	}
	return out
}

func (r renderer) section(b *block) string {
	var w strings.Builder
	w.Grow(b.cost.chars + b.cost.chars/8)
	if b.slot.Heading != "" {
		w.WriteString(b.slot.Heading + "\n")
	}
	entries := b.entriesInOrder()
	if len(entries) == 0 && b.slot.Empty != "" {
		w.WriteString(b.slot.Empty + "\n")
	}
	var in *group
	end := ""
	for i, e := range entries {
		if e.group != in {
			w.WriteString(end)
			in, end = e.group, ""
			if in != nil && r.format.Group != nil {
				var open string
				open, end = r.format.Group(in)
				w.WriteString(open)
			}
		}
		if prefix := r.prefix(b.slot.Style, e, i+1); prefix != "" {
			w.WriteString(prefix)
			w.WriteByte(' ')
		}
		w.WriteString(e.rendered)
		w.WriteString(b.slot.Style.suffix())
	}
	w.WriteString(end)
	return w.String()
}

// markdown is the format of sections with headings in one system text. A line that begins with # opens a section, one
// that begins with [ an item.
var markdown = &Format{
	Guard:     guardMarkdown,
	Group:     func(g *group) (open, end string) { return "## " + g.label + "\n", "" },
	Separator: "\n\n",
	Assemble: func(sections []section, messages []Message) rendering {
		return rendering{system: joinSections(sections, ""), messages: messages}
	},
}

// joinSections writes a blank line between sections, and end after the last.
func joinSections(sections []section, end string) string {
	size := len(end)
	for _, s := range sections {
		size += len(s.text) + len("\n\n")
	}
	var b strings.Builder
	b.Grow(size)
	for i, s := range sections {
		if i > 0 {
			b.WriteString("\n\n")
		}
		b.WriteString(trimEnd(s.text))
	}
	b.WriteString(end)
	return b.String()
}
