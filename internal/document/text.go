package document

import (
	"encoding/json"
	"fmt"
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
	var wrong fault.Problems
	for i, path := range paths {
		_, ok := parsePath(path)
		wrong.If(!ok, fmt.Sprintf("index[%d]", i), "must be "+pathRule)
	}
	return wrong.Err()
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
// their names, so that the whole value of {"food": "pizza"} is "food: pizza". A name is written again for each item of
// a list, and each path may lead to all of the value. So the text has at most 4 KiB more than four times the bytes of
// the value, and at most MaxValueBytes: it is written to that length, and what follows is not found.
func (d Document) Text() string {
	var value any
	if err := json.Unmarshal(d.Value, &value); err != nil {
		return ""
	}
	paths := d.Index
	if paths == nil {
		paths = []string{wholeValue}
	}
	w := writer{most: min(4*len(d.Value)+4<<10, MaxValueBytes)}
	for i, path := range paths {
		if slices.Contains(paths[:i], path) {
			continue
		}
		steps, _ := parsePath(path)
		w.at(value, steps)
	}
	return truncate.Bytes(w.text.String(), w.most)
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

// writer writes the text of a document until it is longer than most.
type writer struct {
	text strings.Builder
	most int
	name []byte // the names that lead to the value, joined by dots
}

// at writes what steps lead to from a value.
func (w *writer) at(value any, steps []step) {
	if len(steps) == 0 {
		w.write(value)
		return
	}
	s, rest := steps[0], steps[1:]
	switch v := value.(type) {
	case map[string]any:
		switch field, ok := v[s.name]; {
		case s.kind == toField && ok:
			w.at(field, rest)
		case s.kind == toAllFields:
			for _, name := range names(v) {
				w.at(v[name], rest)
			}
		}
	case []any:
		at := s.index
		if at < 0 {
			at += len(v)
		}
		switch {
		case s.kind == toAllItems:
			for _, item := range v {
				w.at(item, rest)
			}
		case s.kind == toItem && at >= 0 && at < len(v):
			w.at(v[at], rest)
		}
	}
}

// names returns the names of an object's fields in order. Values can have a hundred thousand objects, so it allocates
// only what it returns.
func names(object map[string]any) []string {
	if len(object) == 0 {
		return nil
	}
	sorted := make([]string, 0, len(object))
	for name := range object {
		sorted = append(sorted, name)
	}
	slices.Sort(sorted)
	return sorted
}

// write writes the texts, numbers and flags in a value, a line for each, with the names that lead to them.
func (w *writer) write(value any) {
	if w.text.Len() > w.most {
		return
	}
	switch v := value.(type) {
	case map[string]any:
		outer := w.name
		for _, field := range names(v) {
			if len(outer) > 0 {
				w.name = append(w.name, '.')
			}
			w.name = append(w.name, field...)
			w.write(v[field])
			w.name = w.name[:len(outer)]
		}
	case []any:
		for _, item := range v {
			w.write(item)
		}
	case string:
		w.line(v)
	case bool:
		w.line(strconv.FormatBool(v))
	case float64:
		w.line(strconv.FormatFloat(v, 'f', -1, 64))
	}
}

// line writes one line, unless the text is empty.
func (w *writer) line(text string) {
	if text == "" {
		return
	}
	if w.text.Len() > 0 {
		w.text.WriteByte('\n')
	}
	if len(w.name) > 0 {
		w.text.Write(w.name)
		w.text.WriteString(": ")
	}
	w.text.WriteString(text)
}
