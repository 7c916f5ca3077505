// Package eventpattern matches events against the filter patterns of Lambda's event source mappings and EventBridge:
// exact values, prefix, suffix, equals-ignore-case, exists, anything-but, numeric ranges and $or. The local stream
// pollers filter with the patterns of template.yaml as the service will.
package eventpattern

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
)

// Pattern is a parsed filter pattern; safe for concurrent use.
type Pattern struct{ root matcher }

// matcher decides on what the event has at one place; present is false where it has nothing.
type matcher interface {
	match(value any, present bool) bool
}

// Parse reads a pattern. Its error names the place that the service would refuse.
func Parse(pattern string) (Pattern, error) {
	var doc map[string]any
	if err := json.Unmarshal([]byte(pattern), &doc); err != nil {
		return Pattern{}, fmt.Errorf("parse pattern: %w", err)
	}
	if len(doc) == 0 {
		return Pattern{}, errors.New("parse pattern: it is empty")
	}
	root, err := parseObject(doc, "$")
	if err != nil {
		return Pattern{}, fmt.Errorf("parse pattern: %w", err)
	}
	return Pattern{root: root}, nil
}

// Match reports whether an event, decoded from JSON into the standard any types, fits the pattern.
func (p Pattern) Match(event any) bool { return p.root.match(event, true) }

// object holds when every field does; a field of the pattern is looked up in the event's object.
type object map[string]matcher

func (o object) match(value any, _ bool) bool {
	if list, ok := value.([]any); ok {
		return anyOf(list, o)
	}
	fields, _ := value.(map[string]any)
	for name, m := range o {
		field, present := fields[name]
		if !m.match(field, present) {
			return false
		}
	}
	return true
}

// both holds when an object's own fields and its $or hold.
type both struct {
	fields object
	either alternatives
}

func (b both) match(value any, present bool) bool {
	return b.fields.match(value, present) && b.either.match(value, present)
}

// alternatives holds when one of them does: the values of a leaf, or the objects of $or.
type alternatives []matcher

func (a alternatives) match(value any, present bool) bool {
	for _, m := range a {
		if m.match(value, present) {
			return true
		}
	}
	return false
}

func parseObject(doc map[string]any, path string) (matcher, error) {
	fields, either := object{}, alternatives(nil)
	for name, value := range doc {
		at := path + "." + name
		var err error
		switch value := value.(type) {
		case map[string]any:
			fields[name], err = parseObject(value, at)
		case []any:
			if name == "$or" {
				either, err = parseOr(value, at)
			} else {
				fields[name], err = parseLeaf(value, at)
			}
		default:
			err = fmt.Errorf("%s: a value stands in an array, [%v]", at, value)
		}
		if err != nil {
			return nil, err
		}
	}
	if either == nil {
		return fields, nil
	}
	return both{fields: fields, either: either}, nil
}

func parseOr(values []any, path string) (alternatives, error) {
	var out alternatives
	for _, v := range values {
		doc, ok := v.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("%s: holds objects only", path)
		}
		m, err := parseObject(doc, path)
		if err != nil {
			return nil, err
		}
		out = append(out, m)
	}
	if len(out) < 2 {
		return nil, fmt.Errorf("%s: needs two alternatives", path)
	}
	return out, nil
}

func parseLeaf(values []any, path string) (matcher, error) {
	if len(values) == 0 {
		return nil, fmt.Errorf("%s: the array is empty", path)
	}
	var out alternatives
	for _, v := range values {
		m, err := parseValue(v, path)
		if err != nil {
			return nil, err
		}
		out = append(out, m)
	}
	return out, nil
}

func parseValue(v any, path string) (matcher, error) {
	switch v := v.(type) {
	case map[string]any:
		return parseOperator(v, path)
	case []any:
		return nil, fmt.Errorf("%s: arrays do not nest", path)
	default:
		return scalar(func(got any) bool { return reflect.DeepEqual(got, v) }), nil
	}
}

