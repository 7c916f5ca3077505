package offlinemodel

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/throughline/throughline/infra/local/openaiserver"
	"github.com/throughline/throughline/internal/truncate"
	"github.com/throughline/throughline/internal/untrusted"
)

// The limits of what an answer quotes.
const (
	maxQuotes = 3
	maxQuote  = 260
	maxEcho   = 100
	// related is the share of the question's weight that a passage needs to count as an answer.
	related = 0.18
)

// ownMark begins every answer of this model. A text with this mark is never quoted, because an answer must not be based
// on an earlier answer.
const ownMark = "(throughline-offline)"

// searchTool is the tool that prompts offer for finding older conversations.
const searchTool = "search_conversations"

// forgetTool is the tool that the chat offers where the user may ask to forget something.
const forgetTool = "forget"

// Reply quotes what the prompt says about the last message. It forgets where it is asked to, and searches once where a
// question about the past has no answer in the prompt.
func (m *model) Reply(c openaiserver.Conversation) openaiserver.Reply {
	p := readPrompt(c.Messages)
	asked := m.question(p.query)
	found := m.rank(p.passages, asked)
	may := func(call string) bool { return !p.searched && slices.Contains(c.Tools, call) }
	what, forget := m.forms.apply("forget", p.query)
	switch {
	case forget && may(forgetTool):
		return openaiserver.Reply{Tool: forgetTool, Query: what}
	case p.receipt != nil:
		return openaiserver.Reply{Text: ownMark + " " + p.receipt.sentence()}
	case len(found) == 0 && m.forms.has("past", p.query) && may(searchTool):
		return openaiserver.Reply{Tool: searchTool, Query: m.searchWords(p.query)}
	}
	return openaiserver.Reply{Text: strings.Join(m.sentences(p, asked, found), " ")}
}

// receipt is the result of the tool that forgets.
type receipt struct {
	Forgotten *int `json:"forgotten"`
	Matches   int  `json:"matches"`
}

// sentence confirms without the words of what was forgotten.
func (r receipt) sentence() string {
	switch {
	case r.Matches > 0:
		return "Several things that I remember match. Which one do you mean?"
	case *r.Forgotten == 0:
		return "I remember nothing of that, and I won't note it."
	}
	return "It is forgotten. No later conversation has it."
}

// sentences are those of an answer: what was asked, what the prompt says about it, and what is not known.
func (m *model) sentences(p prompt, asked question, found []passage) []string {
	said := []string{ownMark, echo(p.query)}
	forward := m.forms.has("planning", p.query)
	if len(asked.stems) == 0 && len(found) == 0 {
		found = firstOf(p.passages, maxQuotes, func(q passage) bool { return q.isFound })
	}
	var recent []passage
	if forward {
		recent = firstOf(p.passages, 2, func(q passage) bool {
			return q.isActivity && !slices.ContainsFunc(found, func(f passage) bool { return f.text == q.text })
		})
	}
	if len(found) == 0 {
		found, recent = recent, nil
	}
	switch {
	case len(found) > 0:
		said = append(said, "From what I know: "+quote(found))
	case p.searched:
		said = append(said, "I searched our conversations and found nothing about that.")
	case len(asked.stems) == 0 && !forward:
		return append(said, "I'm here. Ask me about your plan, your training or anything you told me before.")
	default:
		said = append(said, "I found nothing related to that in what I know about you.")
	}
	if len(recent) > 0 {
		said = append(said, "Lately, elsewhere: "+quote(recent))
	}
	if slices.ContainsFunc(append(found, recent...), func(q passage) bool { return m.forms.has("intention", q.text) }) {
		said = append(said, "That was talked about; whether it was done I can't tell from here.")
	}
	return said
}

// firstOf returns the first passages of a kind.
func firstOf(passages []passage, most int, like func(passage) bool) (first []passage) {
	for _, p := range passages {
		if len(first) < most && like(p) {
			first = append(first, p)
		}
	}
	return first
}

func echo(query string) string {
	verb := "You said"
	if strings.Contains(query, "?") {
		verb = "You asked"
	}
	if query == "" {
		return "Hello."
	}
	return verb + `: "` + truncate.Prose(untrusted.OneLine(query), maxEcho) + `"`
}

func quote(passages []passage) string {
	quotes := make([]string, len(passages))
	for i, p := range passages {
		quotes[i] = `"` + truncate.Prose(strings.Trim(p.text, "\". "), maxQuote) + `"`
	}
	return strings.Join(quotes, "; ") + "."
}

// question is what a message is about: its topic's stems, without the words for talking itself.
type question struct {
	stems []string
	total float64 // what they weigh
}

func (m *model) question(query string) (q question) {
	const longest = 200 // a question that long needs no more to find its passages
	for _, stem := range m.lex.Topics(query) {
		if len(q.stems) < longest && !m.forms.has("speech", stem) {
			q.stems = append(q.stems, stem)
			q.total += m.lex.Weight(stem)
		}
	}
	return q
}

// rank returns the passages that are related to the question, best first. Equal ones keep their order.
func (m *model) rank(passages []passage, asked question) (best []passage) {
	for _, p := range passages {
		stems, shared := m.topics(p.text), 0.0
		for _, stem := range asked.stems {
			if stems[stem] {
				shared += m.lex.Weight(stem)
			}
		}
		p.score = shared / math.Sqrt(8+float64(len(stems)))
		if shared > 0 && shared/asked.total >= related {
			best = append(best, p)
		}
	}
	slices.SortStableFunc(best, func(a, b passage) int { return cmp.Compare(b.score, a.score) })
	const tail = 0.4 // of the best score; what is weaker only distracts
	return firstOf(best, maxQuotes, func(p passage) bool { return p.score >= tail*best[0].score })
}

// searchWords returns the question's words that have a topic, or the whole question when it has none.
func (m *model) searchWords(query string) string {
	const longest = 300
	var words []string
	for word := range strings.FieldsSeq(query) {
		if word = strings.Trim(word, ".,;:!?\"'"); len(m.lex.Topics(word)) > 0 {
			words = append(words, word)
		}
	}
	if len(words) == 0 {
		return truncate.Prose(untrusted.OneLine(query), longest)
	}
	return truncate.Prose(strings.Join(words, " "), longest)
}
