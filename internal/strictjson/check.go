// Package strictjson reads JSON and refuses what encoding/json accepts or repairs silently, so that what is stored is
// what was sent. The HTTP API and direct invocations read their input with it.
package strictjson

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

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
// List. Their numbers may have any digits, within the range of a double.
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

// inspector walks a text once, token by token. The decoder of the tokens refuses what is not JSON, repeated names, and
// text that is not UTF-8.
type inspector struct {
	text   []byte
	tokens *jsontext.Decoder
	// values is the number of values so far.
	values   int
	verbatim Verbatim
	// verbatimDepth is the depth of the object whose field is kept as it is written, while the field's value is read.
	// Otherwise it is 0.
	verbatimDepth int
	// rewrites has plain begin with the text up to done, with its whole numbers as plain digits.
	rewrites bool
	plain    []byte
	done     int
}

// all inspects the whole text. A text that is not JSON is called so, whatever else is wrong before that place.
func (in *inspector) all() error {
	problem := in.walk()
	if problem == nil {
		return nil
	}
	if err := json.Unmarshal(in.text, &json.RawMessage{}); err != nil && !isJSON(in.text) {
		return fault.Newf(fault.NotJSON, "the body is not JSON: %v", err)
	}
	return problem
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

func (in *inspector) walk() error {
	in.tokens = jsontext.NewDecoder(bytes.NewBuffer(in.text))
	for {
		if err := in.hasRoom(); err != nil {
			return err
		}
		token, err := in.tokens.ReadToken()
		if errors.Is(err, io.EOF) && in.values > 0 {
			return nil
		}
		if err != nil {
			return in.refused(err)
		}
		if err := in.token(token); err != nil {
			return err
		}
	}
}

// hasRoom refuses an item or a field that is one too many, and a second value after the first.
func (in *inspector) hasRoom() error {
	depth := in.tokens.StackDepth()
	kind, length := in.tokens.StackIndex(depth)
	end, most, what := jsontext.KindInvalid, int64(1), "values"
	switch kind {
	case jsontext.KindBeginArray:
		end, most, what = jsontext.KindEndArray, maxItems, "items"
	case jsontext.KindBeginObject: // its length counts the names, too
		end, most, what = jsontext.KindEndObject, 2*maxItems, "fields"
	}
	if length < most || in.tokens.PeekKind() == end {
		return nil
	}
	return in.invalid(in.tokens.StackPointer().Parent(), fmt.Sprintf("has more than %d %s", maxItems, what))
}

func (in *inspector) token(token jsontext.Token) error {
	depth := in.tokens.StackDepth()
	if depth < in.verbatimDepth {
		in.verbatimDepth = 0
	}
	kind := token.Kind()
	if kind == jsontext.KindEndObject || kind == jsontext.KindEndArray {
		return nil
	}
	if around, length := in.tokens.StackIndex(depth); around == jsontext.KindBeginObject && length%2 == 1 {
		in.name(token.String(), depth)
		return nil
	}
	if in.values++; in.values > maxValues {
		return fault.InvalidField("body", fmt.Sprintf("has more than %d values", maxValues))
	}
	if depth > maxDepth {
		return in.invalid(in.tokens.StackPointer(), fmt.Sprintf("is nested more than %d levels deep", maxDepth))
	}
	if kind == jsontext.KindNumber {
		return in.number(token.String())
	}
	return nil
}

// name notices a field that is kept as it is written.
func (in *inspector) name(name string, depth int) {
	if depth == in.verbatimDepth {
		in.verbatimDepth = 0
	}
	if in.verbatimDepth > 0 || depth < 3 || !slices.Contains(in.verbatim.Fields, name) {
		return
	}
	list, _ := in.tokens.StackIndex(depth - 1)
	object, _ := in.tokens.StackIndex(depth - 2)
	if list == jsontext.KindBeginArray && object == jsontext.KindBeginObject &&
		in.tokens.StackPointer().Parent().Parent().LastToken() == in.verbatim.List {
		in.verbatimDepth = depth
	}
}

// number refuses a number that would not come back. A verbatim one does, and is only read as a double.
func (in *inspector) number(number string) error {
	isVerbatim := in.verbatimDepth > 0
	if plain, ok := plainInteger(number); ok && in.rewrites && !isVerbatim {
		end := int(in.tokens.InputOffset())
		in.plain = append(append(in.plain, in.text[in.done:end-len(number)]...), plain...)
		in.done = end
	}
	if isVerbatim && isDouble(number) || storable(number) {
		return nil
	}
	return in.invalid(in.tokens.StackPointer(), "is a number that would not come back exactly: "+
		"it has too many digits, or is too large or too small")
}

// refused returns the error for a token that the decoder refuses in a text that is JSON.
func (in *inspector) refused(err error) error {
	var where jsontext.Pointer
	if syntactic := (*jsontext.SyntacticError)(nil); errors.As(err, &syntactic) {
		where = syntactic.JSONPointer
	}
	if errors.Is(err, jsontext.ErrDuplicateName) {
		return in.invalid(where, "is repeated in one object")
	}
	return in.invalid(where, "has bytes that are not UTF-8, or an escape of half a surrogate pair")
}

// invalid returns the error about the value at a place.
func (in *inspector) invalid(where jsontext.Pointer, what string) error {
	return fault.InvalidField(place(where, func(level int, _ string) bool {
		kind, _ := in.tokens.StackIndex(min(level, in.tokens.StackDepth()))
		return kind == jsontext.KindBeginArray
	}), what)
}

// place writes a place as a client does, such as messages[3].role, and shortens a long one.
func place(where jsontext.Pointer, isIndex func(level int, name string) bool) string {
	var field strings.Builder
	level := 0
	for name := range where.Tokens() {
		if level++; level > 8 {
			break
		}
		if isIndex(level, name) {
			fmt.Fprintf(&field, "[%s]", name)
		} else {
			field.WriteString("." + strings.ToValidUTF8(name, "\uFFFD"))
		}
	}
	return cmp.Or(strings.TrimPrefix(field.String(), "."), "body")
}
