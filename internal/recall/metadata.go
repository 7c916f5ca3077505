package recall

import (
	"encoding/json"
	"maps"
	"math"
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
	// entryBytes is what an entry or an item of a list takes besides its text, in JSON or in protocol buffers.
	entryBytes = 24
)

// The least and the greatest number of a list have names of their own, because lists have only texts.
const (
	leastSuffix    = "#least"
	greatestSuffix = "#greatest"
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
		f.addItem(name, v)
	case string:
		v = truncate.Runes(v, maxFieldChars)
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
		f.addNumber(name+leastSuffix, v, math.Min)
		f.addNumber(name+greatestSuffix, v, math.Max)
	}
	list, _ := f.metadata[name].([]string)
	if text := itemText(item); text != "" && len(list) < maxListItems && len(name) <= maxFieldChars {
		f.put(name, append(list, text), text)
	}
}

// addNumber puts the least or the greatest of a number and the one before under a name.
func (f *flattener) addNumber(name string, number float64, best func(a, b float64) float64) {
	if before, ok := f.metadata[name].(float64); ok {
		f.metadata[name] = best(before, number)
	} else if len(name) <= maxFieldChars {
		f.put(name, number, "")
	}
}

// itemText is an item of a list as a text.
func itemText(item any) string {
	switch v := item.(type) {
	case string:
		return truncate.Runes(v, maxFieldChars)
	case bool:
		return strconv.FormatBool(v)
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return ""
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
