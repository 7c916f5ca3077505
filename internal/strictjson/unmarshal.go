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

// Unmarshal reads one JSON object into a struct, after Check. A name is a field's as its tag writes it, letter by letter;
// any other is an error, and so is a value of another type than its field's. Errors are those of Check, and Invalid with
// every wrong field by its path. It may be called by many goroutines at once.
func Unmarshal(text []byte, into any) error {
	if err := Check(text); err != nil {
		return err
	}
	if !isObject(text) {
		return fault.InvalidField("body", "must be an object")
	}
	if wrong := misfits(text, reflect.TypeOf(into).Elem(), ""); len(wrong) > 0 {
		return fault.InvalidFields(wrong...)
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fault.Wrap(fault.Internal, "decode checked JSON", err)
	}
	return nil
}

// misfits says which parts of a JSON value at a path do not fit their type.
func misfits(text []byte, t reflect.Type, at string) []fault.Field {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case string(text) == "null" || readsItself(t):
	case t.Kind() == reflect.Struct && isObject(text):
		return misfitFields(text, t, at)
	case t.Kind() == reflect.Slice && text[0] == '[':
		return misfitItems(text, t.Elem(), at)
	}
	if json.Unmarshal(text, reflect.New(t).Interface()) != nil {
		return []fault.Field{{Field: at, Message: "must be " + kindOf(t)}}
	}
	return nil
}

func misfitFields(text []byte, t reflect.Type, at string) []fault.Field {
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
		if !ok {
			wrong = append(wrong, fault.Field{Field: at + name, Message: "is not a field of this call"})
			continue
		}
		wrong = append(wrong, misfits(values[name], field, at+name)...)
	}
	return wrong
}

func misfitItems(text []byte, item reflect.Type, at string) []fault.Field {
	var values []json.RawMessage
	if json.Unmarshal(text, &values) != nil {
		return nil
	}
	var wrong []fault.Field
	for i, value := range values {
		wrong = append(wrong, misfits(value, item, fmt.Sprintf("%s[%d]", at, i))...)
	}
	return wrong
}

// fieldsOf are a struct's fields by their names in JSON, those of embedded structs among them.
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

// readsItself reports whether a type has a way of its own to read JSON, as times have.
func readsItself(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return p.Implements(reflect.TypeFor[json.Unmarshaler]()) || p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

// kindOf says in words what a value of a type is written as.
func kindOf(t reflect.Type) string {
	switch {
	case t == reflect.TypeFor[time.Time]():
		return "an RFC 3339 time, such as 2026-02-05T18:30:00.000Z"
	case reflect.Zero(t).CanInt() || reflect.Zero(t).CanUint():
		return "a whole number, without a fraction or an exponent"
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
