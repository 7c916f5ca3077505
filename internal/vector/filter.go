package vector

import "slices"

// Filter is a condition on the metadata of records: it compares a field with a value, or combines other filters. An
// index translates it into its own language. The zero Filter is no condition. A field that is a list of strings passes
// Equal and In when one of its items does. NotEqual and NotIn pass what Equal and In do not, records without the field
// among them.
type Filter struct {
	Op Op
	// Field is compared with Value: a string, a number or a boolean for Equal and NotEqual, a []string for In and NotIn,
	// and a float64 for the others.
	Field string
	Value any
	// Of are the filters that All and Any combine.
	Of []Filter
}

// Op is what a filter does.
type Op string

// The operators of a filter.
const (
	All      Op = "all"
	Any      Op = "any"
	Equal    Op = "equal"
	NotEqual Op = "not equal"
	In       Op = "in"
	NotIn    Op = "not in"
	Above    Op = "above"
	AtLeast  Op = "at least"
	Below    Op = "below"
	AtMost   Op = "at most"
)

// Where compares a field with a value.
func Where(field string, op Op, value any) Filter { return Filter{Op: op, Field: field, Value: value} }

// AllOf is the filter that passes what all of these pass. It leaves out those without a condition.
func AllOf(filters ...Filter) Filter {
	filters = slices.DeleteFunc(slices.Clone(filters), Filter.IsZero)
	switch len(filters) {
	case 0:
		return Filter{}
	case 1:
		return filters[0]
	}
	return Filter{Op: All, Of: filters}
}

// AnyOf is the filter that passes what one of these passes.
func AnyOf(filters ...Filter) Filter { return Filter{Op: Any, Of: filters} }

// IsZero reports whether the filter has no condition.
func (f Filter) IsZero() bool { return f.Op == "" }

// Compare returns the comparison of a number with the value of the operators for numbers. It is nil for another one.
func (o Op) Compare() func(a, b float64) bool {
	switch o {
	case Above:
		return func(a, b float64) bool { return a > b }
	case AtLeast:
		return func(a, b float64) bool { return a >= b }
	case Below:
		return func(a, b float64) bool { return a < b }
	case AtMost:
		return func(a, b float64) bool { return a <= b }
	}
	return nil
}
