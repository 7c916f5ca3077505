// Package untrusted makes texts that users and models wrote safe to show to a model. It knows which characters a reader
// does not see, and which words the templates of chat models take for the end of a turn.
//
// What it returns has lost nothing that could be seen. Keeping a text apart from what is around it is the work of
// the format that it is written in.
package untrusted

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Clean removes what could mislead a reader without being seen: control characters except tab and line feed,
// directional marks and overrides, fillers, tag characters, noncharacters and all other characters that Unicode ignores
// by default. It writes every kind of line break as a line feed and replaces bytes that are not UTF-8. Nearly all text
// is returned as it is, so that its stored token count stays true.
//
// Some of these characters are part of how a language is written, or of an emoji. They stay where they have this
// effect; see joins.
func Clean(text string) string {
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
		case !isHidden(r) || joins(b.String(), r):
			b.WriteRune(r)
		}
		i += size
	}
	return b.String()
}

// OneLine is Clean with single spaces in the place of all white space, so that a text cannot look like two lines.
func OneLine(text string) string {
	separates := func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }
	return strings.Join(strings.FieldsFunc(Clean(text), separates), " ")
}

func isClean(text string) bool {
	for i := 0; i < len(text); {
		c := text[i]
		if isPlain[c] {
			i++
			continue
		}
		if c < utf8.RuneSelf {
			return false
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		if r == utf8.RuneError && size == 1 || isLineBreak(r) || isHidden(r) && !joins(text[:i], r) {
			return false
		}
		i += size
	}
	return true
}

// isPlain has the bytes of ASCII that stay. It is a table because each text of a prompt is read.
var isPlain = func() (plain [256]bool) {
	for c := range utf8.RuneSelf {
		plain[c] = !isHidden(rune(c))
	}
	return plain
}()

// IsBlank reports whether a reader sees nothing where the character is alone: white space, what Clean removes, and
// marks that need another character.
func IsBlank(r rune) bool {
	const brailleBlank = '\u2800'
	return unicode.IsSpace(r) || isHidden(r) || r == brailleBlank || unicode.In(r, unicode.Mn, unicode.Me)
}

// isLineBreak reports whether some reader ends a line at the character.
func isLineBreak(r rune) bool {
	switch r {
	case '\n', '\r', '\v', '\f', '\u0085', '\u2028', '\u2029':
		return true
	}
	return false
}

// isHidden reports whether the character leaves no mark of its own: controls, what Unicode ignores by default,
// noncharacters, the anchors of annotations, and an empty musical note.
func isHidden(r rune) bool {
	switch {
	case r == '\t' || r == '\n':
		return false
	case r < ' ', 0x7f <= r && r < 0xa0:
		return true
	case isIgnorable(r):
		return true
	case 0xfff9 <= r && r <= 0xfffb, r == 0x1d159:
		return true
	}
	return r >= 0xfdd0 && (r <= 0xfdef || r&0xfffe == 0xfffe)
}

// isIgnorable reports whether Unicode ignores the character by default (Default_Ignorable_Code_Point, UAX #44). A test
// compares it with the tables of package unicode, in which a look-up takes longer.
func isIgnorable(r rune) bool {
	switch {
	case r < 0xad:
		return false
	case r < 0x2000:
		return r == 0xad || r == 0x34f || r == 0x61c || r == 0x115f || r == 0x1160 || r == 0x17b4 || r == 0x17b5 ||
			0x180b <= r && r <= 0x180f
	case r < 0x3000:
		return 0x200b <= r && r <= 0x200f || 0x202a <= r && r <= 0x202e || 0x2060 <= r && r <= 0x206f
	case r < 0xfe00:
		return r == 0x3164
	case r < 0x10000:
		return r <= 0xfe0f || r == 0xfeff || r == 0xffa0 || 0xfff0 <= r && r <= 0xfff8
	case r < 0xe0000:
		return 0x1bca0 <= r && r <= 0x1bca3 || 0x1d173 <= r && r <= 0x1d17a
	}
	return r <= 0xe0fff
}

// joins reports whether a character that is not seen itself belongs to the one before it, as it is written:
//
//   - a joiner, a non-joiner or a zero-width space after a letter, mark or symbol outside ASCII. Persian and the
//     scripts of India are spelt with joiners, Thai and Khmer may be divided into words by zero-width spaces, and emoji
//     of several parts are joined.
//   - the selector between the two forms of a symbol, such as the colour of a heart, also after the digits of key caps
//   - a Mongolian selector or vowel separator
//
// One alone may be there, or a joiner after a selector, so that a run of them cannot carry a text. The other
// selectors choose among forms of one character, which read the same, and the tags of flags could spell any text.
func joins(before string, r rune) bool {
	prev, _ := utf8.DecodeLastRuneInString(before)
	isBase := prev >= utf8.RuneSelf && prev != utf8.RuneError && !isHidden(prev) &&
		(unicode.IsLetter(prev) || unicode.IsMark(prev) || unicode.IsSymbol(prev) || unicode.IsPunct(prev))
	switch {
	case r == 0x200d:
		return isBase || prev == 0xfe0f
	case r == 0x200b || r == 0x200c || 0x180b <= r && r <= 0x180f:
		return isBase
	case r == 0xfe0e || r == 0xfe0f:
		return isBase || '0' <= prev && prev <= '9' || prev == '#' || prev == '*'
	}
	return false
}

// FoldLines folds a clean text of several lines into one, so that it can neither begin a line nor end an item. It keeps
// the spaces of a text that is in one line.
func FoldLines(text string) string {
	if strings.IndexByte(text, '\n') < 0 && strings.IndexByte(text, '\t') < 0 {
		return strings.TrimSpace(text)
	}
	return strings.Join(strings.Fields(text), " ")
}

// HasVisible reports whether a reader sees anything of a stored text once it is clean.
func HasVisible(text string) bool {
	if r, _ := utf8.DecodeRuneInString(text); unicode.IsLetter(r) || unicode.IsDigit(r) {
		return true // as nearly every text begins; cleaning takes longer
	}
	text = Clean(text)
	return FirstVisible(text) < len(text)
}

// FirstVisible returns the index of a text's first visible character, or the text's length if it has none. White space,
// joiners and marks do not keep a line from looking like one that begins with the next character.
func FirstVisible(text string) int {
	for i, r := range text {
		if !IsBlank(r) {
			return i
		}
	}
	return len(text)
}
