package pineconelocal

import (
	"slices"

	"google.golang.org/protobuf/types/known/structpb"
)

// condition decides on the value of one field; it is nil when the record doesn't have the field.
type condition func(*structpb.Value) bool

// operators compile the operand of each comparison. As in MongoDB, whose language the service follows, $ne and $nin
// also accept records without the field, and a field that holds a list is equal to each of its strings.
var operators = map[string]func(op string, operand *structpb.Value) (condition, error){
	"$eq":     parseEqual,
	"$ne":     negated(parseEqual),
	"$in":     parseIn,
	"$nin":    negated(parseIn),
	"$gt":     ordered(func(a, b float64) bool { return a > b }),
	"$gte":    ordered(func(a, b float64) bool { return a >= b }),
	"$lt":     ordered(func(a, b float64) bool { return a < b }),
	"$lte":    ordered(func(a, b float64) bool { return a <= b }),
	"$exists": parseExists,
}

// scalar is a string, a float64 or a bool: values of different types are never equal.
type scalar any

// scalarOf is nil for everything that isn't one.
func scalarOf(v *structpb.Value) scalar {
	switch k := v.GetKind().(type) {
	case *structpb.Value_StringValue:
		return k.StringValue
	case *structpb.Value_NumberValue:
		return k.NumberValue
	case *structpb.Value_BoolValue:
		return k.BoolValue
	}
	return nil
}

func parseEqual(op string, operand *structpb.Value) (condition, error) {
	want := scalarOf(operand)
	if want == nil {
		return nil, invalid("the %s operator must be followed by a string, boolean or a number, got %s instead", op, got(operand))
	}
	return anyElement(func(s scalar) bool { return s == want }), nil
}

func parseIn(op string, operand *structpb.Value) (condition, error) {
	_, isList := operand.GetKind().(*structpb.Value_ListValue)
	values := operand.GetListValue().GetValues()
	uniform := allOf[*structpb.Value_StringValue](values) || allOf[*structpb.Value_NumberValue](values)
	if !isList || !uniform {
		return nil, invalid("the %s operator must be followed by a list of strings or a list of numbers, got %s instead",
			op, got(operand))
	}
	if len(values) > maxFilterValues {
		return nil, invalid("the %s operator has %d values, which exceeds the limit of %d", op, len(values), maxFilterValues)
	}
	set := make(map[scalar]bool, len(values))
	for _, v := range values {
		set[scalarOf(v)] = true
	}
	return anyElement(func(s scalar) bool { return set[s] }), nil
}

// anyElement lifts a test of a scalar to fields that may hold a list.
func anyElement(holds func(scalar) bool) condition {
	return func(v *structpb.Value) bool {
		if list := v.GetListValue(); list != nil {
			return slices.ContainsFunc(list.GetValues(), func(e *structpb.Value) bool { return holds(scalarOf(e)) })
		}
		s := scalarOf(v)
		return s != nil && holds(s)
	}
}

func negated(parse func(string, *structpb.Value) (condition, error)) func(string, *structpb.Value) (condition, error) {
	return func(op string, operand *structpb.Value) (condition, error) {
		holds, err := parse(op, operand)
		if err != nil {
			return nil, err
		}
		return func(v *structpb.Value) bool { return !holds(v) }, nil
	}
}

func ordered(holds func(a, b float64) bool) func(string, *structpb.Value) (condition, error) {
	return func(op string, operand *structpb.Value) (condition, error) {
		bound, ok := scalarOf(operand).(float64)
		if !ok {
			return nil, invalid("the %s operator must be followed by a number, got %s instead", op, got(operand))
		}
		return func(v *structpb.Value) bool {
			n, ok := scalarOf(v).(float64)
			return ok && holds(n, bound)
		}, nil
	}
}

func parseExists(op string, operand *structpb.Value) (condition, error) {
	want, ok := scalarOf(operand).(bool)
	if !ok {
		return nil, invalid("the %s operator must be followed by a boolean, got %s instead", op, got(operand))
	}
	return func(v *structpb.Value) bool { return (v != nil) == want }, nil
}
