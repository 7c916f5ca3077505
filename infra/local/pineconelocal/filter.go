package pineconelocal

import (
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"
)

// predicate reports whether the metadata of a record, which may be nil, passes a filter.
type predicate func(fields map[string]*structpb.Value) bool

// everything is the predicate of a call without a filter.
func everything(map[string]*structpb.Value) bool { return true }

// parseFilter compiles a filter of the service's language. A nil or empty filter accepts everything.
func parseFilter(filter *structpb.Struct) (predicate, error) {
	if len(filter.GetFields()) == 0 {
		return everything, nil
	}
	var all []predicate
	for key, v := range filter.GetFields() {
		p, err := parseClause(key, v)
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return conjunction(all), nil
}

// requireFilter is parseFilter for calls that must not match every record because a filter is missing.
func requireFilter(filter *structpb.Struct) (predicate, error) {
	if len(filter.GetFields()) == 0 {
		return nil, invalid("A non-empty metadata filter must be given")
	}
	return parseFilter(filter)
}

func parseClause(key string, v *structpb.Value) (predicate, error) {
	switch {
	case key == "$and":
		return parseList(key, v, conjunction)
	case key == "$or":
		return parseList(key, v, disjunction)
	case strings.HasPrefix(key, "$"):
		return nil, invalid("%s is not a valid operator at this place, expected a field name, $and or $or", key)
	}
	return parseField(key, v)
}

// parseList compiles the list of filters after $and or $or.
func parseList(op string, v *structpb.Value, join func([]predicate) predicate) (predicate, error) {
	clauses := v.GetListValue().GetValues()
	if len(clauses) == 0 || !allOf[*structpb.Value_StructValue](clauses) {
		return nil, invalid("the %s operator must be followed by a non-empty list of filters, got %s instead", op, quote(v))
	}
	parts := make([]predicate, len(clauses))
	for i, c := range clauses {
		var err error
		if parts[i], err = requireFilter(c.GetStructValue()); err != nil {
			return nil, err
		}
	}
	return join(parts), nil
}

// parseField compiles the conditions on one field. A bare value means $eq.
func parseField(field string, v *structpb.Value) (predicate, error) {
	conditions := map[string]*structpb.Value{"$eq": v}
	switch k := v.GetKind().(type) {
	case *structpb.Value_StringValue, *structpb.Value_NumberValue, *structpb.Value_BoolValue:
	case *structpb.Value_StructValue:
		conditions = k.StructValue.GetFields()
	default:
		conditions = nil
	}
	var all []predicate
	for op, operand := range conditions {
		parse, ok := operators[op]
		if !ok {
			return nil, illegalCondition(field, v)
		}
		holds, err := parse(op, operand)
		if err != nil {
			return nil, err
		}
		all = append(all, func(fields map[string]*structpb.Value) bool { return holds(fields[field]) })
	}
	if len(all) == 0 {
		return nil, illegalCondition(field, v)
	}
	return conjunction(all), nil
}

func illegalCondition(field string, v *structpb.Value) error {
	return invalid("illegal condition for field %s, got %s", field, quote(v))
}

// quote returns an operand as error messages quote it.
func quote(v *structpb.Value) string { return excerpt(v, 200) }

func conjunction(parts []predicate) predicate {
	if len(parts) == 1 {
		return parts[0]
	}
	return func(fields map[string]*structpb.Value) bool {
		for _, p := range parts {
			if !p(fields) {
				return false
			}
		}
		return true
	}
}

func disjunction(parts []predicate) predicate {
	return func(fields map[string]*structpb.Value) bool {
		return slices.ContainsFunc(parts, func(p predicate) bool { return p(fields) })
	}
}

// condition reports whether the value of one field passes. The value is nil when the record doesn't have the field.
type condition func(*structpb.Value) bool

// operator compiles the operand of a comparison. Its name, op, is for the error.
type operator func(op string, operand *structpb.Value) (condition, error)

// operators are the comparisons by name. The service follows MongoDB's language: $ne and $nin also accept
// records without the field, and a field that holds a list is equal to each of its strings.
var operators = map[string]operator{
	"$eq":  parseEqual,
	"$ne":  negated(parseEqual),
	"$in":  parseIn,
	"$nin": negated(parseIn),
	"$gt":  ordered(func(a, b float64) bool { return a > b }),
	"$gte": ordered(func(a, b float64) bool { return a >= b }),
	"$lt":  ordered(func(a, b float64) bool { return a < b }),
	"$lte": ordered(func(a, b float64) bool { return a <= b }),
}

// scalar is a string, a float64 or a bool. Values of different types are never equal.
type scalar any

// scalarOf returns nil for a value that is not a scalar.
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
		return nil, invalid("the %s operator must be followed by a string, boolean or a number, got %s instead",
			op, quote(operand))
	}
	return anyElement(func(s scalar) bool { return s == want }), nil
}

func parseIn(op string, operand *structpb.Value) (condition, error) {
	_, isList := operand.GetKind().(*structpb.Value_ListValue)
	values := operand.GetListValue().GetValues()
	uniform := allOf[*structpb.Value_StringValue](values) || allOf[*structpb.Value_NumberValue](values)
	if !isList || !uniform {
		return nil, invalid("the %s operator must be followed by a list of strings or a list of numbers, got %s instead",
			op, quote(operand))
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

// anyElement applies a test of a scalar to a field, or to each element of a field that holds a list.
func anyElement(holds func(scalar) bool) condition {
	return func(v *structpb.Value) bool {
		if list := v.GetListValue(); list != nil {
			return slices.ContainsFunc(list.GetValues(), func(e *structpb.Value) bool { return holds(scalarOf(e)) })
		}
		s := scalarOf(v)
		return s != nil && holds(s)
	}
}

func negated(parse operator) operator {
	return func(op string, operand *structpb.Value) (condition, error) {
		holds, err := parse(op, operand)
		if err != nil {
			return nil, err
		}
		return func(v *structpb.Value) bool { return !holds(v) }, nil
	}
}

func ordered(holds func(a, b float64) bool) operator {
	return func(op string, operand *structpb.Value) (condition, error) {
		bound, ok := scalarOf(operand).(float64)
		if !ok {
			return nil, invalid("the %s operator must be followed by a number, got %s instead", op, quote(operand))
		}
		return func(v *structpb.Value) bool {
			n, ok := scalarOf(v).(float64)
			return ok && holds(n, bound)
		}, nil
	}
}
