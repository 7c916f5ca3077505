package httpapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/throughline/throughline/internal/fault"
)

// maxDepth is how deep a body may nest: deep enough for the app's own objects in every place that takes them, and
// shallow enough that no reader of it runs out of stack.
const maxDepth = 32

// inspect reads a whole JSON text and refuses what encoding/json would let pass or mend: bytes and escapes that are
// not UTF-8, nesting without end, names that stand twice in one object, numbers that the store could not keep exactly,
// and anything behind the value. What is not JSON at all is a NotJSON error; the rest are Invalid and name the field.
func inspect(text []byte) error {
	in := inspector{text: text}
	if err := in.value(); err != nil {
		return err
	}
	in.space()
	if in.pos != len(in.text) {
		return in.syntax("something behind the JSON value")
	}
	return nil
}

// inspector walks a JSON text once, byte by byte. path is where it stands.
type inspector struct {
	text []byte
	pos  int
	path []step
}

// step is one step into a value: a name as it stands in the text, with its quotes, or an index where name is nil.
type step struct {
	name  []byte
	index int
}

func (in *inspector) value() error {
	in.space()
	if in.pos == len(in.text) {
		return in.syntax("the end of the text")
	}
	switch c := in.text[in.pos]; {
	case c == '{':
		return in.nest(in.object)
	case c == '[':
		return in.nest(in.array)
	case c == '"':
		_, err := in.str()
		return err
	case c == '-' || isDigit(c):
		return in.number()
	}
	for _, word := range []string{"true", "false", "null"} {
		if bytes.HasPrefix(in.text[in.pos:], []byte(word)) {
			in.pos += len(word)
			return nil
		}
	}
	return in.syntax("an unexpected character")
}

// nest reads an object or an array unless it lies too deep.
func (in *inspector) nest(read func() error) error {
	if len(in.path) >= maxDepth {
		return in.invalid(fmt.Sprintf("is nested more than %d levels deep", maxDepth))
	}
	in.pos++
	in.space()
	return read()
}

func (in *inspector) object() error {
	if in.take('}') {
		return nil
	}
	seen := nameSet{}
	for {
		in.space()
		if in.pos == len(in.text) || in.text[in.pos] != '"' {
			return in.syntax("no name in an object")
		}
		name, err := in.str()
		if err != nil {
			return err
		}
		in.path = append(in.path, step{name: name})
		if !seen.add(name) {
			return in.invalid("stands twice in one object")
		}
		if in.space(); !in.take(':') {
			return in.syntax("no colon behind a name")
		}
		if err := in.value(); err != nil {
			return err
		}
		in.path = in.path[:len(in.path)-1]
		if in.space(); in.take('}') {
			return nil
		}
		if !in.take(',') {
			return in.syntax("no comma between two fields")
		}
	}
}

func (in *inspector) array() error {
	if in.take(']') {
		return nil
	}
	for i := 0; ; i++ {
		in.path = append(in.path, step{index: i})
		if err := in.value(); err != nil {
			return err
		}
		in.path = in.path[:len(in.path)-1]
		if in.space(); in.take(']') {
			return nil
		}
		if !in.take(',') {
			return in.syntax("no comma between two values")
		}
	}
}

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

func (in *inspector) take(c byte) bool {
	if in.pos < len(in.text) && in.text[in.pos] == c {
		in.pos++
		return true
	}
	return false
}

func (in *inspector) space() {
	for in.pos < len(in.text) && strings.IndexByte(" \t\r\n", in.text[in.pos]) >= 0 {
		in.pos++
	}
}

// syntax says that the text is not JSON, and where it stops being so.
func (in *inspector) syntax(what string) error {
	return fault.Newf(fault.NotJSON, "the body is not JSON: %s at byte %d", what, in.pos)
}

func (in *inspector) invalid(what string) error {
	return fault.InvalidField(in.field(), what)
}

// field writes the path as a client would: messages[3].role. Of a very deep one it writes the beginning.
func (in *inspector) field() string {
	var b strings.Builder
	for _, s := range in.path[:min(len(in.path), 8)] {
		if s.name == nil {
			fmt.Fprintf(&b, "[%d]", s.index)
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		b.WriteString(plain(s.name))
	}
	if b.Len() == 0 {
		return "body"
	}
	return b.String()
}

// plain is a quoted name as the text that it stands for.
func plain(quoted []byte) string {
	var name string
	if json.Unmarshal(quoted, &name) != nil {
		return ""
	}
	return name
}

// nameSet holds the names of one object: a list while they are few, a map when they are many.
type nameSet struct {
	few  [][]byte
	many map[string]bool
}

// add reports whether the quoted name is new. Names that differ only in their escapes are the same.
func (s *nameSet) add(quoted []byte) bool {
	if bytes.IndexByte(quoted, '\\') >= 0 {
		quoted = []byte(`"` + plain(quoted) + `"`)
	}
	if s.many == nil && len(s.few) < 16 {
		for _, name := range s.few {
			if string(name) == string(quoted) {
				return false
			}
		}
		s.few = append(s.few, quoted)
		return true
	}
	if s.many == nil {
		s.many = make(map[string]bool, 2*len(s.few))
		for _, name := range s.few {
			s.many[string(name)] = true
		}
	}
	if s.many[string(quoted)] {
		return false
	}
	s.many[string(quoted)] = true
	return true
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
