package prompt

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/throughline/throughline/internal/truncate"
	"github.com/throughline/throughline/internal/untrusted"
)

// oneLine folds a text into one line, so that it can neither begin a line nor end an item.
func oneLine(text string) string {
	if !containsByte(text, "\n\t") {
		return strings.TrimSpace(text)
	}
	return strings.Join(strings.Fields(text), " ")
}

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
		if at := start + firstVisible(text[start:end]); at < end && (text[at] == '\\' || isStructure(text[at:end])) {
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

// unguardLines is the inverse of guardLines.
func unguardLines(text string) string {
	lines := strings.SplitAfter(text, "\n")
	for i, line := range lines {
		if at := firstVisible(line); at < len(line) && line[at] == '\\' {
			lines[i] = line[:at] + line[at+1:]
		}
	}
	return strings.Join(lines, "")
}

// firstVisible returns the index of a line's first visible character. White space, joiners and marks do not keep a line
// from being a heading.
func firstVisible(line string) int {
	for i, r := range line {
		if !untrusted.IsBlank(r) {
			return i
		}
	}
	return len(line)
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

func guardMarkdown(text string) string { return guardLines(text, isMarkdownStructure) }

// ellipsis ends a text that was cut.
const ellipsis = "…"

// shortened cuts a longer text to at most n characters, the ellipsis included.
func shortened(text string, n int) string {
	return strings.TrimRight(truncate.Runes(text, n-1), " \t\r\n") + ellipsis
}

// excerpt returns a text in one line of at most n characters, with an ellipsis if it was cut.
func excerpt(text string, n int) string {
	line := oneLine(untrusted.Clean(text))
	if len(truncate.Runes(line, n)) == len(line) {
		return line
	}
	return shortened(line, n)
}

// hasVisibleText reports whether a reader sees anything of a stored text once it is clean.
func hasVisibleText(text string) bool {
	if r, _ := utf8.DecodeRuneInString(text); unicode.IsLetter(r) || unicode.IsDigit(r) {
		return true // as nearly every text begins; cleaning takes longer
	}
	text = untrusted.Clean(text)
	return firstVisible(text) < len(text)
}

// trimEnd removes the line feeds from a section's end.
func trimEnd(text string) string { return strings.TrimRight(text, "\n") }
