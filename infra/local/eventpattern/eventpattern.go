// Package eventpattern matches events against the filter patterns of Lambda's event source mappings, so that the local
// stream pollers filter as the service does. It knows what the patterns of template.yaml use: exact texts, prefix,
// suffix, anything-but and exists. It refuses everything else.
package eventpattern

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Pattern is a parsed filter pattern. It may be used concurrently.
type Pattern struct{ root fields }

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
func (p Pattern) Match(event any) bool { return p.root.match(event, true) }

// matcher decides on the event's value at one place. present is false where the event has none.
type matcher interface {
	match(value any, present bool) bool
}

// fields matches an object in which every field of the pattern matches.
type fields map[string]matcher

func (f fields) match(value any, _ bool) bool {
	object, _ := value.(map[string]any)
	for name, m := range f {
		field, present := object[name]
		if !m.match(field, present) {
			return false
		}
	}
	return true
}

// alternatives matches a value that one of them matches.
type alternatives []matcher

func (a alternatives) match(value any, present bool) bool {
	for _, m := range a {
		if m.match(value, present) {
			return true
		}
	}
	return false
}

// text matches a text that the function accepts.
type text func(string) bool

func (t text) match(value any, _ bool) bool {
	s, ok := value.(string)
	return ok && t(s)
}

// exists matches a value that is there, or one that is not. The service asks this of leaves only: it treats an object
// as not there.
type exists bool

func (e exists) match(value any, present bool) bool {
	_, isObject := value.(map[string]any)
	return bool(e) == (present && !isObject)
}

func parseFields(doc map[string]any, path string) (fields, error) {
	parsed := fields{}
	for name, value := range doc {
		at := path + "." + name
		var err error
		switch value := value.(type) {
		case map[string]any:
			parsed[name], err = parseFields(value, at)
		case []any:
			parsed[name], err = parseAlternatives(value, at)
		default:
			err = fmt.Errorf("%s: a value has to be in an array, [%v]", at, value)
		}
		if err != nil {
			return nil, err
		}
	}
	return parsed, nil
}

func parseAlternatives(values []any, path string) (matcher, error) {
	if len(values) == 0 {
		return nil, fmt.Errorf("%s: the array is empty", path)
	}
	var parsed alternatives
	for _, v := range values {
		m, ok := parseValue(v)
		if !ok {
			return nil, fmt.Errorf("%s: the local stack filters by texts, prefix, suffix, anything-but and exists, not by %v",
				path, v)
		}
		parsed = append(parsed, m)
	}
	return parsed, nil
}

func parseValue(v any) (m matcher, ok bool) {
	switch v := v.(type) {
	case string:
		return text(func(s string) bool { return s == v }), true
	case map[string]any:
		if want, ok := v["prefix"].(string); ok && len(v) == 1 {
			return text(func(s string) bool { return strings.HasPrefix(s, want) }), true
		}
		if want, ok := v["suffix"].(string); ok && len(v) == 1 {
			return text(func(s string) bool { return strings.HasSuffix(s, want) }), true
		}
		if others, ok := v["anything-but"].([]any); ok && len(v) == 1 {
			return anythingBut(others)
		}
		if want, ok := v["exists"].(bool); ok && len(v) == 1 {
			return exists(want), true
		}
	}
	return nil, false
}

// anythingBut matches a text that is there and is none of some. What is not there, it does not match.
func anythingBut(others []any) (m matcher, ok bool) {
	for _, other := range others {
		if _, ok := other.(string); !ok {
			return nil, false
		}
	}
	return text(func(s string) bool { return !slices.Contains(others, any(s)) }), len(others) > 0
}
