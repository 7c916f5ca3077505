package offlinemodel

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/throughline/throughline/infra/local/openaiserver"
	"github.com/throughline/throughline/internal/untrusted"
)

// passage is a piece of a prompt that an answer may quote.
type passage struct {
	text       string
	isActivity bool // of the section about other contexts
	isFound    bool // of a tool's result
	score      float64
}

// prompt is a conversation as the answer sees it.
type prompt struct {
	query    string
	passages []passage
	searched bool // a tool was called for this query
	receipt  *receipt
}

var (
	// structure matches the lines that have no words about the user: headings, tags, and the instructions of prompts.
	structure = regexp.MustCompile(`^(#|\[[A-Z][A-Z '/_-]+\]:?$|[A-Z][A-Z '_-]{3,}[^a-z]*:$|(?i:use|do not|don't|never|` +
		`always|you|your|if|when|treat|answer|respond|please|the user recently had|these are|this is|below|what follows|` +
		`everything|search|call) )`)
	tags = regexp.MustCompile(`<[^<>]*>`)
	// activity matches a line of what the user did elsewhere: "[Program Designer - 2 hours ago]: …".
	activity     = regexp.MustCompile(`^\[[^\]\n]{1,60} - [^\]\n]{1,60}\]:`)
	payloadQuery = regexp.MustCompile(`(?m)^CURRENT QUERY:[ \t]*\n?`)
)

// readPrompt splits a conversation into the question and the passages that may answer it. What the assistant said is
// none, because an answer must not be based on an earlier answer.
func readPrompt(messages []openaiserver.Message) (p prompt) {
	last := lastUserMessage(messages)
	for i, m := range messages {
		text := m.Text
		switch {
		case i == last:
			text, p.query = splitPayload(m.Text)
		case m.Role == "assistant":
			continue
		case m.Role == "tool":
			p.searched = p.searched || i > last
			var result any
			var forgot receipt
			_ = json.Unmarshal([]byte(m.Text), &result) // what is no JSON has no texts
			if i > last && json.Unmarshal([]byte(m.Text), &forgot) == nil && forgot.Forgotten != nil {
				p.receipt = &forgot
			}
			for _, found := range textsOf(result) {
				p.add(passage{text: found, isFound: true})
			}
			continue
		}
		for line := range strings.Lines(text) {
			line = strings.TrimSpace(line)
			if guarded, isGuarded := strings.CutPrefix(line, `\`); isGuarded { // a user's text that looks like structure
				p.add(passage{text: guarded})
			} else if !structure.MatchString(line) {
				p.add(passage{text: line, isActivity: activity.MatchString(line)})
			}
		}
	}
	return p
}

// add adds a passage, unless another or the question says the same. It is shortened to what may be quoted.
func (p *prompt) add(next passage) {
	const quotable = 3
	next.text = untrusted.OneLine(strings.TrimLeft(tags.ReplaceAllString(next.text, ""), "-*• "))
	if at := strings.Index(next.text, ownMark); at >= 0 {
		next.text = next.text[:at]
	}
	same := func(other passage) bool { return strings.EqualFold(other.text, next.text) }
	if len(next.text) >= quotable && !strings.EqualFold(next.text, p.query) && !slices.ContainsFunc(p.passages, same) {
		p.passages = append(p.passages, next)
	}
}

func lastUserMessage(messages []openaiserver.Message) int {
	for i, m := range slices.Backward(messages) {
		if m.Role == "user" {
			return i
		}
	}
	return len(messages)
}

// contextEnd ends what the app tells the model at the beginning of the user's message, where the prompt was built for a
// provider that takes no late system message.
const contextEnd = "\n</app-context>\n"

// splitPayload splits the one payload of the recipe context-format, or a message with the app's context, into its
// sections and the question. Any other text is a question as a whole.
func splitPayload(text string) (before, query string) {
	if i := strings.LastIndex(text, contextEnd); i >= 0 {
		return text[:i], strings.TrimSpace(text[i+len(contextEnd):])
	}
	at := payloadQuery.FindAllStringIndex(text, -1)
	if at == nil {
		return "", strings.TrimSpace(text)
	}
	place := at[len(at)-1]
	query, _, _ = strings.Cut(strings.TrimSpace(text[place[1]:]), "\n\n") // an instruction follows
	return text[:place[0]], strings.TrimSpace(query)
}

// textsOf returns the texts of what was found: those that are named content, text or summary.
func textsOf(value any) (texts []string) {
	switch v := value.(type) {
	case []any:
		for _, element := range v {
			texts = append(texts, textsOf(element)...)
		}
	case map[string]any:
		for name, element := range v {
			if text, isText := element.(string); isText && slices.Contains([]string{"content", "text", "summary"}, name) {
				texts = append(texts, text)
			}
			texts = append(texts, textsOf(element)...)
		}
		slices.Sort(texts) // the same answer each time
	}
	return texts
}
