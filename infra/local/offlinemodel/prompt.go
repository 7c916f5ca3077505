package offlinemodel

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/throughline/throughline/infra/local/openaiserver"
)

// passage is a piece of a prompt that an answer may quote.
type passage struct {
	text, label string
	source      source
	score       float64
}

// source is where a passage was found.
type source uint8

const (
	fromPrompt   source = iota
	fromActivity        // the section about other contexts
	fromTool            // a tool's result
)

// prompt is a conversation as the answer sees it.
type prompt struct {
	query    string
	passages []passage
	searched bool // a tool was called for this query
	receipt  *receipt
}

// The forms in which prompts mark their sections and lines. Each recipe uses some of them.
var (
	heading = regexp.MustCompile(`^(?:#{1,6}\s+(.+)|\[([A-Z][A-Z '/_-]+)\]:?|([A-Z][A-Z '_-]{3,}(?:\([^)]*\))?):|` +
		`<([a-z][\w-]*)>)$`)
	tags          = regexp.MustCompile(`<[^<>]*>`)
	bracketLabel  = regexp.MustCompile(`^(?:[-*•]\s+)?\[([^\]\n]{1,120})\]:?\s*(.*)$`)
	speakerPrefix = regexp.MustCompile(`^(?i:(user|human|assistant|you|coach))\s*(?:\([^)]*\))?:\s+(.*)$`)
	bullet        = regexp.MustCompile(`^(?:[-*•]|\d{1,2}[.)])\s+`)
	payloadQuery  = regexp.MustCompile(`(?m)^CURRENT QUERY:[ \t]*\n?`)
	// ownWords matches the place in a line where this model's own words begin.
	ownWords = regexp.MustCompile(`\s*(?:\S*[Aa]ssistant:?\s*)?["'“]?` + regexp.QuoteMeta(ownMark))
	// silent sections are instructions, which say nothing about the user.
	silent = regexp.MustCompile(`role|persona|instruction|mandatory|rule|guideline|expertise|thread status|current|` +
		`how to|search before|^now\b|tools?\b`)
	instructionStart = regexp.MustCompile(`(?i)^(use|do not|don't|never|always|you|your|if|when|treat|answer|respond|` +
		`please|the user recently had|these are|this is|below|what follows|everything|search|call) `)
)

// readPrompt splits a conversation into the question and the passages that may answer it.
func readPrompt(messages []openaiserver.Message) (p prompt) {
	last := lastUserMessage(messages)
	for i, m := range messages {
		switch {
		case i == last:
			var before string
			before, p.query = splitPayload(m.Text)
			p.passages = append(p.passages, sections(before)...)
		case m.Role == "tool":
			p.searched = p.searched || i > last
			var forgot receipt
			if i > last && json.Unmarshal([]byte(m.Text), &forgot) == nil && forgot.Forgotten != nil {
				p.receipt = &forgot
			}
			var result any
			if json.Unmarshal([]byte(m.Text), &result) == nil {
				p.passages = append(p.passages, jsonPassages(result)...)
			}
		case m.Role == "system" || m.Role == "developer":
			p.passages = append(p.passages, sections(m.Text)...)
		case m.Role == "assistant":
			p.passages = append(p.passages, cut(m.Text, passage{label: "earlier, I"})...)
		default:
			p.passages = append(p.passages, cut(m.Text, passage{label: "earlier, you"})...)
		}
	}
	p.passages = distinct(p.passages, p.query)
	return p
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
	query = strings.TrimSpace(text[place[1]:])
	if end := strings.LastIndex(query, "\n\n"); end > 0 { // the instruction after it
		query = query[:end]
	}
	return text[:place[0]], strings.TrimSpace(query)
}

// sections reads what a system text says about the user, line by line below its headings. A text without a heading is
// probably the persona, and instructions say nothing about the user.
func sections(text string) (passages []passage) {
	section := ""
	for raw := range strings.Lines(text) {
		raw = strings.TrimSpace(raw)
		guarded, isGuarded := strings.CutPrefix(raw, `\`) // text of a user that only looks like structure
		if m := heading.FindStringSubmatch(raw); m != nil && !isGuarded {
			section = strings.ToLower(strings.Join(m[1:], ""))
			continue
		}
		if section == "" || silent.MatchString(section) {
			continue
		}
		line := passage{text: guarded}
		if !isGuarded {
			line = labelled(strings.TrimSpace(tags.ReplaceAllString(raw, "")))
		}
		if strings.Contains(section, "activity") && line.label != "" {
			line.source = fromActivity
		}
		passages = append(passages, cut(line.text, line)...)
	}
	return passages
}

// labelled takes a line's label and speaker from its text.
func labelled(line string) passage {
	p := passage{text: line}
	if m := bracketLabel.FindStringSubmatch(p.text); m != nil {
		p.label, p.text = m[1], m[2]
	}
	p.text = bullet.ReplaceAllString(p.text, "")
	if m := speakerPrefix.FindStringSubmatch(p.text); m != nil {
		p.text = m[2]
	}
	return p
}

// cut cuts a text into passages of one sentence, or of two where the first is short. This model's own words end it, and
// instructions without a label are left out.
func cut(text string, like passage) (passages []passage) {
	const short, quotable = 70, 3
	if at := ownWords.FindStringIndex(text); at != nil {
		text = text[:at[0]]
	}
	for _, sentence := range splitSentences(text) {
		next, last := like, len(passages)-1
		next.text = oneLine(sentence)
		switch {
		case like.source == fromPrompt && like.label == "" && instructionStart.MatchString(sentence):
		case last >= 0 && len(passages[last].text) < short:
			passages[last].text += " " + next.text
		default:
			passages = append(passages, next)
		}
	}
	return slices.DeleteFunc(passages, func(p passage) bool { return len(p.text) < quotable })
}

// jsonPassages reads a tool's result: the texts in its JSON with their labels.
func jsonPassages(value any) (passages []passage) {
	switch v := value.(type) {
	case []any:
		for _, element := range v {
			passages = append(passages, jsonPassages(element)...)
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			text, isText := v[name].(string)
			switch {
			case !isText:
				passages = append(passages, jsonPassages(v[name])...)
			case name == "content" || name == "text" || name == "summary":
				passages = append(passages, cut(text, passage{label: jsonLabel(v), source: fromTool})...)
			}
		}
	}
	return passages
}

// jsonLabel says where and when a record of a tool's result was said.
func jsonLabel(record map[string]any) string {
	var parts []string
	for _, name := range []string{"context", "ageLabel", "when", "timestamp", "occurredAt"} {
		if text, ok := record[name].(string); ok && len(parts) < 2 {
			parts = append(parts, strings.ReplaceAll(text, "_", " "))
		}
	}
	return strings.Join(parts, " - ")
}

// distinct drops passages that say the same as an earlier one or as the question.
func distinct(passages []passage, query string) []passage {
	normal := func(text string) string { return strings.ToLower(oneLine(text)) }
	seen := map[string]bool{normal(query): true}
	for _, sentence := range splitSentences(query) {
		seen[normal(sentence)] = true
	}
	return slices.DeleteFunc(passages, func(p passage) bool {
		known := seen[normal(p.text)]
		seen[normal(p.text)] = true
		return known
	})
}
