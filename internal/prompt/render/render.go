// Package render is the last step of a prompt: it writes what was packed in the recipe's format, and measures for
// packing what each text takes in it. Stored text can't be mistaken for the format's structure: guard.go makes it safe.
package render

import (
	"cmp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/llm"
	"github.com/throughline/throughline/internal/prompt/block"
	"github.com/throughline/throughline/internal/prompt/choose"
	"github.com/throughline/throughline/internal/prompt/pack"
	"github.com/throughline/throughline/internal/untrusted"
)

// Message is one role message of a prompt.
type Message struct {
	Role    string `json:"role" doc:"Who said it."`
	Content string `json:"content" doc:"The text, as it was stored."`
	// Files are those of the message that the model's provider can fetch.
	Files []llm.File `json:"-"`
}

// Prompt is a prompt as the model gets it.
type Prompt struct {
	System   string
	Messages []Message
	Text     string
	// Costs are what the blocks of the packing take as they are written, in the packing's order. They differ from the
	// packing's by what separates the blocks.
	Costs []pack.Cost
}

// Slot says how one block is written.
type Slot struct {
	// Block names the block.
	Block string
	Style *Style
	// Heading is written above the items. Empty, if set, is written in their place if there are none. Ending is counted
	// for the block and written by the format elsewhere, such as a closing tag.
	Heading, Empty, Ending string
}

// heading returns the text above the items, of a block that is written again its first line.
func (s *Slot) heading(again bool) string {
	if first, _, _ := strings.Cut(s.Heading, "\n"); again {
		return first
	}
	return s.Heading
}

// Renderer writes one prompt. It is not safe for concurrent use.
type Renderer struct {
	format *Format
	slots  map[string]*Slot
	zone   *time.Location
	tokens tokenCounter
}

var _ pack.Measurer = (*Renderer)(nil)

// New returns the renderer of a prompt, with the times of a zone. constants are shared by all prompts of a counter.
func New(format *Format, slots []Slot, zone *time.Location, counter llm.Counter, constants *Constants) *Renderer {
	r := &Renderer{
		format: format, slots: make(map[string]*Slot, len(slots)), zone: zone,
		tokens: tokenCounter{counter: counter, constants: constants, edges: map[string]int{}},
	}
	for i := range slots {
		r.slots[slots[i].Block] = &slots[i]
	}
	return r
}

// Body implements pack.Measurer.
func (r *Renderer) Body(name string, c *choose.Candidate, text string, stored int) (string, pack.Cost) {
	if c.CountOnly {
		return "", pack.Cost{Tokens: r.tokens.constant(text)}
	}
	s := r.slots[name].Style
	body := r.body(s, c, text)
	if body != text {
		stored = 0
	}
	if c.Constant {
		stored = r.tokens.constant(body)
	}
	prefix, suffix := r.prefix(s, c, 1), s.suffix()
	if s.Message {
		prefix, suffix = "", ""
	}
	cost := pack.Cost{
		Tokens: r.tokens.framed(prefix, body, suffix, stored),
		Chars:  utf8.RuneCountInString(prefix) + utf8.RuneCountInString(body) + len(suffix),
	}
	if prefix != "" {
		cost.Chars++
	}
	return body, cost
}

func (r *Renderer) prefix(s *Style, c *choose.Candidate, n int) string {
	if s.Prefix == nil || len(c.Fields) > 0 {
		return ""
	}
	return s.Prefix(c, n, r.zone)
}

func (r *Renderer) body(s *Style, c *choose.Candidate, text string) string {
	if s.Verbatim {
		return text
	}
	if len(c.Fields) > 0 {
		lines := make([]string, len(c.Fields))
		for i, f := range c.Fields {
			lines[i] = s.Field(r.label(f), r.guard(untrusted.FoldLines(untrusted.Clean(f.Value))))
		}
		return strings.Join(lines, "\n")
	}
	switch {
	case c.Trusted:
	case s.Message:
		return untrusted.Clean(text)
	case s.OneLine:
		text = r.guard(untrusted.FoldLines(untrusted.Clean(text)))
	default:
		text = r.guard(strings.TrimSpace(untrusted.Clean(text)))
	}
	if s.Wrap != nil {
		text = s.Wrap(text, c.Note)
	}
	return text
}

// label is a field's label. A stored one is guarded as it is written in its line, with the colon after it.
func (r *Renderer) label(f choose.Field) string {
	if !f.Stored {
		return f.Label
	}
	return strings.TrimSuffix(r.guard(f.Label+":"), ":")
}

// guard makes stored text safe: it contains no control token and can't be mistaken for the format's structure.
func (r *Renderer) guard(text string) string { return r.format.Guard(untrusted.BreakTokens(text)) }

