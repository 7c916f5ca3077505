package strictjson

import (
	"strings"
	"unicode/utf8"
)

// str reads a string and returns it as it stands, with its quotes.
func (in *inspector) str() ([]byte, error) {
	start := in.pos
	in.pos++
	for in.pos < len(in.text) {
		switch c := in.text[in.pos]; {
		case c == '"':
			in.pos++
			return in.text[start:in.pos], nil
		case c == '\\':
			if err := in.escape(); err != nil {
				return nil, err
			}
		case c < 0x20:
			return nil, in.syntax("a control character in a string")
		case c < utf8.RuneSelf:
			in.pos++
		default:
			r, size := utf8.DecodeRune(in.text[in.pos:])
			if r == utf8.RuneError && size == 1 {
				return nil, in.invalid("has bytes that are not UTF-8")
			}
			in.pos += size
		}
	}
	return nil, in.syntax("a string without an end")
}

// escape reads one escape, and both halves of a surrogate pair.
func (in *inspector) escape() error {
	if in.pos+1 < len(in.text) && strings.IndexByte(`"\/bfnrt`, in.text[in.pos+1]) >= 0 {
		in.pos += 2
		return nil
	}
	unit, ok := in.hex()
	if !ok {
		return in.syntax("an unknown escape")
	}
	switch {
	case 0xDC00 <= unit && unit < 0xE000:
		return in.invalid("has an escape of half a surrogate pair")
	case 0xD800 <= unit && unit < 0xDC00:
		if low, ok := in.hex(); !ok || low < 0xDC00 || low >= 0xE000 {
			return in.invalid("has an escape of half a surrogate pair")
		}
	}
	return nil
}

// hex reads \uXXXX.
func (in *inspector) hex() (unit rune, ok bool) {
	if in.pos+6 > len(in.text) || in.text[in.pos] != '\\' || in.text[in.pos+1] != 'u' {
		return 0, false
	}
	for _, c := range in.text[in.pos+2 : in.pos+6] {
		digit := strings.IndexByte("0123456789abcdef", c|0x20)
		if digit < 0 || c < '0' {
			return 0, false
		}
		unit = unit<<4 | rune(digit)
	}
	in.pos += 6
	return unit, true
}

// number reads a number and refuses one that the store would change.
func (in *inspector) number() error {
	start := in.pos
	in.take('-')
	whole := in.digits()
	if len(whole) == 0 || (len(whole) > 1 && whole[0] == '0') {
		return in.syntax("a malformed number")
	}
	if in.take('.') && len(in.digits()) == 0 {
		return in.syntax("a malformed number")
	}
	if in.take('e') || in.take('E') {
		if !in.take('+') {
			in.take('-')
		}
		if len(in.digits()) == 0 {
			return in.syntax("a malformed number")
		}
	}
	if !storable(string(in.text[start:in.pos])) {
		return in.invalid("is a number that would not come back exactly: it has too many digits, or is too large or too small")
	}
	return nil
}

func (in *inspector) digits() []byte {
	start := in.pos
	for in.pos < len(in.text) && isDigit(in.text[in.pos]) {
		in.pos++
	}
	return in.text[start:in.pos]
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
