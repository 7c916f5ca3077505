package offlinemodel

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// passage is a piece of a prompt that an answer may quote.
type passage struct {
	text   string
	label  string
	source source
	trust  float64 // how much its place speaks for it
}

// source tells where a passage was found.
type source uint8

const (
	fromPrompt   source = iota
	fromActivity        // the section about other contexts
	fromTool            // a tool's result
)

// prompt is a chat request as the answer sees it.
type prompt struct {
	query    string
	passages []passage
	searched bool // a tool was called for this query
}

// ownMark opens every text that this model wrote for a person. What bears it is never quoted: an answer must not rest
// on an earlier answer.
const ownMark = "(throughline-offline)"

// Trust in passages by the heading of their section: the first that matches decides.
var sectionTrust = []struct {
	heading *regexp.Regexp
	trust   float64
}{
	{regexp.MustCompile(`role|persona|instruction|mandatory|rule|guideline|expertise|thread status|current (query|message)|how to|search before|^now\b|tools?\b`), 0},
	{regexp.MustCompile(`activity|other contexts`), 1.6},
	{regexp.MustCompile(`memor|safety|relevant|previous context|loop|know about`), 1.4},
	{regexp.MustCompile(`.`), 1.2},
}

// instructionStart is how sentences to the model begin, which tell nothing of the user.
var instructionStart = regexp.MustCompile(`(?i)^(use |do not |don't |never |always |you |your |if |when |treat |answer |respond|please |the user recently had|these are|this is |below|what follows|everything |search |call )`)

// readPrompt takes a request apart into the question and what may answer it.
func readPrompt(messages []chatMessage) prompt {
	last := lastUserMessage(messages)
	p := prompt{}
	for i, m := range messages {
		text := m.text()
		switch {
		case i == last:
			var before string
			before, p.query = splitPayload(text)
			p.passages = append(p.passages, sectionPassages(before)...)
		case m.Role == "tool":
			p.searched = p.searched || i > last
			p.passages = append(p.passages, toolPassages(text)...)
		case m.Role == "system" || m.Role == "developer":
			p.passages = append(p.passages, sectionPassages(text)...)
		default:
			p.passages = append(p.passages, turnPassages(m.Role, text)...)
		}
	}
	p.passages = distinct(p.passages, p.query)
	return p
}

func lastUserMessage(messages []chatMessage) int {
	for i, m := range slices.Backward(messages) {
		if m.Role == "user" {
			return i
		}
	}
	return len(messages)
}

var payloadQuery = regexp.MustCompile(`(?m)^CURRENT QUERY:[ \t]*\n?`)

// splitPayload cuts the one payload of the recipe context-format into its sections and the question. Any other text is
// all question.
func splitPayload(text string) (before, query string) {
	at := payloadQuery.FindAllStringIndex(text, -1)
	if at == nil {
		return "", strings.TrimSpace(text)
	}
	cut := at[len(at)-1]
	query = strings.TrimSpace(text[cut[1]:])
	if end := strings.LastIndex(query, "\n\n"); end > 0 { // the instruction after it
		query = query[:end]
	}
	return text[:cut[0]], strings.TrimSpace(query)
}

// ownWords is where a line turns from what others said to what this model said.
var ownWords = regexp.MustCompile(`\s*(?:\S*[Aa]ssistant:?\s*)?["'“]?` + regexp.QuoteMeta(ownMark))

// beforeOwn returns what a line holds in front of this model's own words; nothing where they begin it.
func beforeOwn(text string) string {
	if at := ownWords.FindStringIndex(text); at != nil {
		return strings.TrimSpace(text[:at[0]])
	}
	return text
}

// sectionPassages reads what a system text tells of the user.
func sectionPassages(text string) []passage {
	var passages []passage
	for _, l := range readSections(text) {
		if l.text = beforeOwn(l.text); l.text == "" {
			continue
		}
		trust, from := 0.3, fromPrompt // without a heading it is most likely the persona
		for _, place := range sectionTrust {
			if place.heading.MatchString(l.heading) {
				trust = place.trust
				break
			}
		}
		if l.speaker == "assistant" {
			trust *= 0.5
		}
		if strings.Contains(l.heading, "activity") && l.label != "" {
			from = fromActivity
		}
		passages = append(passages, cutPassages(l.text, passage{label: l.label, trust: trust, source: from})...)
	}
	return passages
}

// turnPassages reads an earlier message of the conversation.
func turnPassages(role, text string) []passage {
	if strings.Contains(text, ownMark) {
		return nil
	}
	like := passage{label: "earlier, you", trust: 1}
	if role == "assistant" {
		like = passage{label: "earlier, I", trust: 0.5}
	}
	return cutPassages(text, like)
}

// cutPassages cuts a text into passages of a sentence or, where it is short, two.
func cutPassages(text string, like passage) []passage {
	const short, quotable = 70, 3
	var passages []passage
	for _, sentence := range splitSentences(text) {
		if last := len(passages) - 1; last >= 0 && len(passages[last].text) < short {
			passages[last].text += " " + sentence
			continue
		}
		next := like
		next.text = oneLine(sentence)
		if like.source == fromPrompt && instructionStart.MatchString(sentence) && like.label == "" {
			next.trust *= 0.1
		}
		passages = append(passages, next)
	}
	return slices.DeleteFunc(passages, func(p passage) bool { return len(p.text) < quotable || p.trust == 0 })
}

// toolPassages reads a tool's result: the texts of its JSON with what stands beside them, or its lines.
func toolPassages(result string) []passage {
	var value any
	if json.Unmarshal([]byte(result), &value) == nil {
		return jsonPassages(value)
	}
	var passages []passage
	for _, l := range readSections(result) {
		if !strings.Contains(l.text, ownMark) {
			passages = append(passages, cutPassages(l.text, passage{label: l.label, trust: 1.5, source: fromTool})...)
		}
	}
	return passages
}

func jsonPassages(value any) []passage {
	var passages []passage
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
			case (name == "content" || name == "text" || name == "summary") && !strings.Contains(text, ownMark):
				like := passage{label: jsonLabel(v), trust: 1.5, source: fromTool}
				if v["role"] == "assistant" {
					like.trust = 0.8
				}
				passages = append(passages, cutPassages(text, like)...)
			}
		}
	}
	return passages
}

// jsonLabel says where and when a record of a tool's result comes from.
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
	seen := map[string]bool{normal(query): true}
	for _, sentence := range splitSentences(query) {
		seen[normal(sentence)] = true
	}
	return slices.DeleteFunc(passages, func(p passage) bool {
		key := normal(p.text)
		known := seen[key]
		seen[key] = true
		return known
	})
}

func normal(text string) string { return strings.ToLower(oneLine(text)) }
