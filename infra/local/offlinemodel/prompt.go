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
	trust  float64 // how much weight its section gives it
}

// source is where a passage was found.
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

// ownMark begins every answer of this model. A text with this mark is never quoted, because an answer must not be based
// on an earlier answer.
const ownMark = "(throughline-offline)"

// sectionTrust is the trust in passages by the heading of their section. The first that matches decides.
var sectionTrust = []struct {
	heading *regexp.Regexp
	trust   float64
}{
	{regexp.MustCompile(`role|persona|instruction|mandatory|rule|guideline|expertise|thread status|current (query|` +
		`message)|how to|search before|^now\b|tools?\b`), 0},
	{regexp.MustCompile(`activity|other contexts`), 1.6},
	{regexp.MustCompile(`memor|safety|relevant|previous context|loop|know about`), 1.4},
	{regexp.MustCompile(`.`), 1.2},
}

// instructionStart matches sentences to the model, which say nothing about the user.
var instructionStart = regexp.MustCompile(`(?i)^(use |do not |don't |never |always |you |your |if |when |treat |` +
	`answer |respond|please |the user recently had|these are|this is |below|what follows|everything |search |call )`)

// readPrompt splits a request into the question and the passages that may answer it.
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

// splitPayload splits the one payload of the recipe context-format into its sections and the question. Any other text
// is a question as a whole.
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

// ownWords matches the place in a line where this model's own words begin.
var ownWords = regexp.MustCompile(`\s*(?:\S*[Aa]ssistant:?\s*)?["'“]?` + regexp.QuoteMeta(ownMark))

// beforeOwn returns the part of a line before this model's own words.
func beforeOwn(text string) string {
	if at := ownWords.FindStringIndex(text); at != nil {
		return strings.TrimSpace(text[:at[0]])
	}
	return text
}

// sectionPassages reads what a system text says about the user.
func sectionPassages(text string) []passage {
	var passages []passage
	for _, l := range readSections(text) {
		if l.text = beforeOwn(l.text); l.text == "" {
			continue
		}
		trust, from := 0.3, fromPrompt // a text without a heading is probably the persona
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

// cutPassages cuts a text into passages of one sentence, or of two where the first is short.
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

// toolPassages reads a tool's result: the texts in its JSON with their labels, or its lines.
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

// line is one line of a prompt with its section.
type line struct {
	heading string // the section, lower case: "recent activity in other contexts"
	label   string // the text in brackets before it: "Program Designer - 2 hours ago"
	speaker string // user or assistant, in transcripts
	text    string
}

// The forms in which prompts mark their sections and lines. Each recipe uses some of them.
var (
	markdownHeading = regexp.MustCompile(`^#{1,6}\s+(.+)$`)
	bracketHeading  = regexp.MustCompile(`^\[([A-Z][A-Z '/_-]+)\]:?\s*(.*)$`)
	capitalHeading  = regexp.MustCompile(`^([A-Z][A-Z '_-]{3,}(?:\([^)]*\))?):\s*(.*)$`)
	plainHeading    = regexp.MustCompile(`^((?:Recent|User|Conversation|Session|Open|Latest)[A-Za-z ]{2,24}):\s*(.*)$`)
	openingTag      = regexp.MustCompile(`^<([A-Za-z][\w-]*)((?:\s[^<>]*)?)>(.*)$`)
	closingTag      = regexp.MustCompile(`</[A-Za-z][\w-]*>\s*$`)
	attributeValue  = regexp.MustCompile(`="([^"]*)"`)
	bracketLabel    = regexp.MustCompile(`^(?:[-*•]\s+)?\[([^\]\n]{1,120})\]:?\s*(.*)$`)
	speakerPrefix   = regexp.MustCompile(`^(?i:(user|human|assistant|you|coach))\s*(?:\([^)]*\))?:\s+(.*)$`)
	speakerLabel    = regexp.MustCompile(`^(?i:(user|human|assistant|you))\b|, (user|assistant)$`)
	bullet          = regexp.MustCompile(`^(?:[-*•]|\d{1,2}[.)])\s+`)
)

// readSections reads a prompt line by line. It knows markdown headings, XML tags and headings in capitals.
func readSections(text string) []line {
	var lines []line
	reader := sectionReader{}
	for raw := range strings.Lines(text) {
		l, ok := reader.read(strings.TrimSpace(raw))
		if ok && l.text != "" {
			lines = append(lines, l)
		}
	}
	return lines
}

// sectionReader keeps the section of the lines read so far.
type sectionReader struct {
	heading string
	label   string   // of the innermost tag
	tags    []string // open tags' names
}

// read takes the next line. ok is false where it has no text.
func (r *sectionReader) read(raw string) (line, bool) {
	if guarded, ok := strings.CutPrefix(raw, `\`); ok { // text of a user that only looks like structure
		return line{heading: r.heading, label: r.label, text: guarded}, true
	}
	if heading, rest, ok := r.matchHeading(raw); ok {
		r.heading, r.label = strings.ToLower(heading), ""
		raw = strings.TrimSpace(rest)
	} else if m := openingTag.FindStringSubmatch(raw); m != nil {
		r.open(m[1], m[2])
		raw = strings.TrimSpace(m[3])
	}
	rest := closingTag.ReplaceAllString(raw, "")
	closes := rest != raw
	l := r.split(strings.TrimSpace(rest))
	if closes {
		r.close()
	}
	return l, l.text != ""
}

func (r *sectionReader) matchHeading(raw string) (heading, rest string, ok bool) {
	for _, form := range []*regexp.Regexp{markdownHeading, bracketHeading, capitalHeading, plainHeading} {
		if m := form.FindStringSubmatch(raw); m != nil {
			return m[1], strings.Join(m[2:], ""), true
		}
	}
	return "", "", false
}

// open enters a tag. The names of all open tags name the section; the attributes of the innermost are the label.
func (r *sectionReader) open(name, attributes string) {
	r.tags = append(r.tags, strings.NewReplacer("-", " ", "_", " ").Replace(strings.ToLower(name)))
	r.heading = strings.Join(r.tags, " ")
	r.label = ""
	var values []string
	for _, m := range attributeValue.FindAllStringSubmatch(attributes, -1) {
		values = append(values, m[1])
	}
	r.label = strings.Join(values, " - ")
}

func (r *sectionReader) close() {
	if len(r.tags) > 0 {
		r.tags = r.tags[:len(r.tags)-1]
	}
	r.heading, r.label = strings.Join(r.tags, " "), ""
}

// split reads a line's label, speaker and text.
func (r *sectionReader) split(text string) line {
	l := line{heading: r.heading, label: r.label, text: text}
	if m := bracketLabel.FindStringSubmatch(text); m != nil {
		l.label, l.text = m[1], m[2]
	}
	l.text = bullet.ReplaceAllString(l.text, "")
	if m := speakerLabel.FindStringSubmatch(l.label); m != nil {
		l.speaker = speakerRole(m[1] + m[2])
	}
	if m := speakerPrefix.FindStringSubmatch(l.text); m != nil {
		l.speaker, l.text = speakerRole(m[1]), m[2]
	}
	return l
}

// speakerRole returns the role of a speaker by one of the names that prompts use.
func speakerRole(name string) string {
	switch strings.ToLower(name) {
	case "user", "human":
		return "user"
	default:
		return "assistant"
	}
}
