package pineconelocal

import (
	"strings"

	"google.golang.org/protobuf/types/known/structpb"
)

// predicate decides on the metadata of a record, which may be nil.
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

// requireFilter is parseFilter for calls that would otherwise hit every record by accident.
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

// parseList compiles what follows $and and $or.
func parseList(op string, v *structpb.Value, join func([]predicate) predicate) (predicate, error) {
	clauses := v.GetListValue().GetValues()
	if len(clauses) == 0 || !allOf[*structpb.Value_StructValue](clauses) {
		return nil, invalid("the %s operator must be followed by a non-empty list of filters, got %s instead", op, got(v))
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

// parseField compiles the conditions on one field: a bare value means $eq.
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
			return nil, illegal(field, v)
		}
		holds, err := parse(op, operand)
		if err != nil {
			return nil, err
		}
		all = append(all, func(fields map[string]*structpb.Value) bool { return holds(fields[field]) })
	}
	if len(all) == 0 {
		return nil, illegal(field, v)
	}
	return conjunction(all), nil
}

func illegal(field string, v *structpb.Value) error {
	return invalid("illegal condition for field %s, got %s", field, got(v))
}

// got is an operand as error messages quote it.
func got(v *structpb.Value) string { return excerpt(v, 200) }

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
		for _, p := range parts {
			if p(fields) {
				return true
			}
		}
		return false
	}
}
