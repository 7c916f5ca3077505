// Package offlinemodel is the stand-in for a language model in the local stack: with no key, no network and no weights,
// the same question always gets the same answer.
//
// It is not a language model. It understands nothing, invents nothing and follows no instruction in a prompt. Its chat
// answers quote the lines of the prompt that share words with the question, so that a person sees the memory work. Its
// summaries and memories come from the scripted forms in forms.txt, one form a line: of English, and the commonest ones
// of German and Spanish. What no form foresees is quoted in a summary, and is no memory. docs/local-model.md says more.
package offlinemodel

import (
	"net/http"
	"sync"

	"github.com/throughline/throughline/infra/local/embedder"
	"github.com/throughline/throughline/infra/local/openaiserver"
	"github.com/throughline/throughline/internal/truncate"
)

// ModelID is the model that every response names.
const ModelID = "throughline-offline"

// Handler serves the model as OpenAI serves its models. It may be used concurrently.
func Handler() http.Handler { return openaiserver.Handler(shared(), ModelID) }

// shared is the model of all handlers. It is loaded once, because nothing changes it.
var shared = sync.OnceValue(func() *model {
	e := embedder.New()
	return &model{e, e.Lexicon(), loadForms()}
})

// model answers by its forms and word lists, which are read-only.
type model struct {
	*embedder.Embedder
	lex   *embedder.Lexicon
	forms forms
}

var _ openaiserver.Model = (*model)(nil)

// Fill answers the product's formats by their names. Every required text of another format is a summary.
func (m *model) Fill(c openaiserver.Conversation, format string) (values map[string]any, text string) {
	const longest = 300
	input := c.Messages[min(lastUserMessage(c.Messages), len(c.Messages)-1)].Text
	if format == "spine" {
		return m.spine(input), ""
	}
	t := readTranscript(input)
	switch {
	case format == "memory_extraction":
		return m.extract(t), ""
	case format == "session_summary":
		return m.summary(t, c.Messages[0].Text), ""
	case len(t.turns) == 0 && t.previous == "":
		t.turns = []turn{{role: "user", text: input}}
	}
	return nil, truncate.Prose(m.summarize(t), longest)
}

// topics is the set of stems of a text.
func (m *model) topics(text string) map[string]bool {
	set := map[string]bool{}
	for _, stem := range m.lex.Topics(text) {
		set[stem] = true
	}
	return set
}

// weight is what the words of a text weigh together, but for those that every summary has.
func (m *model) weight(text string) (sum float64) {
	for _, stem := range m.lex.Topics(text) {
		if stem != "user" && stem != "coach" {
			sum += m.lex.Weight(stem)
		}
	}
	return sum
}

// overlap is the share of the smaller set that is in the other.
func overlap(a, b map[string]bool) float64 {
	shared := 0
	for stem := range a {
		if b[stem] {
			shared++
		}
	}
	return float64(shared) / float64(max(1, min(len(a), len(b))))
}