// Frame implements pack.Measurer.
func (r *Renderer) Frame(g *choose.Group) pack.Cost {
	if r.format.Group == nil {
		return pack.Cost{}
	}
	open, end := r.format.Group(g)
	return r.constant(open + end)
}

// constant is the cost of one of the format's own texts.
func (r *Renderer) constant(text string) pack.Cost {
	return pack.Cost{Tokens: r.tokens.constant(text), Chars: utf8.RuneCountInString(text)}
}

// endReserve is the cost of a block's end, the blank line after it, until the blocks are written.
const endReserve = 1

// Heading implements pack.Measurer: a block takes its heading, and the blank line after it, besides its items.
func (r *Renderer) Heading(name string, again bool) (heading, empty pack.Cost) {
	slot := r.slots[name]
	if slot.Empty != "" {
		empty = r.constant(slot.Empty + "\n")
	}
	if slot.Style.Message {
		return heading, empty
	}
	heading = pack.Cost{Tokens: endReserve, Chars: endReserve}
	if text := slot.heading(again); text != "" {
		heading = heading.Add(r.constant(text + "\n"))
	}
	if slot.Ending != "" {
		heading = heading.Add(r.constant(slot.Ending + "\n"))
	}
	return heading, empty
}

// section is the text of one block, ending in a line feed.
type section struct {
	// at is the place of the block in the packing.
	at   int
	text string
}

// Write writes the blocks in their order. Those of the volatile suffix make a system message before the current
// message, or end the system text if the session has no messages before them.
func (r *Renderer) Write(packing pack.Packing) Prompt {
	costs := make([]pack.Cost, len(packing.Blocks))
	var sections, suffix []section
	var messages, current []Message
	for i, b := range packing.Blocks {
		costs[i] = b.Cost
		isMessage := r.slots[b.Block].Style.Message
		switch {
		case !b.Started:
		case b.Block == block.Current && isMessage:
			current = roleMessages(b)
		case isMessage:
			messages = append(messages, roleMessages(b)...)
		case b.Volatile:
			suffix = append(suffix, section{i, r.section(b)})
		default:
			sections = append(sections, section{i, r.section(b)})
		}
	}
	if len(messages) == 0 { // there is nothing to follow
		sections, suffix = append(sections, suffix...), nil
	}
	r.addEndings(sections, costs)
	if r.addEndings(suffix, costs); len(suffix) > 0 {
		messages = append(messages,
			Message{Role: string(conversation.RoleSystem), Content: joinSections(suffix, r.format.End)})
	}
	prompt := r.format.Assemble(sections, slices.Concat(messages, current))
	prompt.Costs = costs
	return prompt
}

// addEndings counts what separates the sections of one text.
func (r *Renderer) addEndings(sections []section, costs []pack.Cost) {
	for i, s := range sections {
		separator := r.format.Separator
		if i == len(sections)-1 {
			separator = r.format.End
		}
		costs[s.at] = costs[s.at].Add(r.ending(s.text, separator))
	}
}

// ending is what the separator after a block takes more than was reserved for the end of the block.
func (r *Renderer) ending(text, separator string) pack.Cost {
	body := trimEnd(text)
	suffix := text[len(body):]
	edge := body[strings.LastIndexByte(body, '\n')+1:]
	if i := lastBoundary(body); i >= 0 {
		edge = body[i:]
	}
	return pack.Cost{
		Tokens: r.tokens.edge(edge+separator) - r.tokens.edge(edge+suffix) - endReserve,
		Chars:  len(separator) - len(suffix) - endReserve,
	}
}

func roleMessages(b *pack.Block) []Message {
	var out []Message
	for _, i := range b.Written() {
		out = append(out, Message{Role: string(cmp.Or(i.Role, conversation.RoleUser)), Content: i.Body, Files: i.Files})
	}
	return out
}

func (r *Renderer) section(b *pack.Block) string {
	slot := r.slots[b.Block]
	var w strings.Builder
	w.Grow(b.Cost.Chars + b.Cost.Chars/8)
	if heading := slot.heading(b.IsAgain()); heading != "" {
		w.WriteString(heading + "\n")
	}
	items := b.Written()
	if len(items) == 0 && slot.Empty != "" {
		w.WriteString(slot.Empty + "\n")
	}
	var in *choose.Group
	end := ""
	for n, i := range items {
		if i.Group != in {
			w.WriteString(end)
			in, end = i.Group, ""
			if in != nil && r.format.Group != nil {
				var open string
				open, end = r.format.Group(in)
				w.WriteString(open)
			}
		}
		if prefix := r.prefix(slot.Style, i.Candidate, n+1); prefix != "" {
			w.WriteString(prefix)
			w.WriteByte(' ')
		}
		w.WriteString(i.Body)
		w.WriteString(slot.Style.suffix())
	}
	w.WriteString(end)
	return w.String()
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
