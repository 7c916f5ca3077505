package table

import (
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// field is a field of a record that is stored. Its tag "stored" has the name of the attribute, and after a comma
// "omitempty" where an empty value is left out, or "seconds" for a time that is stored as a Unix time.
//
// The SDK's attributevalue reads such tags, too. It takes 2.5 us for a memory, where this takes 1.1 us, and returns an
// error where an attribute is of another type.
type field struct {
	index              int
	name               string
	omitEmpty, seconds bool
}

var fieldsByType sync.Map // of slices of field by reflect.Type

func fieldsOf(t reflect.Type) []field {
	if known, ok := fieldsByType.Load(t); ok {
		return known.([]field)
	}
	var fields []field
	for i := range t.NumField() {
		if tag, ok := t.Field(i).Tag.Lookup("stored"); ok {
			name, option, _ := strings.Cut(tag, ",")
			fields = append(fields, field{i, name, option != "", option == "seconds"})
		}
	}
	fieldsByType.Store(t, fields)
	return fields
}

// Encode returns the attributes of the fields of a record that have a tag: texts, numbers, truth values, times and
// lists of texts.
func Encode[T any](record T) Item {
	v, it := reflect.ValueOf(record), Item{}
	for _, f := range fieldsOf(v.Type()) {
		if value, isEmpty := f.encode(v.Field(f.index)); !isEmpty || !f.omitEmpty {
			it[f.name] = value
		}
	}
	return it
}

func (f field) encode(v reflect.Value) (value types.AttributeValue, isEmpty bool) {
	switch v.Kind() {
	case reflect.String:
		return StringAttr(v.String()), v.IsZero()
	case reflect.Bool:
		return BoolAttr(v.Bool()), v.IsZero()
	case reflect.Float64:
		return FloatAttr(v.Float()), v.IsZero()
	case reflect.Slice:
		list := v.Interface().([]string)
		return ListAttr(list), len(list) == 0
	case reflect.Struct:
		at := v.Interface().(time.Time)
		if f.seconds {
			return IntAttr(at.Unix()), at.IsZero()
		}
		return TimeAttr(at), at.IsZero()
	}
	return IntAttr(v.Int()), v.IsZero()
}

// Decode reads the fields of a record that have a tag. A field whose attribute is absent or of another type is empty.
func Decode[T any](it Item) (record T) {
	v := reflect.ValueOf(&record).Elem()
	for _, f := range fieldsOf(v.Type()) {
		if it.Has(f.name) {
			f.decode(v.Field(f.index), it)
		}
	}
	return record
}

func (f field) decode(v reflect.Value, it Item) {
	switch to := v.Addr().Interface().(type) {
	case *time.Time:
		if *to = it.Time(f.name); f.seconds {
			*to = time.Unix(it.Int64(f.name), 0).UTC()
		}
		return
	case *[]string:
		*to = it.Strings(f.name)
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(it.String(f.name))
	case reflect.Bool:
		v.SetBool(it.Bool(f.name))
	case reflect.Float64:
		v.SetFloat(it.Float64(f.name))
	default:
		v.SetInt(it.Int64(f.name))
	}
}
