package secret

import (
	"strings"
	"unicode/utf8"
)

// scan is what one pass over a text says of it: the set of its triples of bytes in lower case, which rules most hints
// out, and how many digits its longest number has, with spaces and hyphens in it.
type scan struct {
	text, lower string
	triples     [1 << 16 / 64]uint64
	longest     int
}

// byteForm is what a scan does with a byte: its lower case, what it adds to the digits of a number, and a mask that
// ends the number.
type byteForm struct {
	lower      byte
	adds, mask int
}

// byteForms is a table because each message of a prompt is scanned.
var byteForms = func() (forms [256]byteForm) {
	for c := range forms {
		f := &forms[c]
		switch f.lower = byte(c); {
		case '0' <= c && c <= '9':
			f.adds, f.mask = 1, -1
		case c == ' ' || c == '-':
			f.mask = -1
		case 'A' <= c && c <= 'Z':
			f.lower += 'a' - 'A'
		}
	}
	return forms
}()

// read reads a text, and again with its letters in lower case where these are not ASCII's alone.
func (t *scan) read(text string) {
	t.text = text
	var triple uint16
	digits, all := 0, byte(0)
	for i := range len(text) {
		f := &byteForms[text[i]]
		triple = nextTriple(triple, f.lower)
		t.triples[triple/64] |= 1 << (triple % 64)
		digits = (digits + f.adds) & f.mask
		t.longest = max(t.longest, digits)
		all |= f.lower
	}
	if all < utf8.RuneSelf {
		return
	}
	if lower := strings.ToLower(text); lower != text {
		t.read(lower) // adds its triples
	}
}

// nextTriple is the number of a byte and the two before it. What was before these is shifted out.
func nextTriple(before uint16, c byte) uint16 { return before<<6 ^ uint16(c) }

// mayHave reports whether the text may have a hint.
func (t *scan) mayHave(hint string) bool {
	if len(hint) < 3 {
		return strings.Contains(t.text, hint)
	}
	triple := nextTriple(uint16(hint[0]), hint[1])
	for i := 2; i < len(hint); i++ {
		if triple = nextTriple(triple, hint[i]); t.triples[triple/64]&(1<<(triple%64)) == 0 {
			return false
		}
	}
	if t.lower == "" {
		t.lower = strings.ToLower(t.text)
	}
	return strings.Contains(t.lower, hint)
}
