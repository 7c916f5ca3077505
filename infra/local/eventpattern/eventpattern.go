// Package eventpattern matches events against the filter patterns of Lambda's event source mappings, so that the local
// stream pollers filter as the service does. It knows what the patterns of template.yaml use: exact texts, prefix,
// anything-but and exists. It refuses everything else.
package eventpattern

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Pattern is a parsed filter pattern. It may be used concurrently.
type Pattern struct{ root matcher }

// matcher decides on the event's value at one place. present is false where the event has none.
type matcher func(value any, present bool) bool

// Parse reads a pattern. The error names the place in the pattern that cannot be used.
func Parse(pattern string) (Pattern, error) {
	var doc map[string]any
	if err := json.Unmarshal([]byte(pattern), &doc); err != nil {
		return Pattern{}, fmt.Errorf("parse pattern: %w", err)
	}
	if len(doc) == 0 {
		return Pattern{}, errors.New("parse pattern: it is empty")
	}
	root, err := parseFields(doc, "$")
	if err != nil {
		return Pattern{}, fmt.Errorf("parse pattern: %w", err)
	}
	return Pattern{root: root}, nil
}

// Match reports whether an event fits the pattern. The event is decoded from JSON into maps, lists and scalars.
func (p Pattern) Match(event any) bool { return p.root(event, true) }

// parseFields returns a matcher of an object in which every field of the pattern matches.
func parseFields(doc map[string]any, path string) (matcher, error) {
	fields := map[string]matcher{}
	for name, value := range doc {
		at := path + "." + name
		var err error
		switch value := value.(type) {
		case map[string]any:
			fields[name], err = parseFields(value, at)
		case []any:
			fields[name], err = parseAlternatives(value, at)
		default:
			err = fmt.Errorf("%s: a value has to be in an array, [%v]", at, value)
		}
		if err != nil {
			return nil, err
		}
	}
	return func(value any, _ bool) bool {
		object, _ := value.(map[string]any)
		for name, matches := range fields {
			field, present := object[name]
			if !matches(field, present) {
				return false
			}
		}
		return true
	}, nil
}

// parseAlternatives returns a matcher of a value that one of the alternatives matches.
func parseAlternatives(values []any, path string) (matcher, error) {
	if len(values) == 0 {
		return nil, fmt.Errorf("%s: the array is empty", path)
	}
	var alternatives []matcher
	for _, v := range values {
		matches := parseValue(v)
		if matches == nil {
			return nil, fmt.Errorf("%s: the local stack filters by texts, prefix, anything-but and exists, not by %v",
				path, v)
		}
		alternatives = append(alternatives, matches)
	}
	return func(value any, present bool) bool {
		return slices.ContainsFunc(alternatives, func(matches matcher) bool { return matches(value, present) })
	}, nil
}

// parseValue returns nil for what is no text and no known operator.
func parseValue(v any) matcher {
	if want, ok := v.(string); ok {
		return text(func(s string) bool { return s == want })
	}
	operators, _ := v.(map[string]any)
	if len(operators) != 1 {
		return nil
	}
	if want, ok := operators["prefix"].(string); ok {
		return text(func(s string) bool { return strings.HasPrefix(s, want) })
	}
	if want, ok := operators["exists"].(bool); ok {
		return exists(want)
	}
	others, _ := operators["anything-but"].([]any)
	isNoText := func(other any) bool { _, ok := other.(string); return !ok }
	if len(others) == 0 || slices.ContainsFunc(others, isNoText) {
		return nil
	}
	return text(func(s string) bool { return !slices.Contains(others, any(s)) })
}

// text returns a matcher of a text for which holds is true. What is not there is no text.
func text(holds func(string) bool) matcher {
	return func(value any, _ bool) bool {
		s, ok := value.(string)
		return ok && holds(s)
	}
}

// exists returns a matcher of a value that is there, or of one that is not. The service asks this of leaves only: it
// treats an object as not there.
func exists(want bool) matcher {
	return func(value any, present bool) bool {
		_, isObject := value.(map[string]any)
		return want == (present && !isObject)
	}
}
