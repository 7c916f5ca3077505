package document

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/truncate"
	"github.com/throughline/throughline/internal/vector"
)

// wholeValue is the path of all of a value.
const wholeValue = "$"

// pathRule describes a path. It follows "must be".
const pathRule = `$, or names joined by dots, each with [0], [-1] or [*] where it is a list, such as ` +
	`"notes[*].text"; the name * means every field`

// step is one step of a path: to a field, to all fields, to an item, or to all items.
type step struct {
	name  string
	index int
	kind  stepKind
}

type stepKind int

const (
	toField stepKind = iota
	toAllFields
	toItem
	toAllItems
)

// checkPaths returns an Invalid error for paths that are not all valid.
func checkPaths(paths []string) error {
	if len(paths) > MaxPaths {
		return fault.InvalidField("index", fmt.Sprintf("must have at most %d paths", MaxPaths))
	}
	var wrong []fault.Field
	for i, path := range paths {
		if _, ok := parsePath(path); !ok {
			wrong = append(wrong, fault.Field{Field: fmt.Sprintf("index[%d]", i), Message: "must be " + pathRule})
		}
	}
	if len(wrong) > 0 {
		return fault.InvalidFields(wrong...)
	}
	return nil
}

// parsePath parses a path. ok is false if it is not valid.
func parsePath(path string) (steps []step, ok bool) {
	if path == wholeValue {
		return nil, true
	}
	path = strings.TrimPrefix(path, wholeValue+".")
	if utf8.RuneCountInString(path) > MaxPathChars || !utf8.ValidString(path) {
		return nil, false
	}
	for segment := range strings.SplitSeq(path, ".") {
		name, indexes, _ := strings.Cut(segment, "[")
		switch name {
		case "", wholeValue:
			return nil, false
		case Wildcard:
			steps = append(steps, step{kind: toAllFields})
		default:
			steps = append(steps, step{name: name})
		}
		items, ok := parseIndexes(indexes, len(name) < len(segment))
		if !ok {
			return nil, false
		}
		steps = append(steps, items...)
	}
	return steps, true
}

// parseIndexes parses what follows the first bracket of a segment, such as "0][*]".
func parseIndexes(text string, has bool) (steps []step, ok bool) {
	if !has {
		return nil, true
	}
	rest, closed := strings.CutSuffix(text, "]")
	if !closed {
		return nil, false
	}
	for index := range strings.SplitSeq(rest, "][") {
		if index == Wildcard {
			steps = append(steps, step{kind: toAllItems})
			continue
		}
		n, err := strconv.Atoi(index)
		if err != nil || strconv.Itoa(n) != index {
			return nil, false
		}
		steps = append(steps, step{index: n, kind: toItem})
	}
	return steps, true
}

// Text is what a search finds the document by: the texts, numbers and flags at its paths. Those of an object follow
// their names, so that the whole value of {"food": "pizza"} is "food: pizza". It has at most MaxValueBytes.
func (d Document) Text() string {
	var value any
	if err := json.Unmarshal(d.Value, &value); err != nil {
		return ""
	}
	paths := d.Index
	if paths == nil {
		paths = []string{wholeValue}
	}
	var lines []string
	for _, path := range paths {
		steps, _ := parsePath(path)
		for _, selected := range selectAt([]any{value}, steps) {
			lines = appendLines(lines, "", selected)
		}
	}
	return truncate.Bytes(strings.Join(lines, "\n"), MaxValueBytes)
}

// Parts returns the document's text in parts that an index takes, none where there is no text.
func (d Document) Parts() []string {
	text := d.Text()
	if strings.TrimSpace(text) == "" {
		return nil
	}
	return vector.Split(text)
}

// IsSearched reports whether a search can find the document.
func (d Document) IsSearched() bool {
	return (d.Index == nil || len(d.Index) > 0) && len(d.Parts()) > 0
}

// selectAt returns what a path leads to from some values.
func selectAt(values []any, steps []step) []any {
	for _, s := range steps {
		var next []any
		for _, v := range values {
			next = s.appendTo(next, v)
		}
		values = next
	}
	return values
}

// appendTo appends what one step from a value leads to.
func (s step) appendTo(out []any, from any) []any {
	switch v := from.(type) {
	case map[string]any:
		switch field, ok := v[s.name]; {
		case s.kind == toField && ok:
			return append(out, field)
		case s.kind == toAllFields:
			for _, name := range slices.Sorted(maps.Keys(v)) {
				out = append(out, v[name])
			}
		}
	case []any:
		at := s.index
		if at < 0 {
			at += len(v)
		}
		switch {
		case s.kind == toAllItems:
			return append(out, v...)
		case s.kind == toItem && at >= 0 && at < len(v):
			return append(out, v[at])
		}
	}
	return out
}

// appendLines appends the texts, numbers and flags in a value, a line for each, with the names that lead to them.
func appendLines(lines []string, name string, value any) []string {
	text := ""
	switch v := value.(type) {
	case map[string]any:
		for _, field := range slices.Sorted(maps.Keys(v)) {
			under := field
			if name != "" {
				under = name + "." + field
			}
			lines = appendLines(lines, under, v[field])
		}
	case []any:
		for _, item := range v {
			lines = appendLines(lines, name, item)
		}
	case string:
		text = v
	case bool:
		text = strconv.FormatBool(v)
	case float64:
		text = strconv.FormatFloat(v, 'f', -1, 64)
	}
	switch {
	case text == "":
		return lines
	case name == "":
		return append(lines, text)
	}
	return append(lines, name+": "+text)
}
