package document

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/strictjson"
)

// MaxFilterBytes limits a filter as JSON.
const MaxFilterBytes = 4 << 10

// Filter is a list of conditions on the fields of a value. A document passes if it meets all of them. The zero value
// lets every document pass.
type Filter []condition

// condition compares one top-level field with a value. Numbers are float64, which hold exactly what the API takes.
type condition struct {
	field    string
	operator string
	value    any
}

const (
	equal    = "$eq"
	notEqual = "$ne"
)

// orders are the operators that compare numbers with numbers and texts with texts.
var orders = map[string]func(order int) bool{
	"$gt":  func(order int) bool { return order > 0 },
	"$gte": func(order int) bool { return order >= 0 },
	"$lt":  func(order int) bool { return order < 0 },
	"$lte": func(order int) bool { return order <= 0 },
}

// ParseFilter parses a JSON object of conditions: a value that a field equals, or an object of operators such as
// {"$gte": 3}. The empty text is no condition. Its errors are Invalid and name the parameter, with the part of it.
func ParseFilter(parameter, text string) (Filter, error) {
	if text == "" {
		return nil, nil
	}
	if len(text) > MaxFilterBytes {
		return nil, fault.InvalidField(parameter, fmt.Sprintf("must have at most %d bytes", MaxFilterBytes))
	}
	if err := strictjson.Check([]byte(text)); err != nil {
		return nil, fault.InvalidField(parameter, "must be a JSON object without repeated names: "+
			strings.TrimPrefix(fault.From(err).Message, "the body is not JSON: "))
	}
	var fields map[string]any
	if err := json.Unmarshal([]byte(text), &fields); err != nil || fields == nil {
		return nil, fault.InvalidField(parameter, `must be a JSON object, such as {"kind": "note", "stars": {"$gte": 3}}`)
	}
	f := Filter{}
	var wrong fault.Problems
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		conditions, problem := parseConditions(name, fields[name])
		wrong.If(problem != "", parameter+"."+name, problem)
		f = append(f, conditions...)
	}
	return f, wrong.Err()
}

// parseConditions parses what is asked of one field.
func parseConditions(name string, asked any) (conditions []condition, problem string) {
	if strings.HasPrefix(name, "$") {
		return nil, "is an operator, which must be in the object of a field"
	}
	operators, _ := asked.(map[string]any)
	isOperator := func(name string) bool { return strings.HasPrefix(name, "$") }
	if !slices.ContainsFunc(slices.Collect(maps.Keys(operators)), isOperator) {
		return []condition{{name, equal, asked}}, ""
	}
	for _, operator := range slices.Sorted(maps.Keys(operators)) {
		value := operators[operator]
		_, isText := value.(string)
		_, isNumber := value.(float64)
		switch {
		case operator == equal, operator == notEqual:
		case orders[operator] == nil:
			return nil, "has an operator that is not one of $eq, $ne, $gt, $gte, $lt, $lte"
		case !isText && !isNumber:
			return nil, operator + " takes a number or a text"
		}
		conditions = append(conditions, condition{name, operator, value})
	}
	return conditions, ""
}

// Matches reports whether a value meets all conditions. Values are equal as JSON values: numbers by what they are and
// objects whatever the order of their names. A field that the value lacks counts as null. A number and a text are in no
// order.
func (f Filter) Matches(value json.RawMessage) bool {
	if len(f) == 0 {
		return true
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(value, &fields); err != nil {
		return false
	}
	return f.all(func(name string) (field any) {
		if raw, ok := fields[name]; ok && json.Unmarshal(raw, &field) != nil {
			return nil
		}
		return field
	})
}

// MatchesObject is Matches for an object that is decoded, with numbers as float64.
func (f Filter) MatchesObject(fields map[string]any) bool {
	return f.all(func(name string) any { return fields[name] })
}

func (f Filter) all(field func(name string) any) bool {
	for _, c := range f {
		if !c.matches(field(c.field)) {
			return false
		}
	}
	return true
}

func (c condition) matches(field any) bool {
	switch c.operator {
	case equal:
		return reflect.DeepEqual(field, c.value)
	case notEqual:
		return !reflect.DeepEqual(field, c.value)
	}
	switch wanted := c.value.(type) {
	case float64:
		number, ok := field.(float64)
		return ok && orders[c.operator](cmp.Compare(number, wanted))
	case string:
		text, ok := field.(string)
		return ok && orders[c.operator](cmp.Compare(text, wanted))
	}
	return false
}
