package secret

import (
	"strings"
	"unicode/utf8"
)

// scan is what one pass over a text says of it: which hints it has, and how many digits its longest number has, with
// spaces and hyphens in it.
type scan struct {
	hints   map[string]bool
	longest int
}

// shortHint is the only hint of two bytes.
const shortHint = "pw"

// leastDigits is the least length of a number for which rules without hints look.
const leastDigits = 8

// listOf says which of the lists has the hints that begin with a triple of bytes. The first list is empty.
var listOf, hintLists = func() (of [triples]uint16, lists [][]string) {
	lists = make([][]string, 1)
	for _, r := range rules {
		for _, hint := range r.hints {
			if hint == shortHint {
				continue
			}
			triple := nextTriple(nextTriple(uint16(hint[0]), hint[1]), hint[2])
			if of[triple] == 0 {
				of[triple], lists = uint16(len(lists)), append(lists, nil)
			}
			lists[of[triple]] = append(lists[of[triple]], hint)
		}
	}
	return of, lists
}()

// byteForm is what a scan does with a byte: its lower case, what it adds to the digits of a number, and a mask that
// ends the number.
type byteForm struct {
	lower      byte
	adds, mask int32
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
	var triple uint16
	var digits, longest int32
	all := byte(0)
	for i := range len(text) {
		f := &byteForms[text[i]]
		triple = nextTriple(triple, f.lower)
		if list := listOf[triple]; list != 0 {
			t.match(hintLists[list], text[max(i-2, 0):])
		}
		if f.lower == shortHint[1] && i > 0 && byteForms[text[i-1]].lower == shortHint[0] {
			t.note(shortHint)
		}
		digits = (digits + f.adds) & f.mask
		longest = max(longest, digits)
		all |= f.lower
	}
	t.longest = max(t.longest, int(longest))
	if all < utf8.RuneSelf {
		return
	}
	if lower := strings.ToLower(text); lower != text {
		t.read(lower) // adds its hints
	}
}

// match notes the hints with which a text begins.
func (t *scan) match(hints []string, text string) {
	for _, hint := range hints {
		n := 0
		for n < min(len(hint), len(text)) && byteForms[text[n]].lower == hint[n] {
			n++
		}
		if n == len(hint) {
			t.note(hint)
		}
	}
}

func (t *scan) note(hint string) {
	if t.hints == nil {
		t.hints = map[string]bool{}
	}
	t.hints[hint] = true
}

// triples is how many numbers of three bytes there are. Letters differ in their last 5 bits.
const triples = 1 << 15

// nextTriple is the number of a byte and the two before it. What was before these is shifted out.
func nextTriple(before uint16, c byte) uint16 { return (before<<5 ^ uint16(c)) % triples }

// has reports whether the text has a hint.
func (t *scan) has(hint string) bool { return t.hints[hint] }

// isPlain reports whether no rule applies to the text.
func (t *scan) isPlain() bool { return t.hints == nil && t.longest < leastDigits }
