package recall

import (
	"maps"
	"slices"
	"strconv"
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
		if name != "" && len(prefix+name) <= maxFieldChars && !strings.HasPrefix(name, "$") {
			f.add(prefix+name, object[name])
		}
	}
}

func (f *flattener) add(name string, value any) {
	switch v := value.(type) {
	case map[string]any:
		f.addObject(name+".", v)
	case []any:
		for _, item := range v[:min(len(v), maxListItems)] {
			f.addItem(name, item)
		}
	case string:
		v = truncate.Runes(v, maxFieldChars)
		f.put(name, v, len(v))
	case bool, float64:
		f.put(name, v, 8)
	}
}

// addItem adds an item of a list, or its keys.
func (f *flattener) addItem(name string, item any) {
	text := ""
	switch v := item.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			f.addItem(name+"."+key, v[key])
		}
	case []any:
		for _, nested := range v {
			f.addItem(name, nested)
		}
	case string:
		text = truncate.Runes(v, maxFieldChars)
	case bool:
		text = strconv.FormatBool(v)
	case float64:
		text = strconv.FormatFloat(v, 'f', -1, 64)
	}
	list, _ := f.metadata[name].([]string)
	if text != "" && len(list) < maxListItems && len(name) <= maxFieldChars {
		f.put(name, append(list, text), len(text))
	}
}

// put stores a value that takes size bytes more than the one before. The name counts each time, which is more than it
// takes.
func (f *flattener) put(name string, value any, size int) {
	if size += len(name); size <= f.room {
		f.metadata[name] = value
		f.room -= size
	}
}
