package pineconelocal

import "slices"

// predicate reports whether the metadata of a record, which may be nil, passes a filter.
type predicate func(fields map[string]any) bool

// parseFilter compiles a filter of the service's language, in the form that Throughline writes:
// {"field": {"$operator": value}}, or {"$and": [...]}. A nil or empty filter accepts everything.
func parseFilter(filter map[string]any) (predicate, error) {
	var all []predicate
	for key, value := range filter {
		parse := parseField
		if key == "$and" || key == "$or" {
			parse = parseList
		}
		p, err := parse(key, value)
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return conjunction(all), nil
}

func conjunction(all []predicate) predicate {
	return func(fields map[string]any) bool {
		return !slices.ContainsFunc(all, func(p predicate) bool { return !p(fields) })
	}
}

// parseList compiles the list of filters after $and or $or.
func parseList(op string, value any) (predicate, error) {
	clauses, _ := value.([]any)
	var parts []predicate
	for _, c := range clauses {
		filter, _ := c.(map[string]any)
		p, err := parseFilter(filter)
		if err != nil {
			return nil, err
		}
		parts = append(parts, p)
	}
	err := require(len(parts) > 0, "the %s operator must be followed by a non-empty list of filters, got %s instead", op,
		quote{value})
	if op == "$and" {
		return conjunction(parts), err
	}
	return func(fields map[string]any) bool {
		return slices.ContainsFunc(parts, func(p predicate) bool { return p(fields) })
	}, err
}

// parseField compiles the conditions on one field.
func parseField(name string, value any) (predicate, error) {
	conditions, _ := value.(map[string]any)
	var all []predicate
	for op, operand := range conditions {
		c, err := parseComparison(op, operand)
		if err != nil {
			return nil, err
		}
		all = append(all, func(fields map[string]any) bool { return c.holds(fields[name]) })
	}
	return conjunction(all), require(len(all) > 0, "illegal condition for field %s, got %s", name, quote{value})
}

// comparison is an operator with what it compares a field with.
type comparison struct {
	op     string
	values []any   // of $eq, $ne, $in and $nin
	bound  float64 // of the others
}

func parseComparison(op string, operand any) (comparison, error) {
	c, wanted := comparison{op: op}, "a string, boolean or a number"
	var ok bool
	switch op {
	case "$eq", "$ne":
		c.values, ok = []any{operand}, isScalar(operand)
	case "$in", "$nin":
		c.values, ok = operand.([]any)
		ok = ok && (allOf[string](c.values) || allOf[float64](c.values))
		wanted = "a list of strings or a list of numbers"
	case "$gt", "$gte", "$lt", "$lte":
		c.bound, ok = operand.(float64)
		wanted = "a number"
	default:
		return c, invalid("%s is no operator", op)
	}
	if !ok {
		return c, invalid("the %s operator must be followed by %s, got %s instead", op, wanted, quote{operand})
	}
	return c, require(len(c.values) <= maxFilterValues,
		"the %s operator has %d values, which exceeds the limit of %d", op, len(c.values), maxFilterValues)
}

// holds compares the value of a field, which is nil when the record doesn't have it. The service follows MongoDB's
// language: $ne and $nin also accept records without the field, and values of different types are never equal.
func (c comparison) holds(field any) bool {
	n, isNumber := field.(float64)
	switch c.op {
	case "$eq", "$in":
		return c.equals(field)
	case "$ne", "$nin":
		return !c.equals(field)
	case "$gt":
		return isNumber && n > c.bound
	case "$gte":
		return isNumber && n >= c.bound
	case "$lt":
		return isNumber && n < c.bound
	}
	return isNumber && n <= c.bound
}

// equals reports whether a field is one of the values, or is a list that has one of them.
func (c comparison) equals(field any) bool {
	if items, isList := field.([]any); isList {
		return slices.ContainsFunc(items, c.equals)
	}
	return slices.Contains(c.values, field)
}

func isScalar(v any) bool {
	switch v.(type) {
	case string, float64, bool:
		return true
	}
	return false
}

// allOf reports whether every value is of one type.
func allOf[T any](values []any) bool {
	return !slices.ContainsFunc(values, func(v any) bool { _, ok := v.(T); return !ok })
}
