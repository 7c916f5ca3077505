package recall

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/throughline/throughline/internal/truncate"
)

// The metadata fields that every record of the index has where they apply, and that queries filter by.
const (
	fieldRecordType = "recordType"
	fieldCoach      = "coachId"
	fieldContext    = "sourceContext"
	fieldSource     = "sourceId"
	fieldSession    = "sessionId"
	fieldTime       = "timestamp"
	fieldText       = "text"
)

// The limits of a summary's own fields as metadata: Pinecone takes 40 KB of metadata for one record.
const (
	maxFieldsBytes = 16 << 10
	maxFieldChars  = 200
	maxListItems   = 20
)

// flatten turns a record's own fields into metadata that Pinecone can filter by: strings, numbers, booleans and lists
// of strings. The keys of nested maps are joined by dots. Values of other forms and values beyond the limits are left
// out.
func flatten(fields map[string]any) map[string]any {
	f := flattener{metadata: map[string]any{}, room: maxFieldsBytes}
	f.add("", fields)
	return f.metadata
}

type flattener struct {
	metadata map[string]any
	room     int
}

func (f *flattener) add(prefix string, fields map[string]any) {
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if name == "" || len(prefix+name) > maxFieldChars || strings.HasPrefix(name, "$") {
			continue
		}
		if nested, ok := fields[name].(map[string]any); ok {
			f.add(prefix+name+".", nested)
			continue
		}
		value, ok := metadataValue(fields[name])
		if size := len(prefix+name) + sizeOf(value); ok && size <= f.room {
			f.metadata[prefix+name] = value
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

// metadataValue converts a value; ok is false where metadata has no form for it.
func metadataValue(value any) (converted any, ok bool) {
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
		return shortList(v), true
	case []any:
		return stringList(v)
	}
	return nil, false
}

// stringList converts a list of strings; ok is false for a list that holds anything else.
func stringList(list []any) (converted any, ok bool) {
	out := make([]string, 0, len(list))
	for _, item := range list {
		s, ok := item.(string)
		if !ok {
			return nil, false
		}
		out = append(out, s)
	}
	return shortList(out), true
}

func shortList(list []string) []string {
	out := slices.Clone(list[:min(len(list), maxListItems)])
	for i, s := range out {
		out[i] = truncate.Runes(s, maxFieldChars)
	}
	return out
}
