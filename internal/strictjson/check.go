// Package strictjson reads JSON and refuses what encoding/json accepts or repairs silently, so that what is stored is
// what was sent. The HTTP API and direct invocations read their input with it.
package strictjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
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
// values, repeated names in one object, and numbers that do not come back exactly. It returns a NotJSON error for a
// text that is not JSON, and otherwise an Invalid error with the field. It is safe for concurrent use.
func Check(text []byte) error {
	in := inspector{text: text}
	return in.all()
}

// Verbatim names the values that are kept as they are written: those of the Fields of the objects in a list of the name
// List. Their numbers may have any digits.
type Verbatim struct {
	List   string
	Fields []string
}

// Plain checks a text as Check does, and returns it with its whole numbers as plain digits, such as 3 for 3.0 and 10
// for 1e1, but for the values that are verbatim. To JSON Schema 3.0 is an integer, and to encoding/json it is not.
// Numbers of more than 18 digits, which no integer field takes, stay as they are.
func Plain(text []byte, v Verbatim) ([]byte, error) {
	in := inspector{text: text, verbatim: v, rewrites: true}
	if err := in.all(); err != nil {
		return nil, err
	}
	if in.done == 0 {
		return text, nil
	}
	return append(in.plain, text[in.done:]...), nil
}

// all inspects the whole text.
func (in *inspector) all() error {
	if err := json.Unmarshal(in.text, &json.RawMessage{}); err != nil && !isJSON(in.text) {
		return fault.Newf(fault.NotJSON, "the body is not JSON: %v", err)
	}
	for in.pos < len(in.text) {
		if err := in.token(); err != nil {
			return err
		}
	}
	return nil
}

// isJSON reports whether a text is one JSON value. Unlike json.Valid, it has no nesting limit.
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

// inspector walks a text that is JSON once, token by token.
type inspector struct {
	text []byte
	pos  int
	// values is the number of values so far.
	values   int
	verbatim Verbatim
	// rewrites has plain begin with the text up to done, with its whole numbers as plain digits.
	rewrites bool
	plain    []byte
	done     int
	// open are the objects and arrays around the next token, the outermost first.
	open []container
}

// container is an object or an array that has not ended.
type container struct {
	isObject bool
	names    nameSet
	// name is the name of the field whose value comes next, with its quotes. It is nil before a name and in an array.
	name []byte
	// items is how many fields or items came before the current one.
	items int
}

func (in *inspector) token() error {
	start := in.pos
	switch c := in.text[start]; {
	case c == '{' || c == '[':
		in.pos++
		return in.nest(c == '{')
	case c == '}' || c == ']':
		in.pos++
		in.open = in.open[:len(in.open)-1]
		in.leave()
	case c == '"':
		in.pos = stringEnd(in.text, start)
		return in.string(in.text[start:in.pos])
	case c == '-' || isDigit(c):
		in.pos = numberEnd(in.text, start)
		return in.number(start, string(in.text[start:in.pos]))
	case c == 't' || c == 'n':
		in.pos += len("true")
		return in.leaf("")
	case c == 'f':
		in.pos += len("false")
		return in.leaf("")
	default: // a space, a comma or a colon
		in.pos++
	}
	return nil
}

// nest enters an object or an array unless it is too deep.
func (in *inspector) nest(isObject bool) error {
	if err := in.enter(); err != nil {
		return err
	}
	if len(in.open) == maxDepth {
		return in.invalid(fmt.Sprintf("is nested more than %d levels deep", maxDepth))
	}
	in.open = append(in.open, container{isObject: isObject})
	return nil
}

// string inspects a name or a value.
func (in *inspector) string(quoted []byte) error {
	c := in.around()
	if c == nil || !c.isObject || c.name != nil {
		return in.leaf(textProblem(quoted))
	}
	if c.items == maxItems {
		return in.invalid(fmt.Sprintf("has more than %d fields", maxItems))
	}
	if problem := textProblem(quoted); problem != "" {
		return in.invalid(problem)
	}
	if c.name = quoted; !c.names.add(quoted) {
		return in.invalid("is repeated in one object")
	}
	return nil
}

func (in *inspector) number(start int, number string) error {
	if in.isVerbatim() {
		return in.leaf("")
	}
	if plain, ok := plainInteger(number); ok && in.rewrites {
		in.plain = append(append(in.plain, in.text[in.done:start]...), plain...)
		in.done = in.pos
	}
	if !storable(number) {
		return in.leaf("is a number that would not come back exactly: " +
			"it has too many digits, or is too large or too small")
	}
	return in.leaf("")
}

// isVerbatim reports whether the next value is kept as it is written.
func (in *inspector) isVerbatim() bool {
	for i := 2; i < len(in.open) && in.verbatim.List != ""; i++ {
		list, object := in.open[i-2], in.open[i]
		if list.isObject && !in.open[i-1].isObject && object.isObject && object.name != nil &&
			isNamed(list.name, in.verbatim.List) &&
			slices.ContainsFunc(in.verbatim.Fields, func(field string) bool { return isNamed(object.name, field) }) {
			return true
		}
	}
	return false
}

// isNamed reports whether a quoted name is that name. Most are written without escapes, and are compared as they are.
func isNamed(quoted []byte, name string) bool {
	if bytes.IndexByte(quoted, '\\') >= 0 {
		return unquote(quoted) == name
	}
	return len(quoted) == len(name)+2 && string(quoted[1:len(quoted)-1]) == name
}

// leaf passes a value that is no container, and refuses it if it has a problem.
func (in *inspector) leaf(problem string) error {
	if err := in.enter(); err != nil {
		return err
	}
	if problem != "" {
		return in.invalid(problem)
	}
	in.leave()
	return nil
}

// enter counts a value.
func (in *inspector) enter() error {
	if c := in.around(); c != nil && !c.isObject && c.items == maxItems {
		in.open = in.open[:len(in.open)-1]
		return in.invalid(fmt.Sprintf("has more than %d items", maxItems))
	}
	if in.values++; in.values > maxValues {
		return fault.InvalidField("body", fmt.Sprintf("has more than %d values", maxValues))
	}
	return nil
}

// leave goes on after a value.
func (in *inspector) leave() {
	if c := in.around(); c != nil {
		c.name = nil
		c.items++
	}
}

// around returns the innermost container, or nil outside of all.
func (in *inspector) around() *container {
	if len(in.open) == 0 {
		return nil
	}
	return &in.open[len(in.open)-1]
}

func (in *inspector) invalid(what string) error {
	return fault.InvalidField(in.field(), what)
}

// field returns the path as a client writes it, such as messages[3].role. It shortens a long path.
func (in *inspector) field() string {
	var b strings.Builder
	for _, c := range in.open[:min(len(in.open), 8)] {
		switch {
		case !c.isObject:
			fmt.Fprintf(&b, "[%d]", c.items)
		case c.name != nil:
			b.WriteString("." + unquote(c.name))
		}
	}
	if b.Len() == 0 {
		return "body"
	}
	return strings.TrimPrefix(b.String(), ".")
}
