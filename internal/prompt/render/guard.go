package render

import (
	"strings"
	"unicode"

	"github.com/throughline/throughline/internal/untrusted"
)

// containsByte is strings.ContainsAny for characters of ASCII. It is several times as fast on long texts without them.
func containsByte(text, characters string) bool {
	for i := range len(characters) {
		if strings.IndexByte(text, characters[i]) >= 0 {
			return true
		}
	}
	return false
}

// guardLines writes a backslash before the first visible character of each line that begins like the format's
// structure, or with a backslash. No line of content can then be mistaken for structure, and the original can be read
// back.
func guardLines(text string, isStructure func(line string) bool) string {
	var b strings.Builder
	done := 0
	for start := 0; start < len(text); {
		end := len(text)
		if i := strings.IndexByte(text[start:], '\n'); i >= 0 {
			end = start + i + 1
		}
		at := start + untrusted.FirstVisible(text[start:end])
		if at < end && (text[at] == '\\' || isStructure(text[at:end])) {
			b.WriteString(text[done:at])
			b.WriteByte('\\')
			done = at
		}
		start = end
	}
	if b.Len() == 0 {
		return text
	}
	b.WriteString(text[done:])
	return b.String()
}

// isMarkdownStructure reports whether a line begins with what the Markdown recipes use as structure: headings, labels
// of items, fences, tags, and rules, which would make a heading of the line above or end the section.
func isMarkdownStructure(line string) bool {
	switch line[0] {
	case '#', '[', '<':
		return true
	case '=', '-', '*', '_':
		rule := strings.TrimSpace(line)
		return len(rule) > 1 && strings.Trim(rule, line[:1]+" \t") == ""
	case '`', '~':
		return strings.HasPrefix(line, "```") || strings.HasPrefix(line, "~~~")
	}
	return false
}

// startsWithLabel returns a check for lines that begin with one of the labels of a plain-text format, whatever their
// case and spacing.
func startsWithLabel(labels ...string) func(line string) bool {
	folded := make([]string, len(labels))
	for i, l := range labels {
		folded[i] = foldLabel(l, len(l))
	}
	return func(line string) bool {
		for _, l := range folded {
			if foldLabel(line, len(l)) == l {
				return true
			}
		}
		return false
	}
}

// foldLabel returns the first n visible characters of a line, in lower case.
func foldLabel(line string, n int) string {
	folded := make([]rune, 0, n)
	for _, r := range line {
		if untrusted.IsBlank(r) {
			continue
		}
		if len(folded) == n {
			break
		}
		folded = append(folded, unicode.ToLower(r))
	}
	return string(folded)
}

// xmlEscaper writes text that can neither open nor close a tag.
var xmlEscaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// escapeXML is the guard of the XML recipe. Its result has no tags, and no line that begins like another speaker's.
func escapeXML(text string) string {
	if containsByte(text, "&<>") {
		text = xmlEscaper.Replace(text)
	}
	return guardLines(text, func(line string) bool { return line[0] == '[' })
}

// trimEnd removes the line feeds from a section's end.
func trimEnd(text string) string { return strings.TrimRight(text, "\n") }
