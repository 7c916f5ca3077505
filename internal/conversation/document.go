package conversation

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/throughline/throughline/internal/fault"
)

// Limits of the JSON objects that an app stores with messages and sessions. Fifty messages with the largest metadata
// fit into one transaction of 4 MB, and a session with the largest attributes has room for its summary.
const (
	MaxMetadataBytes   = 32 << 10
	MaxAttributesBytes = 64 << 10
	MaxDocumentDepth   = 16
	maxKeyBytes        = 255
)

// PrepareDocument checks a JSON object and returns it in the form that reads return: maps, lists, strings, booleans,
// nil, and numbers as float64. The fields that it reports begin with field. The size of a document is that of its names
// and strings, plus 8 bytes for each value. What is past the limit is not looked at. A nil object stays nil.
func PrepareDocument(field string, doc map[string]any, maxBytes int) (map[string]any, fault.Problems) {
	if doc == nil {
		return nil, nil
	}
	c := documentCheck{path: []string{field}, room: maxBytes}
	out, _ := c.value(doc, 0).(map[string]any)
	c.wrong.If(c.room < 0, field, fmt.Sprintf("must take at most %d bytes", maxBytes))
	return out, c.wrong
}

// documentCheck walks one document.
type documentCheck struct {
	// room is how many bytes are left of the limit.
	room int
	// path leads to the current value.
	path  []string
	wrong fault.Problems
}

func (c *documentCheck) fail(message string) any {
	if len(c.wrong) < 10 { // Limit the answer to a hostile document.
		c.wrong.Add(strings.Join(c.path, ""), message)
	}
	return nil
}

func (c *documentCheck) value(v any, depth int) any {
	if depth > MaxDocumentDepth {
		return c.fail(fmt.Sprintf("must be nested at most %d deep", MaxDocumentDepth))
	}
	if c.room -= 8; c.room < 0 {
		return nil
	}
	switch v := v.(type) {
	case nil, bool:
		return v
	case string:
		return c.string(v)
	case map[string]any:
		return c.object(v, depth)
	case []any:
		return c.list(v, depth)
	case json.Number:
		f, err := v.Float64()
		if err != nil {
			return c.fail("must be a number in range")
		}
		return c.number(f)
	}
	return c.goValue(v, depth)
}

// goValue accepts Go values that no JSON decoder returns, such as integers and slices of strings.
func (c *documentCheck) goValue(v any, depth int) any {
	r := reflect.ValueOf(v)
	switch {
	case r.CanFloat():
		return c.number(r.Float())
	case r.CanInt():
		return c.number(float64(r.Int()))
	case r.CanUint():
		return c.number(float64(r.Uint()))
	case r.Kind() == reflect.String:
		return c.string(r.String())
	case r.Kind() == reflect.Slice:
		list := make([]any, r.Len())
		for i := range list {
			list[i] = r.Index(i).Interface()
		}
		return c.list(list, depth)
	}
	return c.fail("must be a JSON value")
}

func (c *documentCheck) string(s string) any {
	c.room -= len(s)
	if !utf8.ValidString(s) {
		return c.fail("must be valid UTF-8")
	}
	return s
}

// number accepts the numbers that DynamoDB can store. Their range is smaller than that of float64.
func (c *documentCheck) number(f float64) any {
	a := math.Abs(f)
	if math.IsNaN(f) || a >= 1e126 || a != 0 && a < 1e-130 {
		return c.fail("must be a number between 1e-130 and 1e126, or 0")
	}
	return f
}

func (c *documentCheck) list(list []any, depth int) any {
	out := make([]any, 0, min(len(list), max(c.room/8, 0)))
	for i, v := range list {
		if c.room < 0 {
			return nil
		}
		c.path = append(c.path, "["+strconv.Itoa(i)+"]")
		out = append(out, c.value(v, depth+1))
		c.path = c.path[:len(c.path)-1]
	}
	return out
}

func (c *documentCheck) object(object map[string]any, depth int) any {
	out := make(map[string]any, min(len(object), max(c.room/8, 0)))
	for k, v := range object {
		if c.room -= len(k); c.room < 0 {
			return nil
		}
		if k == "" || len(k) > maxKeyBytes || !utf8.ValidString(k) {
			c.fail(fmt.Sprintf("must have names of 1 to %d bytes of valid UTF-8", maxKeyBytes))
			continue
		}
		c.path = append(c.path, ".", k)
		out[k] = c.value(v, depth+1)
		c.path = c.path[:len(c.path)-2]
	}
	return out
}
