package indexing

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/throughline/throughline/internal/truncate"
	"github.com/throughline/throughline/internal/vector"
)

// The limits of a summary's own fields as metadata: an index may take no more than 40 KB of metadata for one record.
const (
	maxFieldsBytes = 16 << 10
	maxListItems   = 20
	// entryBytes is what an entry or an item of a list takes besides its text, in JSON or in protocol buffers.
	entryBytes = 24
)

// flatten turns a record's own fields into metadata that an index can filter by: strings, numbers, booleans and lists
// of strings. The keys of nested objects are joined by dots: "metrics.distanceKm". A list becomes a list of strings,
// and a list of objects becomes one such list for each key: "prAchievements.exercise". Null and values beyond the
// limits are left out.
func flatten(fields map[string]any) map[string]any {
	f := flattener{metadata: map[string]any{}, room: maxFieldsBytes}
	f.addObject("", fields)
	return f.metadata
}

type flattener struct {
	metadata map[string]any
	room     int
}

func (f *flattener) addObject(prefix string, object map[string]any) {
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if name != "" && len(prefix+name) <= vector.MaxFieldChars && !strings.HasPrefix(name, "$") {
			f.add(prefix+name, object[name])
		}
	}
}

func (f *flattener) add(name string, value any) {
	switch v := value.(type) {
	case map[string]any:
		f.addObject(name+".", v)
	case []any:
		f.addItem(name, v)
	case string:
		v = truncate.Runes(v, vector.MaxFieldChars)
		f.put(name, v, v)
	case bool, float64:
		f.put(name, v, "")
	}
}

// addItem adds an item of a list, or its keys or items.
func (f *flattener) addItem(name string, item any) {
	switch v := item.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			f.addItem(name+"."+key, v[key])
		}
		return
	case []any:
		for _, nested := range v {
			f.addItem(name, nested)
		}
		return
	case float64:
		f.addNumber(name+vector.LeastSuffix, v, math.Min)
		f.addNumber(name+vector.GreatestSuffix, v, math.Max)
	}
	list, _ := f.metadata[name].([]string)
	if text := vector.ItemText(item); text != "" && len(list) < maxListItems && len(name) <= vector.MaxFieldChars {
		f.put(name, append(list, text), text)
	}
}

// addNumber puts the least or the greatest of a number and the one before under a name.
func (f *flattener) addNumber(name string, number float64, best func(a, b float64) float64) {
	if before, ok := f.metadata[name].(float64); ok {
		f.metadata[name] = best(before, number)
	} else if len(name) <= vector.MaxFieldChars {
		f.put(name, number, "")
	}
}

// put stores a value that adds a text to the one before, if there is room. The name counts each time, which is more
// than it takes.
func (f *flattener) put(name string, value any, text string) {
	if size := quotedBytes(name) + quotedBytes(text) + entryBytes; size <= f.room {
		f.metadata[name] = value
		f.room -= size
	}
}

// quotedBytes is the length of a text as JSON.
func quotedBytes(text string) int {
	quoted, err := json.Marshal(text)
	if err != nil {
		return maxFieldsBytes // no text has an error
	}
	return len(quoted)
}
