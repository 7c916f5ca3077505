package recall

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/truncate"
	"github.com/throughline/throughline/internal/vector"
)

// fieldFilter limits summaries by their own fields, each by the conditions that its name has. Names of nested objects
// are joined by dots, and those of objects in a list have no number: "prAchievements.exercise".
type fieldFilter map[string][]fieldCondition

// fieldCondition compares a field with a value. Of a list, one item has to pass all conditions of the field.
type fieldCondition struct {
	operator string // "$eq", "$in", "$gt", "$gte", "$lt" or "$lte"
	value    any    // a string, a number or a boolean; a list of strings for "$in"
}

// comparisons are the operators that compare numbers.
var comparisons = map[string]func(a, b float64) bool{
	"$gt":  func(a, b float64) bool { return a > b },
	"$gte": func(a, b float64) bool { return a >= b },
	"$lt":  func(a, b float64) bool { return a < b },
	"$lte": func(a, b float64) bool { return a <= b },
}

// parseFieldFilter parses the filter of a context query. A value is a string, a number or a boolean that the field
// equals, a list of strings of which it equals one, or an object of comparisons such as {"$gte": 0.8}.
func parseFieldFilter(filter map[string]any) (fieldFilter, []fault.Field) {
	parsed := fieldFilter{}
	filter, wrong := conversation.PrepareDocument("filter", filter, maxFilterBytes)
	for _, name := range slices.Sorted(maps.Keys(filter)) {
		conditions, problem := parseConditions(filter[name])
		if !fieldName.MatchString(name) {
			problem = nameProblem
		}
		if problem != "" {
			wrong = append(wrong, fault.Field{Field: "filter." + name, Message: problem})
		}
		parsed[name] = conditions
	}
	return parsed, wrong
}

// FieldPattern matches the names of the fields that summaries can be filtered by. The session attributes among them can
// be objects, whose fields have dotted names.
var FieldPattern = func() string {
	attributes, others := fieldNames()
	return `^((` + strings.Join(attributes, "|") + `)(\.[^.]+)*|` + strings.Join(others, "|") + `)$`
}()

var fieldName = regexp.MustCompile(FieldPattern)

const nameProblem = "must be a field of a record type, such as discipline, metrics.distanceKm or triggerReason: " +
	"the OpenAPI document lists them"

// fieldNames returns the names of the fields of all record types: session attributes, and others.
func fieldNames() (attributes, others []string) {
	for _, s := range conversation.Surfaces {
		for _, f := range s.Fields {
			attributes = append(attributes, f.Name)
		}
		if s.IDField != "" {
			others = append(others, s.IDField)
		}
	}
	others = append(others, conversation.RatingFields...)
	slices.Sort(attributes)
	slices.Sort(others)
	return slices.Compact(attributes), slices.Compact(others)
}

// MaxFilterItems limits a list of strings in a filter, maxFilterBytes a filter as conversation.PrepareDocument counts
// it.
const (
	MaxFilterItems = 20
	maxFilterBytes = 4 << 10
)

const conditionProblem = `must be a string, a number, a boolean, a list of 1 to 20 strings, ` +
	`or comparisons with numbers such as {"$gte": 0.8}`

func parseConditions(value any) (conditions []fieldCondition, problem string) {
	switch v := value.(type) {
	case string, float64, bool:
		return []fieldCondition{{"$eq", v}}, ""
	case []any:
		if list, ok := stringsOf(v); ok && len(list) > 0 && len(list) <= MaxFilterItems {
			return []fieldCondition{{"$in", list}}, ""
		}
	case map[string]any:
		for _, operator := range slices.Sorted(maps.Keys(v)) {
			number, ok := v[operator].(float64)
			if comparisons[operator] == nil || !ok {
				return nil, conditionProblem
			}
			conditions = append(conditions, fieldCondition{operator, number})
		}
		if len(conditions) > 0 {
			return conditions, ""
		}
	}
	return nil, conditionProblem
}

func stringsOf(list []any) ([]string, bool) {
	out := make([]string, len(list))
	for i, item := range list {
		s, ok := item.(string)
		if !ok {
			return nil, false
		}
		out[i] = s
	}
	return out, true
}

// matches reports whether a summary passes, by its own fields as the table has them.
func (f fieldFilter) matches(fields map[string]any) bool {
	for name, conditions := range f {
		passes := func(value any) bool {
			return !slices.ContainsFunc(conditions, func(c fieldCondition) bool { return !c.matches(value) })
		}
		if !slices.ContainsFunc(valuesAt(fields, name), passes) {
			return false
		}
	}
	return true
}

// valuesAt returns the strings, numbers and flags with a dotted name in a value: several where a list is on the way.
func valuesAt(value any, name string) []any {
	var values []any
	switch v := value.(type) {
	case []any:
		for _, item := range v {
			values = append(values, valuesAt(item, name)...)
		}
	case map[string]any:
		for key, nested := range v {
			if key == name {
				values = append(values, valuesAt(nested, "")...)
			} else if rest, ok := strings.CutPrefix(name, key+"."); ok {
				values = append(values, valuesAt(nested, rest)...)
			}
		}
	default:
		if name == "" {
			values = []any{v}
		}
	}
	return values
}

func (c fieldCondition) matches(value any) bool {
	if compare := comparisons[c.operator]; compare != nil {
		number, ok := value.(float64)
		return ok && compare(number, c.value.(float64))
	}
	if list, ok := c.value.([]string); ok {
		text, ok := value.(string)
		return ok && slices.Contains(list, text)
	}
	return value == c.value
}

// filters are the same conditions as filters of the index, as far as the metadata allows.
func (f fieldFilter) filters() []vector.Filter {
	var all []vector.Filter
	for _, name := range slices.Sorted(maps.Keys(f)) {
		for _, c := range f[name] {
			all = append(all, c.filter(name))
		}
	}
	return all
}

// filter is the condition as a filter of the index. There numbers and flags in a list are texts, and a list of numbers
// has its least and its greatest under names of their own.
func (c fieldCondition) filter(name string) vector.Filter {
	either := func(inList vector.Filter) vector.Filter {
		return vector.Filter{"$or": []vector.Filter{{name: vector.Filter{c.operator: c.value}}, inList}}
	}
	switch v := c.value.(type) {
	case string:
		return vector.Filter{name: vector.Filter{"$eq": truncate.Runes(v, maxFieldChars)}}
	case []string:
		texts := make([]string, len(v))
		for i, text := range v {
			texts[i] = truncate.Runes(text, maxFieldChars)
		}
		return oneOf(name, texts)
	}
	switch c.operator {
	case "$gt", "$gte":
		return either(vector.Filter{name + greatestSuffix: vector.Filter{c.operator: c.value}})
	case "$lt", "$lte":
		return either(vector.Filter{name + leastSuffix: vector.Filter{c.operator: c.value}})
	}
	return either(oneOf(name, []string{itemText(c.value)}))
}
