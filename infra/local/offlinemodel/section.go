package offlinemodel

import (
	"regexp"
	"strings"
)

// line is one line of a prompt with the place it stands in.
type line struct {
	heading string // the section, lower case: "recent activity in other contexts"
	label   string // what stands in brackets before the text: "Program Designer - 2 hours ago"
	speaker string // user or assistant, in transcripts
	text    string
}

// The forms in which prompts mark their sections and lines. Every recipe of design 2 uses some of them.
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

// readSections reads a prompt line by line. It takes markdown headings, XML tags and headings in capitals alike.
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

// sectionReader keeps the section that the lines read so far opened.
type sectionReader struct {
	heading string
	label   string   // of the innermost tag
	tags    []string // open tags' names
}

// read takes the next line and returns what it says, if anything.
func (r *sectionReader) read(raw string) (line, bool) {
	if guarded, ok := strings.CutPrefix(raw, `\`); ok { // a user's text that only looks like structure
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
	l := r.say(strings.TrimSpace(rest))
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

// open enters a tag: the outer ones name the section, the attributes of the inner ones label what they hold.
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

// say reads a line's label, speaker and text.
func (r *sectionReader) say(text string) line {
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

// speakerRole maps the names that prompts give to the two sides of a conversation to their roles.
func speakerRole(name string) string {
	switch strings.ToLower(name) {
	case "user", "human":
		return "user"
	default:
		return "assistant"
	}
}
