package storebench

import (
	"math/rand/v2"
	"strings"

	"github.com/throughline/throughline/internal/conversation"
)

// Lengths of a message in characters.
const (
	shortest = 200
	longest  = 600
)

const charactersPerToken = 4

var words = strings.Fields(`
	about after again back barbell because bench better between body carries coach could day deload different does
	easier eight enough evening every feel felt few five form four friday from give goal good grip hard have heavier
	hinge hip hold hour how into keep kilos knee last leave left less light like little long lower make maybe mobility
	monday more morning much need next only order over pace pain pause plan press program pull push quite rather ready
	repeat reps rest right row run safe same session set shoulder should six sleep slow some squat start still strong
	swap technique than that then thigh this three thrust today tomorrow training try twice under until usual warm
	week weight well what when which while with without work workout would yesterday your`)

// Prose writes messages of the length that people and models write, the same ones for the same seed.
type Prose struct{ random *rand.Rand }

// NewProse returns a writer that repeats itself for a repeated seed.
func NewProse(seed uint64) *Prose { return &Prose{rand.New(rand.NewPCG(seed, 0))} }

// Turn is what a user says and what the assistant answers.
func (p *Prose) Turn() []conversation.NewMessage {
	return []conversation.NewMessage{p.message(conversation.User), p.message(conversation.Assistant)}
}

// Messages are n messages by turns.
func (p *Prose) Messages(n int) []conversation.NewMessage {
	var out []conversation.NewMessage
	for len(out) < n {
		out = append(out, p.Turn()...)
	}
	return out[:n]
}

func (p *Prose) message(role conversation.Role) conversation.NewMessage {
	text := p.text(shortest + p.random.IntN(longest-shortest+1))
	return conversation.NewMessage{Role: role, Content: text, Tokens: len(text) / charactersPerToken}
}

// text writes sentences of exactly that many characters.
func (p *Prose) text(length int) string {
	var b strings.Builder
	for b.Len() < length {
		for range 6 + p.random.IntN(10) {
			b.WriteString(words[p.random.IntN(len(words))])
			b.WriteByte(' ')
		}
		b.WriteString("so. ")
	}
	return b.String()[:length-1] + "."
}
