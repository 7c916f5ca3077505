package prompt

import (
	"regexp"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/throughline/throughline/internal/truncate"
)

// clean removes what could mislead a reader without being seen: control characters except tab and line feed,
// bidirectional overrides and isolates, byte-order marks and tag characters. It writes every kind of line break as a
// line feed and replaces bytes that are not UTF-8. Nearly all text is returned as it is, so that its stored token
// count stays true.
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

// isLineBreak reports whether some reader of the prompt ends a line at the character.
func isLineBreak(r rune) bool {
	switch r {
	case '\n', '\r', '\v', '\f', '\u0085', '\u2028', '\u2029':
		return true
	}
	return false
}

// isHidden reports whether the character has an effect without being seen: controls, directional overrides, embeddings
// and isolates, byte-order marks, tag characters. Joiners stay, because emoji and several scripts need them.
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
	if !containsByte(text, "\n\t") {
		return strings.TrimSpace(text)
	}
	return strings.Join(strings.Fields(text), " ")
}

// controlTokens returns the patterns of the control tokens of chat templates, which tell a model where a turn begins
// and who speaks. A server that finds one in a text would take what follows for a turn of the system. The patterns
// match in any case, with full-width and other look-alikes of the brackets and bars, and with white space or invisible
// characters between the parts. Each has two groups: what opens the token, and the rest. They are compiled when the
// first text needs them, because few texts do.
var controlTokens = sync.OnceValue(func() []*regexp.Regexp {
	return []*regexp.Regexp{
		// <|im_start|>, <|endoftext|>, <|system|>, <|start_header_id|> and all others with bars.
		tokenPattern(openAngle+`GAP`, `[|｜¦∣│ǀ❘︱┃⏐]`),
		// <s>, </s>, <<SYS>>, <start_of_turn> and others without bars.
		tokenPattern(openAngle+`GAP(?:`+openAngle+`GAP)?`, `/?GAP(?:s|bos|eos|pad|unk|sep|cls|mask|sys|eo[tms]|`+
			`(?:start|end|begin)_of_\w+|(?:bos|eos|pad)_token|tool_(?:calls?|responses?)|function_calls?)GAP[>＞﹥›〉⟩]`),
		// [INST], [/INST], [SYSTEM_PROMPT] and others.
		tokenPattern(`[\[［]GAP`, `/?GAP(?:INST|SYS|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS)GAP[\]］]`),
	}
})

// openAngle matches what opens a token in angle brackets.
const openAngle = `[<＜﹤‹〈⟨]`

// tokenPattern returns the pattern of a token, with GAP for the white space and invisible characters that its parts may
// have between them.
func tokenPattern(opening, rest string) *regexp.Regexp {
	const gap = `[\s\p{Cf}\p{Mn}]*`
	return regexp.MustCompile(`(?i)` + strings.ReplaceAll("("+opening+")("+rest+")", "GAP", gap))
}

// breakTokens writes a backslash into each control token, behind what opens it. A reader still sees what was written.
// Nearly all text has no such bracket and is returned as it is.
func breakTokens(text string) string {
	if !containsByte(text, "<[") && !hasLookAlike(text) {
		return text
	}
	for _, token := range controlTokens() {
		text = token.ReplaceAllString(text, `${1}\${2}`)
	}
	return text
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

// hasLookAlike reports whether a text has a bracket that looks like one of a control token's.
func hasLookAlike(text string) bool {
	for _, bracket := range []string{"＜", "﹤", "‹", "〈", "⟨", "［"} {
		if strings.Contains(text, bracket) {
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

// firstVisible returns the index of a line's first visible character. White space and format characters, such as
// joiners and zero-width spaces, do not keep a line from being a heading.
func firstVisible(line string) int {
	for i, r := range line {
		if !unicode.IsSpace(r) && !unicode.Is(unicode.Cf, r) && !unicode.Is(unicode.Mn, r) {
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
	line := oneLine(clean(text))
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
	text = clean(text)
	return firstVisible(text) < len(text)
}

// trimEnd removes the line feeds from a section's end.
func trimEnd(text string) string { return strings.TrimRight(text, "\n") }
