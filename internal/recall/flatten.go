package recall

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/throughline/throughline/internal/truncate"
)

// What an app hangs on a session is kept within bounds: the service allows 40 KB of metadata for a record.
const (
	maxFieldsBytes = 16 << 10
	maxFieldChars  = 200
	maxListItems   = 20
)

// flattened turns a record's own fields into metadata: strings, numbers, booleans and lists of strings. A map's keys
// are joined by dots. What has no such form, and what goes beyond the bounds, is left out.
func flattened(fields map[string]any) map[string]any {
	out := flatFields{values: map[string]any{}, room: maxFieldsBytes}
	out.add("", fields)
	return out.values
}

type flatFields struct {
	values map[string]any
	room   int
}

func (f *flatFields) add(prefix string, fields map[string]any) {
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if name == "" || len(prefix+name) > maxFieldChars || strings.HasPrefix(name, "$") {
			continue
		}
		if inner, ok := fields[name].(map[string]any); ok {
			f.add(prefix+name+".", inner)
			continue
		}
		value, ok := flat(fields[name])
		if size := len(prefix+name) + sizeOf(value); ok && size <= f.room {
			f.values[prefix+name] = value
			f.room -= size
		}
	}
}

func sizeOf(value any) int {
	switch v := value.(type) {
	case string:
		return len(v)
	case []string:
		return len(strings.Join(v, `","`))
	}
	return 8
}

func flat(value any) (any, bool) {
	switch v := value.(type) {
	case string:
		return truncate.Runes(v, maxFieldChars), true
	case bool, float64:
		return v, true
	case int:
		return float64(v), true
	case int64:
		return float64(v), true
	case json.Number:
		f, err := v.Float64()
		return f, err == nil
	case []string:
		return clipped(v), true
	case []any:
		return texts(v)
	}
	return nil, false
}

// texts is the list's strings; a list of anything else has no form.
func texts(list []any) (any, bool) {
	out := make([]string, 0, len(list))
	for _, item := range list {
		s, ok := item.(string)
		if !ok {
			return nil, false
		}
		out = append(out, s)
	}
	return clipped(out), true
}

func clipped(list []string) []string {
	out := slices.Clone(list[:min(len(list), maxListItems)])
	for i, s := range out {
		out[i] = truncate.Runes(s, maxFieldChars)
	}
	return out
}
