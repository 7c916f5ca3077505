// Package strictjson reads JSON and refuses what encoding/json accepts or repairs silently, so that what is stored is
// what was sent. The HTTP API and direct invocations read their input with it.
package strictjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/throughline/throughline/internal/fault"
)

// maxDepth is the nesting limit of a body. It allows the app's own objects in every place that takes them, and it keeps
// recursive readers from running out of stack.
const maxDepth = 32

// Limits of the number of values. The largest objects that an app can store, 50 in one body, are within them. A body
// with more values would take seconds to refuse: each wrong one is looked at by several readers.
const (
	maxItems  = 8 << 10
	maxValues = 256 << 10
)

// Check checks that a text is one JSON value. It refuses bytes and escapes that are not UTF-8, deep nesting, too many
// values, repeated names in one object, and numbers that the store cannot keep exactly. It returns a NotJSON error for
// a text that is not JSON, and otherwise an Invalid error with the field. It is safe for concurrent use.
func Check(text []byte) error {
	in := inspector{text: text}
	err := in.value()
	if in.space(); err == nil && in.pos != len(in.text) {
		err = in.syntax("something behind the JSON value")
	}
	if fault.Is(err, fault.Invalid) && !isJSON(text) {
		return fault.New(fault.NotJSON, "the body is not JSON: it is malformed, or has no end")
	}
	return err
}

// isJSON reports whether a text is one JSON value. Unlike json.Valid alone, it has no nesting limit.
func isJSON(text []byte) bool {
	if json.Valid(text) {
		return true
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	for depth := 0; ; {
		token, err := d.Token()
		switch token {
		case json.Delim('['), json.Delim('{'):
			depth++
		case json.Delim(']'), json.Delim('}'):
			depth--
		}
		if err != nil || depth == 0 {
			_, end := d.Token()
			return err == nil && errors.Is(end, io.EOF)
		}
	}
}

// inspector walks a JSON text once, byte by byte.
type inspector struct {
	text []byte
	pos  int
	// values is the number of values so far.
	values int
	// path leads to the current value.
	path []step
}

// step is one step into a value: a name as it is written, with its quotes, or an index if the name is nil.
type step struct {
	name  []byte
	index int
}

func (in *inspector) value() error {
	if in.values++; in.values > maxValues {
		return fault.InvalidField("body", fmt.Sprintf("has more than %d values", maxValues))
	}
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
		_, err := in.readString()
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

// nest reads an object or an array unless it is too deep.
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
	for n := 0; ; n++ {
		if n == maxItems {
			return in.invalid(fmt.Sprintf("has more than %d fields", maxItems))
		}
		in.space()
		if in.pos == len(in.text) || in.text[in.pos] != '"' {
			return in.syntax("no name in an object")
		}
		name, err := in.readString()
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
		if i == maxItems {
			return in.invalid(fmt.Sprintf("has more than %d items", maxItems))
		}
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

// syntax returns the error of a text that is not JSON, with the position.
func (in *inspector) syntax(what string) error {
	return fault.Newf(fault.NotJSON, "the body is not JSON: %s at byte %d", what, in.pos)
}

func (in *inspector) invalid(what string) error {
	return fault.InvalidField(in.field(), what)
}

// field returns the path as a client writes it, such as messages[3].role. It shortens a long path.
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
		b.WriteString(unquote(s.name))
	}
	if b.Len() == 0 {
		return "body"
	}
	return b.String()
}
