package conversation

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
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
// and strings, plus 8 bytes for each value. A nil object stays nil.
func PrepareDocument(field string, doc map[string]any, maxBytes int) (map[string]any, []fault.Field) {
	if doc == nil {
		return nil, nil
	}
	c := documentCheck{}
	out, _ := c.value(field, doc, 0).(map[string]any)
	if c.size > maxBytes {
		c.wrong = append(c.wrong, fault.Field{Field: field, Message: fmt.Sprintf("must take at most %d bytes", maxBytes)})
	}
	return out, c.wrong
}

type documentCheck struct {
	size  int
	wrong []fault.Field
}

func (c *documentCheck) fail(field, message string) any {
	if len(c.wrong) < 10 { // Limit the answer to a hostile document.
		c.wrong = append(c.wrong, fault.Field{Field: field, Message: message})
	}
	return nil
}

func (c *documentCheck) value(field string, v any, depth int) any {
	if depth > MaxDocumentDepth {
		return c.fail(field, fmt.Sprintf("must be nested at most %d deep", MaxDocumentDepth))
	}
	c.size += 8
	switch v := v.(type) {
	case nil, bool:
		return v
	case string:
		return c.string(field, v)
	case map[string]any:
		return c.object(field, v, depth)
	case []any:
		return c.list(field, v, depth)
	case json.Number:
		f, err := v.Float64()
		if err != nil {
			return c.fail(field, "must be a number in range")
		}
		return c.number(field, f)
	}
	return c.goValue(field, v, depth)
}

// goValue accepts Go values that no JSON decoder returns, such as integers and slices of strings.
func (c *documentCheck) goValue(field string, v any, depth int) any {
	r := reflect.ValueOf(v)
	switch {
	case r.CanFloat():
		return c.number(field, r.Float())
	case r.CanInt():
		return c.number(field, float64(r.Int()))
	case r.CanUint():
		return c.number(field, float64(r.Uint()))
	case r.Kind() == reflect.String:
		return c.string(field, r.String())
	case r.Kind() == reflect.Slice:
		list := make([]any, r.Len())
		for i := range list {
			list[i] = r.Index(i).Interface()
		}
		return c.list(field, list, depth)
	}
	return c.fail(field, "must be a JSON value")
}

func (c *documentCheck) string(field, s string) any {
	c.size += len(s)
	if !utf8.ValidString(s) {
		return c.fail(field, "must be valid UTF-8")
	}
	return s
}

// number accepts the numbers that DynamoDB can store. Their range is smaller than that of float64.
func (c *documentCheck) number(field string, f float64) any {
	a := math.Abs(f)
	if math.IsNaN(f) || a >= 1e126 || a != 0 && a < 1e-130 {
		return c.fail(field, "must be a number between 1e-130 and 1e126, or 0")
	}
	return f
}

func (c *documentCheck) list(field string, list []any, depth int) any {
	out := make([]any, len(list))
	for i, v := range list {
		out[i] = c.value(fmt.Sprintf("%s[%d]", field, i), v, depth+1)
	}
	return out
}

func (c *documentCheck) object(field string, object map[string]any, depth int) any {
	out := make(map[string]any, len(object))
	for k, v := range object {
		c.size += len(k)
		if k == "" || len(k) > maxKeyBytes || !utf8.ValidString(k) {
			c.fail(field, fmt.Sprintf("must have names of 1 to %d bytes of valid UTF-8", maxKeyBytes))
			continue
		}
		out[k] = c.value(field+"."+k, v, depth+1)
	}
	return out
}
