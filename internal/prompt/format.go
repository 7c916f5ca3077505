package prompt

import (
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/throughline/throughline/internal/conversation"
)

// Format is how a recipe's prompt is written. Guard makes stored text safe in it; what Guard leaves alone can't pass
// for the format's structure.
type Format struct {
	Guard func(text string) string
	// Group returns what stands around the messages of one conversation, each part ending in a line feed; nil where
	// the format tells none.
	Group func(g *group) (open, end string)
	// Separator stands between two sections, in place of the line feeds that end the first; End behind the last.
	Separator, End string
	// Assemble puts the sections and the role messages together.
	Assemble func(sections []section, messages []Message) rendering
}

// section is one block as it is written, ending in a line feed.
type section struct {
	name string
	text string
}

// rendering is a prompt as the model gets it.
type rendering struct {
	system   string
	messages []Message
	text     string
}

// Style is how the entries of a block are written.
type Style struct {
	// Lead returns what stands before an entry's text, in the format's own words, ending in a visible sign; nil or
	// an empty result lets the text begin the line. n counts the block's entries from 1.
	Lead func(e *entry, n int, place *time.Location) string
	// OneLine folds the text into one line.
	OneLine bool
	// Tail ends an entry; empty means a line feed.
	Tail string
	// Field writes one of an entry's fields.
	Field func(label, value string) string
	// Wrap, where set, writes the text's frame, such as quotes.
	Wrap func(text, note string) string
	// Message makes each entry a role message of its own instead of a line in a section.
	Message bool
	// Verbatim writes the text exactly as it came.
	Verbatim bool
}

// The styles that recipes share.
var (
	// prose is text in its own lines.
	prose = &Style{}
	// paragraphs are texts with a blank line between them.
	paragraphs = &Style{Tail: "\n\n"}
	// bullet is one line behind a dash.
	bullet = &Style{OneLine: true, Lead: fixed("-"), Wrap: noted, Field: bulletField}
	// labelled is one line behind the entry's label: [Program Designer - 2 hours ago]: text.
	labelled = &Style{OneLine: true, Lead: func(e *entry, _ int, _ *time.Location) string { return "[" + e.label + "]:" }}
	// spoken is a message of a transcript: [User 18:05] text.
	spoken = &Style{Lead: func(e *entry, _ int, place *time.Location) string {
		return "[" + speaker(e.role) + " " + clock(e.at, place) + "]"
	}}
	// said is a message outside its conversation: [Coach - yesterday, user] text.
	said = &Style{OneLine: true, Lead: func(e *entry, _ int, _ *time.Location) string { return "[" + e.label + "]" }}
	// turn is a role message.
	turn = &Style{Message: true}
	// verbatim is the current message as a role message, exactly as it came.
	verbatim = &Style{Message: true, Verbatim: true}
)

func fixed(lead string) func(*entry, int, *time.Location) string {
	return func(*entry, int, *time.Location) string { return lead }
}

func numbered(_ *entry, n int, _ *time.Location) string { return strconv.Itoa(n) + "." }

func noted(text, note string) string {
	if note == "" {
		return text
	}
	return text + " (" + note + ")"
}

func bulletField(label, value string) string { return "- " + label + ": " + value }

func speaker(role conversation.Role) string {
	if role == conversation.Assistant {
		return "Assistant"
	}
	return "User"
}

// page is what writing one prompt needs: its format, the place whose clock it tells, and the tally.
type page struct {
	format *Format
	place  *time.Location
	tally  tally
}

// compose writes an entry's body and works out its cost, without its block's and group's.
func (p page) compose(s *Style, e *entry) {
	if e.apart {
		e.cost = cost{tokens: p.tally.constant(e.text)}
		return
	}
	e.body = p.body(s, e)
	stored := e.tokens
	if e.body != e.text {
		stored = 0
	}
	if e.fixed {
		stored = p.tally.constant(e.body)
	}
	lead, tail := p.lead(s, e, 1), s.tail()
	if s.Message {
		lead, tail = "", ""
	}
	tokens, loose := p.tally.framed(lead, e.body, tail, stored)
	e.loose = loose
	e.cost = cost{
		tokens: tokens,
		chars:  utf8.RuneCountInString(lead) + utf8.RuneCountInString(e.body) + len(tail),
	}
	if lead != "" {
		e.cost.chars++
	}
}

func (p page) lead(s *Style, e *entry, n int) string {
	if s.Lead == nil || len(e.fields) > 0 {
		return ""
	}
	return s.Lead(e, n, p.place)
}

