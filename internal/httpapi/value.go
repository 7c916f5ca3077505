package httpapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"github.com/throughline/throughline/internal/conversation"
)

// object is a JSON object of the app's own.
type object map[string]any

// UnmarshalJSON reads numbers as they stand.
func (o *object) UnmarshalJSON(text []byte) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var m map[string]any
	if err := d.Decode(&m); err != nil {
		return fmt.Errorf("parse object: %w", err)
	}
	*o = m
	return nil
}

func (object) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{
		Type: huma.TypeObject, AdditionalProperties: true,
		Description: fmt.Sprintf("Any JSON object, at most %d levels deep; its numbers are those that a double holds exactly.",
			conversation.MaxDocumentDepth),
	}
}

// surfaceName is the name of a registered context.
type surfaceName string

// Schema lists the registry's contexts.
func (surfaceName) Schema(huma.Registry) *huma.Schema {
	s := &huma.Schema{Type: huma.TypeString, Examples: []any{conversation.Surfaces[0].Context}}
	for _, name := range conversation.Contexts() {
		s.Enum = append(s.Enum, name)
	}
	return s
}

// Schema lists the record types that the registry's contexts write.
func (recordType) Schema(huma.Registry) *huma.Schema {
	s := &huma.Schema{Type: huma.TypeString}
	for _, surface := range conversation.Surfaces {
		s.Enum = append(s.Enum, string(surface.Writes))
	}
	return s
}

// id is a sessionId or coachId.
type id string

// idRule says in words what conversation.ValidID takes.
const idRule = `1 to 128 of A-Z a-z 0-9 _ . : - and neither "." nor ".."`

// Schema is the rule of conversation.ValidID.
func (id) Schema(huma.Registry) *huma.Schema {
	longest := 128
	// The length stands apart: a pattern that repeats 128 times takes most of a function's start to compile.
	return &huma.Schema{
		Type: huma.TypeString, Pattern: `^(\.{0,2}[A-Za-z0-9_:-]|\.{3})[A-Za-z0-9_.:-]*$`, MaxLength: &longest,
		PatternDescription: idRule,
	}
}

// optional is a field of a PATCH: absent leaves what is there, null clears it, a value replaces it.
type optional[T any] struct {
	set   bool
	value *T
}

// UnmarshalJSON is called for null too.
func (o *optional[T]) UnmarshalJSON(text []byte) error {
	o.set, o.value = true, nil
	if string(text) == "null" {
		return nil
	}
	o.value = new(T)
	return json.Unmarshal(text, o.value)
}

// MarshalJSON tells absent and null apart, for the hash of a body.
func (o optional[T]) MarshalJSON() ([]byte, error) { return json.Marshal([]any{o.set, o.value}) }

// Schema is that of the value, or null.
func (optional[T]) Schema(r huma.Registry) *huma.Schema {
	s := *r.Schema(reflect.TypeFor[T](), true, "")
	s.Nullable = true
	return &s
}

// apply writes the field into its target: the zero value where it is null.
func (o optional[T]) apply(target *T) {
	if !o.set {
		return
	}
	var zero T
	*target = zero
	if o.value != nil {
		*target = *o.value
	}
}

// schemaName names schemas by their types; those of the domain bear their package's name before their own.
func schemaName(t reflect.Type, hint string) string {
	name := huma.DefaultSchemaNamer(t, hint)
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	pkg := t.PkgPath()[strings.LastIndex(t.PkgPath(), "/")+1:]
	if t.Name() == "" || pkg == "" || pkg == "httpapi" {
		return name
	}
	if p := strings.ToUpper(pkg[:1]) + pkg[1:]; !strings.HasPrefix(name, p) {
		return p + name
	}
	return name
}

// plausibleID reports whether an id of our own making may be looked up. Such ids carry the user's id, which may hold
// any printable character, so the store has the last word.
func plausibleID(id string) bool {
	return id != "" && len(id) <= 1024 && utf8.ValidString(id) && strings.IndexFunc(id, unicode.IsControl) < 0
}
