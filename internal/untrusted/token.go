package untrusted

import (
	_ "embed" // the control tokens
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

//go:embed tokens.txt
var tokenText string

// tokenTable has the control tokens of tokens.txt in the form in which a text is compared with them.
type tokenTable struct {
	// names are the names in angle or square brackets, in lower case.
	names map[rune]map[string]bool
	// literals are the tokens of another form.
	literals []string
}

// controlTokens are the control tokens of chat templates, which tell a model where a turn begins and who speaks. A
// server that finds one in a text would take what follows for a turn of the system. They are read when the first text
// needs them, because few texts do.
var controlTokens = sync.OnceValue(func() tokenTable {
	table := tokenTable{names: map[rune]map[string]bool{'<': {}, '[': {}}}
	for line := range strings.Lines(tokenText) {
		token := strings.TrimSpace(line)
		if token == "" || token[0] == '#' {
			continue
		}
		name := strings.Trim(token, "<[/]>")
		switch {
		case strings.ContainsAny(token[1:], "~<") && !strings.HasPrefix(token, "<<"):
			table.literals = append(table.literals, token)
		case isName(name):
			table.names[rune(token[0])][strings.ToLower(name)] = true
		}
	}
	return table
})

// maxName is the greatest length of a token's name in bytes. It bounds how far each bracket looks ahead.
const maxName = 64

// BreakTokens writes a backslash into each control token, after what opens it. A reader still sees what was written.
// The parts of a token may be in any case and in full width, and white space or invisible characters may be between
// them. Nearly all text has no bracket of a token and is returned as it is. The time grows linearly with the text.
func BreakTokens(text string) string {
	if !mayOpen(text) {
		return text
	}
	table := controlTokens()
	var b strings.Builder
	done := 0
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		if at := table.opening(text[i:], r, size); at > 0 {
			b.WriteString(text[done : i+at])
			b.WriteByte('\\')
			done = i + at
		}
		i = max(i+size, done)
	}
	if done == 0 {
		return text
	}
	return b.String() + text[done:]
}

// leads are the first bytes, in UTF-8, of the characters that a control token may begin with.
var leads = []byte{'<', '[', ']', 0xE2, 0xE3, 0xEF}

// mayOpen reports whether a text has a character that a control token may begin with. The search for the bytes is
// faster than a look at each character, and decides nearly all text.
func mayOpen(text string) bool {
	hasByte := func(b byte) bool { return strings.IndexByte(text, b) >= 0 }
	return slices.ContainsFunc(leads, hasByte) && strings.IndexFunc(text, opens) >= 0
}

// opening returns the length of what opens the control token at the beginning of a text, or 0 if there is none. The
// text begins with the character r of so many bytes.
func (t tokenTable) opening(text string, r rune, size int) int {
	if !opens(r) {
		return 0
	}
	beginsText := func(literal string) bool { return strings.HasPrefix(text, literal) }
	if (r == ']' || r == '[') && slices.ContainsFunc(t.literals, beginsText) {
		return size
	}
	kind := bracket(r)
	if kind == 0 {
		return 0
	}
	at := size + gap(text[size:])
	next, width := utf8.DecodeRuneInString(text[at:])
	if kind == '<' && bracket(next) == '<' { // <<SYS>>
		at += width
		at += gap(text[at:])
		next, _ = utf8.DecodeRuneInString(text[at:])
	}
	if isBar(next) || t.isToken(kind, text[at:]) {
		return at
	}
	return 0
}

// isToken reports whether a text begins with the name of a token and the bracket that ends it.
func (t tokenTable) isToken(kind rune, text string) bool {
	if strings.HasPrefix(text, "/") {
		text = text[1+gap(text[1:]):]
	}
	end := strings.IndexFunc(text[:min(len(text), maxName+1)], func(r rune) bool { return !isNameRune(r) })
	if end <= 0 {
		return false
	}
	name := strings.ToLower(text[:end])
	last, _ := utf8.DecodeRuneInString(text[end+gap(text[end:]):])
	return closes(kind, last) && (strings.ContainsAny(strings.Trim(name, "_:"), "_:") || t.names[kind][name])
}

// bracket returns '<' or '[' for a character that looks like it, and 0 for any other.
func bracket(r rune) rune {
	switch r {
	case '<', '＜', '﹤', '‹', '〈', '⟨':
		return '<'
	case '[', '［':
		return '['
	}
	return 0
}

// opens reports whether a control token may begin with a character. Most of a text is small letters, which come after
// these in ASCII. The first comparison decides them.
func opens(r rune) bool {
	return (r <= ']' || r >= utf8.RuneSelf) && (r == ']' || bracket(r) != 0)
}

// closes reports whether a character looks like the bracket that ends a token.
func closes(kind, r rune) bool {
	switch r {
	case '>', '＞', '﹥', '›', '〉', '⟩':
		return kind == '<'
	case ']', '］':
		return kind == '['
	}
	return false
}

// isBar reports whether a character looks like the bar of <|im_start|>.
func isBar(r rune) bool {
	switch r {
	case '|', '｜', '¦', '∣', '│', 'ǀ', '❘', '︱', '┃', '⏐':
		return true
	}
	return false
}

// gap returns the length of the blank characters at the beginning of a text.
func gap(text string) int {
	for i, r := range text {
		isGap := r <= ' ' || r == 0x7f
		if r >= utf8.RuneSelf {
			isGap = IsBlank(r) || unicode.In(r, unicode.Z, unicode.Cc, unicode.Cf)
		}
		if !isGap {
			return i
		}
	}
	return len(text)
}

func isName(s string) bool {
	return s != "" && strings.IndexFunc(s, func(r rune) bool { return !isNameRune(r) }) < 0
}

func isNameRune(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '_' || r == ':'
}