func (s *Style) tail() string {
	if s.Tail == "" {
		return "\n"
	}
	return s.Tail
}

func (p page) body(s *Style, e *entry) string {
	if s.Verbatim {
		return e.text
	}
	if len(e.fields) > 0 {
		lines := make([]string, len(e.fields))
		for i, f := range e.fields {
			lines[i] = s.Field(p.format.Guard(f.label), p.format.Guard(oneLine(clean(f.value))))
		}
		return strings.Join(lines, "\n")
	}
	text := e.text
	switch {
	case e.ours:
	case s.Message:
		return clean(text)
	case s.OneLine:
		text = p.format.Guard(oneLine(clean(text)))
	default:
		text = p.format.Guard(strings.TrimSpace(clean(text)))
	}
	if s.Wrap != nil {
		text = s.Wrap(text, e.note)
	}
	return text
}

// groupCost is what stands around a conversation.
func (p page) groupCost(g *group) cost {
	if p.format.Group == nil {
		return cost{}
	}
	open, end := p.format.Group(g)
	return p.constant(open + end)
}

// constant is the cost of the format's own words.
func (p page) constant(text string) cost {
	return cost{tokens: p.tally.constant(text), chars: utf8.RuneCountInString(text)}
}

// endReserve is what a block's end, the blank line behind it, may take until the whole prompt is known.
const endReserve = 1

// headingCost is what a block takes besides its entries: its heading, and the blank line behind it.
func (p page) headingCost(s *Slot) cost {
	if s.Style.Message {
		return cost{}
	}
	c := cost{tokens: endReserve, chars: endReserve}
	if s.Heading != "" {
		c = c.add(p.constant(s.Heading + "\n"))
	}
	if s.Ending != "" {
		c = c.add(p.constant(s.Ending + "\n"))
	}
	return c
}

// write renders the blocks in the order in which they stand.
func (p page) write(blocks []*block) rendering {
	var sections []section
	var messages, current []Message
	var written []*block
	for _, b := range blocks {
		switch {
		case !b.opened:
		case b.slot.Block == blockCurrent && b.slot.Style.Message:
			current = p.turns(b)
		case b.slot.Style.Message:
			messages = append(messages, p.turns(b)...)
		default:
			sections = append(sections, section{name: b.slot.Block, text: p.section(b)})
			written = append(written, b)
		}
	}
	for i, b := range written {
		separator := p.format.Separator
		if i == len(written)-1 {
			separator = p.format.End
		}
		p.settle(b, sections[i].text, separator)
	}
	return p.format.Assemble(sections, append(messages, current...))
}

// settle replaces what was set aside for the end of a block by what the end takes.
func (p page) settle(b *block, text, separator string) {
	body := trimEnd(text)
	ends := text[len(body):]
	least, was := p.tally.tailDelta(body, ends)
	_, is := p.tally.tailDelta(body, separator)
	if in := b.written(); least != was && len(in) > 0 && !in[len(in)-1].loose { // its last entry was counted whole
		last := in[len(in)-1].body
		if p.lead(b.slot.Style, in[len(in)-1], len(in)) != "" {
			last = " " + last
		}
		was, is = p.tally.count(last+ends), p.tally.count(last+separator)
	}
	b.cost.tokens += is - was - endReserve
	b.cost.chars += len(separator) - len(ends) - endReserve
}

func (p page) turns(b *block) []Message {
	var out []Message
	for _, e := range b.written() {
		role := e.role
		if role == "" {
			role = conversation.User
		}
		out = append(out, Message{Role: string(role), Content: e.body})
	}
	return out
}

func (p page) section(b *block) string {
	var w strings.Builder
	w.Grow(b.cost.chars + b.cost.chars/8)
	if b.slot.Heading != "" {
		w.WriteString(b.slot.Heading + "\n")
	}
	entries := b.written()
	if len(entries) == 0 && b.slot.Empty != "" {
		w.WriteString(b.slot.Empty + "\n")
	}
	var in *group
	end := ""
	for i, e := range entries {
		if e.group != in {
			w.WriteString(end)
			in, end = e.group, ""
			if in != nil && p.format.Group != nil {
				var open string
				open, end = p.format.Group(in)
				w.WriteString(open)
			}
		}
		if lead := p.lead(b.slot.Style, e, i+1); lead != "" {
			w.WriteString(lead)
			w.WriteByte(' ')
		}
		w.WriteString(e.body)
		w.WriteString(b.slot.Style.tail())
	}
	w.WriteString(end)
	return w.String()
}
