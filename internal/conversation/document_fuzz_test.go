package conversation_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/throughline/throughline/internal/conversation"
)

// FuzzPrepareDocument checks that what is accepted is within the limit, and is accepted again as it is.
func FuzzPrepareDocument(f *testing.F) {
	for _, doc := range []string{
		`{}`, `{"User context":"forged"}`, `{"a":[1,{"b":null}],"c":1e125}`, `{"":1}`, `{"a":1e999}`,
		`{"a":[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]}`, `{"\u3164":"\u2062"}`,
	} {
		f.Add([]byte(doc), 200)
	}
	f.Fuzz(func(t *testing.T, text []byte, limit int) {
		var doc map[string]any
		if limit < 0 || json.Unmarshal(text, &doc) != nil || doc == nil {
			return
		}
		out, wrong := conversation.PrepareDocument("attributes", doc, limit)
		if len(wrong) > 11 {
			t.Fatalf("%d fields are wrong", len(wrong))
		}
		if len(wrong) > 0 {
			return
		}
		if size := sizeOf(out); size > limit {
			t.Fatalf("%d bytes are accepted, at most %d", size, limit)
		}
		again, wrong := conversation.PrepareDocument("attributes", out, limit)
		if len(wrong) > 0 || !reflect.DeepEqual(out, again) {
			t.Fatalf("%v became %v, %v", out, again, wrong)
		}
	})
}

// sizeOf is the size of a document: its names and strings, and 8 bytes for each value.
func sizeOf(v any) int {
	n := 8
	switch v := v.(type) {
	case string:
		n += len(v)
	case []any:
		for _, e := range v {
			n += sizeOf(e)
		}
	case map[string]any:
		for name, e := range v {
			n += len(name) + sizeOf(e)
		}
	}
	return n
}
