package recall

import (
	"maps"
	"slices"
	"strings"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/vector"
)

// fieldFilter limits summaries by their own fields, each by the conditions that its name has. The names are those of
// the metadata: "prAchievements.exercise".
type fieldFilter map[string][]fieldCondition

// fieldCondition compares a field with a value. A field that is a list is equal to each of its items.
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
		if !isFieldName(name) {
			problem = "must be a field of a record type"
		}
		if problem != "" {
			wrong = append(wrong, fault.Field{Field: "filter." + name, Message: problem})
		}
		parsed[name] = conditions
	}
	return parsed, wrong
}

// maxFilterBytes limits a filter as conversation.PrepareDocument counts it.
const maxFilterBytes = 4 << 10

const conditionProblem = `must be a string, a number, a boolean, a list of 1 to 20 strings, ` +
	`or comparisons with numbers such as {"$gte": 0.8}`

func parseConditions(value any) (conditions []fieldCondition, problem string) {
	switch v := value.(type) {
	case string, float64, bool:
		return []fieldCondition{{"$eq", v}}, ""
	case []any:
		if list, ok := stringsOf(v); ok && len(list) > 0 && len(list) <= maxListItems {
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

// isFieldName reports whether a name is a field of some record type, or is nested in one.
func isFieldName(name string) bool {
	root, _, _ := strings.Cut(name, ".")
	for _, s := range conversation.Surfaces {
		if slices.ContainsFunc(s.Fields, func(f conversation.Field) bool { return f.Name == root }) || name == s.IDField {
			return true
		}
	}
	return slices.Contains(conversation.RatingFields, name)
}

// matches reports whether a summary passes, by the metadata of its own fields.
func (f fieldFilter) matches(fields map[string]any) bool {
	if len(f) == 0 {
		return true
	}
	metadata := flatten(fields)
	for name, conditions := range f {
		if slices.ContainsFunc(conditions, func(c fieldCondition) bool { return !c.matches(metadata[name]) }) {
			return false
		}
	}
	return true
}

func (c fieldCondition) matches(value any) bool {
	if compare := comparisons[c.operator]; compare != nil {
		number, ok := value.(float64)
		return ok && compare(number, c.value.(float64))
	}
	items, isList := value.([]string)
	if !isList {
		text, isText := value.(string)
		if !isText {
			return value == c.value
		}
		items = []string{text}
	}
	return slices.ContainsFunc(items, func(item string) bool {
		wanted, isList := c.value.([]string)
		return item == c.value || isList && slices.Contains(wanted, item)
	})
}

// filters are the same conditions as filters of the index.
func (f fieldFilter) filters() []vector.Filter {
	var all []vector.Filter
	for _, name := range slices.Sorted(maps.Keys(f)) {
		for _, c := range f[name] {
			all = append(all, vector.Filter{name: vector.Filter{c.operator: c.value}})
		}
	}
	return all
}
