package recall

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

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
	op    vector.Op // Equal, In, or a comparison of numbers
	value any       // a string, a number or a boolean; a list of strings for In
}

// comparisons are the operators that compare numbers, by their names in a context query.
var comparisons = map[string]vector.Op{
	"$gt": vector.Above, "$gte": vector.AtLeast, "$lt": vector.Below, "$lte": vector.AtMost,
}

// parseFieldFilter parses the filter of a context query. A value is a string, a number or a boolean that the field
// equals, a list of strings of which it equals one, or an object of comparisons such as {"$gte": 0.8}.
func parseFieldFilter(filter map[string]any) (fieldFilter, fault.Problems) {
	parsed := fieldFilter{}
	filter, wrong := conversation.PrepareDocument("filter", filter, maxFilterBytes)
	for _, name := range slices.Sorted(maps.Keys(filter)) {
		conditions, problem := parseConditions(filter[name])
		if !fieldName().MatchString(name) {
			problem = nameProblem
		}
		wrong.If(problem != "", "filter."+name, problem)
		parsed[name] = conditions
	}
	return parsed, wrong
}

// FieldPattern returns a pattern that matches the names of the fields that summaries can be filtered by. The session
// attributes among them can be objects, whose fields have dotted names.
func FieldPattern() string {
	attributes, others := fieldNames()
	return `^((` + strings.Join(attributes, "|") + `)(\.[^.]+)*|` + strings.Join(others, "|") + `)$`
}

// fieldName is FieldPattern, compiled once.
var fieldName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(FieldPattern()) })

const nameProblem = "must be a field of a record type, such as discipline, metrics.distanceKm or triggerReason: " +
	"the OpenAPI document lists them"

// fieldNames returns the names of the fields of all record types: session attributes, and others.
func fieldNames() (attributes, others []string) {
	for _, s := range conversation.AppContexts() {
		for _, f := range s.Summary.Fields {
			attributes = append(attributes, f.Name)
		}
		if s.Summary.IDField != "" {
			others = append(others, s.Summary.IDField)
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
		return []fieldCondition{{vector.Equal, v}}, ""
	case []any:
		if list, ok := stringsOf(v); ok && len(list) > 0 && len(list) <= MaxFilterItems {
			return []fieldCondition{{vector.In, list}}, ""
		}
	case map[string]any:
		for _, operator := range slices.Sorted(maps.Keys(v)) {
			op, known := comparisons[operator]
			number, ok := v[operator].(float64)
			if !known || !ok {
				return nil, conditionProblem
			}
			conditions = append(conditions, fieldCondition{op, number})
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
	if compare := c.op.Compare(); compare != nil {
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
	switch v := c.value.(type) {
	case string:
		return vector.Where(name, vector.Equal, truncate.Runes(v, vector.MaxFieldChars))
	case []string:
		texts := make([]string, len(v))
		for i, text := range v {
			texts[i] = truncate.Runes(text, vector.MaxFieldChars)
		}
		return vector.Where(name, vector.In, texts)
	}
	inList := vector.Where(name, vector.In, []string{vector.ItemText(c.value)})
	switch c.op {
	case vector.Above, vector.AtLeast:
		inList = vector.Where(name+vector.GreatestSuffix, c.op, c.value)
	case vector.Below, vector.AtMost:
		inList = vector.Where(name+vector.LeastSuffix, c.op, c.value)
	}
	return vector.AnyOf(vector.Where(name, c.op, c.value), inList)
}
