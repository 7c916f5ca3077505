package rig

import (
	"math/rand/v2"
	"strings"

	"github.com/throughline/throughline/internal/conversation"
)

var words = strings.Fields(`
	about after again back barbell because bench better between body carries coach could day deload different does
	easier eight enough evening every feel felt few five form four friday from give goal good grip hard have heavier
	hinge hip hold hour how into keep kilos knee last leave left less light like little long lower make maybe mobility
	monday more morning much need next only order over pace pain pause plan press program pull push quite rather ready
	repeat reps rest right row run safe same session set shoulder should six sleep slow some squat start still strong
	swap technique than that then thigh this three thrust today tomorrow training try twice under until usual warm
	week weight well what when which while with without work workout would yesterday your`)

const charactersPerToken = 4

// Texts makes messages as long as those of people and models, the same ones for the same seed.
type Texts struct{ random *rand.Rand }

// NewTexts returns the texts of a seed.
func NewTexts(seed uint64) *Texts { return &Texts{rand.New(rand.NewPCG(seed, 0))} }

// Messages returns n messages of 200 to 600 characters, of the user and the assistant by turns.
func (t *Texts) Messages(n int) []conversation.NewMessage {
	out := make([]conversation.NewMessage, n)
	for i := range out {
		text := t.Text(200 + t.random.IntN(401))
		role := conversation.RoleUser
		if i%2 == 1 {
			role = conversation.RoleAssistant
		}
		out[i] = conversation.NewMessage{Role: role, Content: text, Tokens: len(text) / charactersPerToken}
	}
	return out
}

// Text returns sentences of that many characters.
func (t *Texts) Text(length int) string {
	var b strings.Builder
	for b.Len() < length {
		for range 6 + t.random.IntN(10) {
			b.WriteString(words[t.random.IntN(len(words))] + " ")
		}
		b.WriteString("so. ")
	}
	return b.String()[:length-1] + "."
}
