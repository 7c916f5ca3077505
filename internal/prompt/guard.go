package prompt

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/throughline/throughline/internal/truncate"
)

// clean removes control characters except tab and line feed, bidirectional overrides and isolates, byte-order marks
// and tag characters, writes every kind of line break as a line feed, and replaces bytes that are not UTF-8.
func clean(text string) string {
	if isClean(text) {
		return text
	}
	var b strings.Builder
	b.Grow(len(text))
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == '\r' && strings.HasPrefix(text[i+size:], "\n"):
		case isLineBreak(r):
			b.WriteByte('\n')
		case !isHidden(r):
			b.WriteRune(r)
		}
		i += size
	}
	return b.String()
}

func isClean(text string) bool {
	for i := 0; i < len(text); {
		c := text[i]
		if c < utf8.RuneSelf {
			if c < ' ' && c != '\n' && c != '\t' || c == 0x7f {
				return false
			}
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		if r == utf8.RuneError && size == 1 || isHidden(r) || isLineBreak(r) {
			return false
		}
		i += size
	}
	return true
}

// isLineBreak reports whether the character ends a line for some reader of the prompt.
func isLineBreak(r rune) bool {
	switch r {
	case '\n', '\r', '\v', '\f', '\u0085', '\u2028', '\u2029':
		return true
	}
	return false
}

// isHidden reports whether the character acts without being seen: controls, directional overrides, embeddings and
// isolates, byte-order marks, tag characters. Joiners stay: emoji and several scripts are written with them.
func isHidden(r rune) bool {
	switch {
	case r == '\t' || r == '\n':
		return false
	case r < ' ', 0x7f <= r && r < 0xa0:
		return true
	case 0x202a <= r && r <= 0x202e, 0x2066 <= r && r <= 0x2069, 0x206a <= r && r <= 0x206f:
		return true
	case r == 0xfeff, r == 0xfffe, r == 0xffff, 0xe0000 <= r && r <= 0xe007f, 0xfff9 <= r && r <= 0xfffb:
		return true
	}
	return false
}

// oneLine folds a text into one line, so that it can neither begin a line nor end an item.
func oneLine(text string) string {
	if !strings.ContainsAny(text, "\n\t") {
		return strings.TrimSpace(text)
	}
	return strings.Join(strings.Fields(text), " ")
}

// guardLines puts a backslash before what a line shows first where that begins something which is structure in the
// format, or a backslash: what was written can be read back, and no line of content passes for structure.
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

// shownAt returns where a line's first character stands that can be seen: white space and format characters, such as
// joiners and zero-width spaces, do not make a heading less of a heading.
func firstVisible(line string) int {
	for i, r := range line {
		if !unicode.IsSpace(r) && !unicode.Is(unicode.Cf, r) && !unicode.Is(unicode.Mn, r) {
			return i
		}
	}
	return len(line)
}

// markdownDanger reports whether a line begins with what the Markdown recipes use as structure: headings, the labels
// of items, fences that would swallow what follows, and tags; or is a rule, which would make a heading of the line above
// it or end the section.
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

// labelDanger returns a check for lines that begin with one of the labels that a plain-text format consists of,
// whatever their case and spacing.
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

// foldLabel returns the first n letters and signs of a line, in lower case and without white space and characters
// that are not seen.
func foldLabel(line string, n int) string {
	folded := make([]rune, 0, n)
	for _, r := range line {
		if unicode.IsSpace(r) || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Mn, r) {
			continue
		}
		if len(folded) == n {
			break
		}
		folded = append(folded, unicode.ToLower(r))
	}
	return string(folded)
}

// xmlEscaper writes text so that it can neither open nor close a tag.
var xmlEscaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// escapeXML is the guard of the XML recipe: no tags, and no line that begins like another speaker's.
func escapeXML(text string) string {
	if strings.ContainsAny(text, "&<>") {
		text = xmlEscaper.Replace(text)
	}
	return guardLines(text, func(line string) bool { return line[0] == '[' })
}

func guardMarkdown(text string) string { return guardLines(text, isMarkdownStructure) }

// goesOn stands at the end of a text that was cut.
const ellipsis = "…"

// shortened is at most n characters of a text that is longer, with a sign that it goes on.
func shortened(text string, n int) string {
	return strings.TrimRight(truncate.Runes(text, n-1), " \t\r\n") + ellipsis
}

// excerpt is a text in one line of at most n characters, with a sign where it goes on.
func excerpt(text string, n int) string {
	line := oneLine(clean(text))
	if len(truncate.Runes(line, n)) == len(line) {
		return line
	}
	return shortened(line, n)
}

// says reports whether a reader sees anything of a stored text once it is clean.
func hasVisibleText(text string) bool {
	if r, _ := utf8.DecodeRuneInString(text); unicode.IsLetter(r) || unicode.IsDigit(r) {
		return true // as nearly every text begins; cleaning takes longer
	}
	text = clean(text)
	return firstVisible(text) < len(text)
}

// trimEnd takes the line feeds off a section's end.
func trimEnd(text string) string { return strings.TrimRight(text, "\n") }
