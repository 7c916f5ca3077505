// Package strictjson reads JSON and refuses what encoding/json would let pass or mend, so that what is stored is what was
// sent. The HTTP API and direct invocations read their input through it (api 1).
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

// maxDepth is how deep a body may nest: deep enough for the app's own objects in every place that takes them, and
// shallow enough that no reader of it runs out of stack.
const maxDepth = 32

// Check reads a whole JSON text and refuses bytes and escapes that are not UTF-8, nesting without end, names that stand
// twice in one object, numbers that the store could not keep exactly, and anything behind the value. What is not JSON at
// all is a NotJSON error, whatever else is wrong with it; the rest are Invalid and name the field. It may be called by
// many goroutines at once.
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

// isJSON reports whether a text is one JSON value. It holds no frame for each level, as json.Valid does, which ends at
// ten thousand of them.
func isJSON(text []byte) bool {
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
