package strictjson

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	jsonv1 "github.com/go-json-experiment/json/v1"

	"github.com/throughline/throughline/internal/fault"
)

// Unmarshal checks a text with Check and reads it into a struct or a map. Unlike encoding/json, it matches names
// exactly. It returns the errors of Check, and an Invalid error for an unknown field and for a value of a wrong type.
// It is safe for concurrent use.
func Unmarshal(text []byte, into any) error {
	return unmarshal(text, into, json.RejectUnknownMembers(true))
}

// UnmarshalKnown is Unmarshal for a text of another version of the program, which may have fields that this one does
// not know. It leaves them out, also one whose name differs from a known one in its case only.
func UnmarshalKnown(text []byte, into any) error { return unmarshal(text, into) }

func unmarshal(text []byte, into any, options ...json.Options) error {
	text, err := Plain(text, Verbatim{})
	if err != nil {
		return err
	}
	if !bytes.HasPrefix(bytes.TrimLeft(text, " \t\r\n"), []byte("{")) {
		return fault.InvalidField("body", "must be an object")
	}
	// A duration is a number of nanoseconds, as encoding/json writes it.
	err = json.Unmarshal(text, into, append(options, jsonv1.FormatDurationAsNano(true))...)
	wrong, ok := errors.AsType[*json.SemanticError](err)
	switch {
	case err == nil:
		return nil
	case !ok:
		return fault.Wrap(fault.Internal, "decode checked JSON", err)
	}
	at := place(wrong.JSONPointer, func(_ int, name string) bool { return strings.Trim(name, "0123456789") == "" })
	if errors.Is(err, json.ErrUnknownName) {
		return fault.InvalidField(at, "is not a field of this call")
	}
	return fault.InvalidField(at, "must be "+typeInWords(wrong.GoType))
}

// typeInWords returns how a value of a type is written.
func typeInWords(t reflect.Type) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch zero := reflect.Zero(t); {
	case t == reflect.TypeFor[time.Time]():
		return "an RFC 3339 time, such as 2026-02-05T18:30:00.000Z"
	case zero.CanInt() || zero.CanUint():
		return "a whole number"
	case zero.CanFloat():
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
