package strictjson

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/throughline/throughline/internal/fault"
)

// Unmarshal checks a text with Check and reads it into a struct or a map. Unlike encoding/json, it matches names
// exactly. It returns the errors of Check, and an Invalid error that lists every unknown field and every value of a
// wrong type. It is safe for concurrent use.
func Unmarshal(text []byte, into any) error { return reader{}.unmarshal(text, into) }

// UnmarshalKnown is Unmarshal for a text of another version of the program, which may have fields that this one does
// not know. It leaves them out. A field whose name differs from a known one in its case only is refused all the same.
func UnmarshalKnown(text []byte, into any) error {
	return reader{leavesOut: true}.unmarshal(text, into)
}

// reader reads texts into structs. leavesOut says that unknown fields are left out and not refused.
type reader struct{ leavesOut bool }

func (r reader) unmarshal(text []byte, into any) error {
	text, err := Plain(text, Verbatim{})
	if err != nil {
		return err
	}
	if !isObject(text) {
		return fault.InvalidField("body", "must be an object")
	}
	if wrong := r.mismatches(text, reflect.TypeOf(into).Elem(), ""); len(wrong) > 0 {
		return fault.InvalidFields(wrong...)
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fault.Wrap(fault.Internal, "decode checked JSON", err)
	}
	return nil
}

// mismatches lists the parts of the JSON value at a path that do not fit the type.
func (r reader) mismatches(text []byte, t reflect.Type, at string) []fault.Field {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case string(text) == "null" || hasUnmarshaler(t):
	case t.Kind() == reflect.Struct && isObject(text):
		return r.fieldMismatches(text, t, at)
	case t.Kind() == reflect.Slice && text[0] == '[':
		return r.itemMismatches(text, t.Elem(), at)
	}
	if json.Unmarshal(text, reflect.New(t).Interface()) != nil {
		return []fault.Field{{Field: at, Message: "must be " + typeInWords(t)}}
	}
	return nil
}

func (r reader) fieldMismatches(text []byte, t reflect.Type, at string) []fault.Field {
	var values map[string]json.RawMessage
	if json.Unmarshal(text, &values) != nil {
		return nil
	}
	if at != "" {
		at += "."
	}
	var wrong []fault.Field
	known := fieldsOf(t)
	for _, name := range slices.Sorted(maps.Keys(values)) {
		field, ok := known[name]
		if !ok && r.leavesOut && !isSpelling(name, known) {
			continue
		}
		if !ok {
			wrong = append(wrong, fault.Field{Field: at + name, Message: "is not a field of this call"})
			continue
		}
		wrong = append(wrong, r.mismatches(values[name], field, at+name)...)
	}
	return wrong
}

func (r reader) itemMismatches(text []byte, item reflect.Type, at string) []fault.Field {
	var values []json.RawMessage
	if json.Unmarshal(text, &values) != nil {
		return nil
	}
	var wrong []fault.Field
	for i, value := range values {
		wrong = append(wrong, r.mismatches(value, item, fmt.Sprintf("%s[%d]", at, i))...)
	}
	return wrong
}

// isSpelling reports whether a name is that of a known field but for its case. encoding/json would take it for the
// field.
func isSpelling(name string, known map[string]reflect.Type) bool {
	for field := range known {
		if strings.EqualFold(name, field) {
			return true
		}
	}
	return false
}

// fieldsOf returns the types of a struct's fields by their JSON names, with the fields of embedded structs.
func fieldsOf(t reflect.Type) map[string]reflect.Type {
	fields := map[string]reflect.Type{}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		embedded := f.Anonymous && name == ""
		if embedded || !f.IsExported() || name == "-" {
			continue
		}
		if name == "" {
			name = f.Name
		}
		fields[name] = f.Type
	}
	return fields
}

func isObject(text []byte) bool {
	text = bytes.TrimLeft(text, " \t\r\n")
	return len(text) > 0 && text[0] == '{'
}

// hasUnmarshaler reports whether a type reads JSON with a method of its own, as time.Time does.
func hasUnmarshaler(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return p.Implements(reflect.TypeFor[json.Unmarshaler]()) || p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

// typeInWords returns how a value of a type is written.
func typeInWords(t reflect.Type) string {
	switch {
	case t == reflect.TypeFor[time.Time]():
		return "an RFC 3339 time, such as 2026-02-05T18:30:00.000Z"
	case reflect.Zero(t).CanInt() || reflect.Zero(t).CanUint():
		return "a whole number"
	case reflect.Zero(t).CanFloat():
		return "a number"
	case t.Kind() == reflect.Bool:
		return "true or false"
	case t.Kind() == reflect.Slice:
		return "a list"
	case t.Kind() == reflect.String:
		return "a string"
	}
	return "an object"
}
