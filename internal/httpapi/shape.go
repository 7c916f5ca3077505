package httpapi

import (
	"fmt"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/untrusted"
)

// A record has a shape for the wire, with the tags of its schema, and one in the domain. Their fields have the same Go
// names, and shown and fill copy them. A wire field with the tag from:"-" has no counterpart: the method complete of
// its type sees to it.

// shown returns a record as the API shows it.
func shown[View, T any](record T) (view View) {
	convert(reflect.ValueOf(&view).Elem(), reflect.ValueOf(record))
	if c, ok := any(&view).(interface{ complete(T) }); ok {
		c.complete(record)
	}
	return view
}

// show returns what shown does of the record that a call has returned, and the error of the call.
func show[View, T any](record T, err error) (View, error) { return shown[View](record), err }

// fill writes what a caller has sent into a record. What the caller has left out stays.
func fill[T any](s *server, record *T, sent any) error {
	if err := checkVisible(reflect.ValueOf(sent)); err != nil {
		return err
	}
	convert(reflect.ValueOf(record).Elem(), reflect.ValueOf(sent))
	if c, ok := sent.(interface {
		complete(s *server, record *T) error
	}); ok {
		return c.complete(s, record)
	}
	return nil
}

// checkVisible reports the fields of what a caller has sent that are for people, tagged visible, and have only what
// nobody sees. An empty text is none, and the schema says where one is required.
func checkVisible(sent reflect.Value) error {
	var wrong fault.Problems
	for _, f := range reflect.VisibleFields(sent.Type()) {
		value := sent.FieldByIndex(f.Index)
		if f.Tag.Get("visible") == "" || value.IsZero() {
			continue
		}
		text := reflect.Indirect(value).String()
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		wrong.If(text != "" && !untrusted.HasVisible(text), name, "must have visible text")
	}
	return wrong.Err()
}

// filled returns a record of what a caller has sent.
func filled[T any](sent any) (record T) {
	convert(reflect.ValueOf(&record).Elem(), reflect.ValueOf(sent))
	return record
}

// sameField is a field of a wire type and the field of that name in a domain type.
type sameField struct {
	wire, own []int
	// isList says that the field is written as an empty list, and never as null.
	isList bool
}

// sameFields has the []sameField of each pair of a wire type and a domain type.
var sameFields sync.Map

func sameFieldsOf(wire, own reflect.Type) []sameField {
	key := [2]reflect.Type{wire, own}
	if known, ok := sameFields.Load(key); ok {
		return known.([]sameField)
	}
	var same []sameField
	for _, f := range reflect.VisibleFields(wire) {
		if f.Anonymous || f.Tag.Get("from") == "-" {
			continue
		}
		of, ok := own.FieldByName(f.Name)
		if !ok {
			panic(fmt.Sprintf("%s.%s is no field of %s", wire, f.Name, own))
		}
		isList := f.Type.Kind() == reflect.Slice && !strings.Contains(f.Tag.Get("json"), "omit")
		same = append(same, sameField{f.Index, of.Index, isList})
	}
	sameFields.Store(key, same)
	return same
}

// convert sets a value to another of a like type. Nil changes nothing. A zero value becomes a pointer that is nil, and
// a caller's time has the precision of stored times.
func convert(to, from reflect.Value) {
	if from.Kind() == reflect.Struct {
		if p, ok := reflect.TypeAssert[patched](from); ok {
			convertPatch(to, p)
			return
		}
	}
	switch {
	case from.Kind() == reflect.Pointer:
		if from.IsNil() {
			return
		}
		if to.Kind() == reflect.Pointer {
			to.Set(reflect.New(to.Type().Elem()))
			to = to.Elem()
		}
		convert(to, from.Elem())
	case to.Kind() == reflect.Pointer:
		if !from.IsZero() {
			to.Set(reflect.New(to.Type().Elem()))
			convert(to.Elem(), from)
		}
	case to.Type() == reflect.TypeFor[time.Time]():
		at := from.Convert(to.Type()).Interface().(time.Time)
		to.Set(reflect.ValueOf(conversation.Milliseconds(at)))
	case to.Kind() == reflect.String && from.Kind() == reflect.String: // by far the most
		to.SetString(from.String())
	case to.Kind() == from.Kind() && from.Type().ConvertibleTo(to.Type()):
		to.Set(from.Convert(to.Type()))
	case to.Kind() == reflect.Slice:
		convertList(to, from)
	case to.Kind() == reflect.String:
		to.SetString(from.Interface().(fmt.Stringer).String())
	default:
		convertStruct(to, from)
	}
}

func convertList(to, from reflect.Value) {
	if from.IsNil() {
		return
	}
	to.Set(reflect.MakeSlice(to.Type(), from.Len(), from.Len()))
	for i := range from.Len() {
		convert(to.Index(i), from.Index(i))
	}
}

// patched is a field of a PATCH.
type patched interface {
	// patch returns a pointer to the new value, which is nil for none, and whether the field was sent.
	patch() (value any, isSent bool)
}

func convertPatch(to reflect.Value, p patched) {
	if value, isSent := p.patch(); isSent {
		to.SetZero()
		convert(to, reflect.ValueOf(value))
	}
}

func convertStruct(to, from reflect.Value) {
	if to.Type().PkgPath() != reflect.TypeFor[server]().PkgPath() {
		for _, f := range sameFieldsOf(from.Type(), to.Type()) {
			if field := from.FieldByIndex(f.wire); !field.IsZero() {
				convert(to.FieldByIndex(f.own), field)
			}
		}
		return
	}
	for _, f := range sameFieldsOf(to.Type(), from.Type()) {
		field, own := to.FieldByIndex(f.wire), from.FieldByIndex(f.own)
		if !own.IsZero() {
			convert(field, own)
		} else if f.isList {
			field.Set(reflect.MakeSlice(field.Type(), 0, 0))
		}
	}
}