// scalar tests one value; where the event has an array, one element has to pass.
type scalar func(any) bool

func (s scalar) match(value any, present bool) bool {
	if list, ok := value.([]any); ok {
		return anyOf(list, s)
	}
	return present && !isObject(value) && s(value)
}

// exists tests presence; as in the service, only a leaf exists.
type exists bool

func (e exists) match(value any, present bool) bool { return bool(e) == (present && !isObject(value)) }

func anyOf(list []any, m matcher) bool {
	for _, v := range list {
		if m.match(v, true) {
			return true
		}
	}
	return false
}

func isObject(v any) bool { _, ok := v.(map[string]any); return ok }

func text(test func(string) bool) scalar {
	return func(got any) bool { s, ok := got.(string); return ok && test(s) }
}

func parseOperator(op map[string]any, path string) (matcher, error) {
	if len(op) != 1 {
		return nil, fmt.Errorf("%s: an operator is an object of one field", path)
	}
	for name, arg := range op {
		m, err := operator(name, arg)
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", path, name, err)
		}
		return m, nil
	}
	panic("unreachable")
}

func operator(name string, arg any) (matcher, error) {
	switch name {
	case "exists":
		want, ok := arg.(bool)
		if !ok {
			return nil, errors.New("takes true or false")
		}
		return exists(want), nil
	case "numeric":
		return parseNumeric(arg)
	case "anything-but":
		return parseAnythingBut(arg)
	}
	want, ok := arg.(string)
	if !ok {
		return nil, errors.New("takes a string")
	}
	switch name {
	case "prefix":
		return text(func(s string) bool { return strings.HasPrefix(s, want) }), nil
	case "suffix":
		return text(func(s string) bool { return strings.HasSuffix(s, want) }), nil
	case "equals-ignore-case":
		return text(func(s string) bool { return strings.EqualFold(s, want) }), nil
	}
	return nil, errors.New("no such operator")
}

// parseAnythingBut takes a value, a list of values, or one text operator; the field has to be there.
func parseAnythingBut(arg any) (matcher, error) {
	switch arg := arg.(type) {
	case map[string]any:
		m, err := parseOperator(arg, "anything-but")
		if err != nil {
			return nil, err
		}
		return scalar(func(got any) bool { return !m.match(got, true) }), nil
	case []any:
		m, err := parseLeaf(arg, "anything-but")
		if err != nil {
			return nil, err
		}
		return scalar(func(got any) bool { return !m.match(got, true) }), nil
	default:
		return scalar(func(got any) bool { return !reflect.DeepEqual(got, arg) }), nil
	}
}

// parseNumeric reads [">", 0, "<=", 5]: one comparison or two. It holds for JSON numbers only; what DynamoDB calls a
// number is a string in its events.
func parseNumeric(arg any) (matcher, error) {
	list, ok := arg.([]any)
	if !ok || len(list) != 2 && len(list) != 4 {
		return nil, errors.New("takes one or two comparisons")
	}
	var tests []func(float64) bool
	for i := 0; i < len(list); i += 2 {
		op, _ := list[i].(string)
		bound, ok := list[i+1].(float64)
		test := comparison(op, bound)
		if !ok || test == nil {
			return nil, fmt.Errorf("does not know %v %v", list[i], list[i+1])
		}
		tests = append(tests, test)
	}
	return scalar(func(got any) bool {
		n, ok := got.(float64)
		for _, test := range tests {
			ok = ok && test(n)
		}
		return ok
	}), nil
}

func comparison(op string, bound float64) func(float64) bool {
	switch op {
	case "=":
		return func(n float64) bool { return n == bound }
	case "<":
		return func(n float64) bool { return n < bound }
	case "<=":
		return func(n float64) bool { return n <= bound }
	case ">":
		return func(n float64) bool { return n > bound }
	case ">=":
		return func(n float64) bool { return n >= bound }
	}
	return nil
}
