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
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/prompt"
	"github.com/throughline/throughline/internal/recall"
	"github.com/throughline/throughline/internal/registry"
)

// object is a JSON object of the app's own.
type object map[string]any

// UnmarshalJSON keeps numbers as they are written.
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

// Schema accepts any object with names that are not empty. The limits that a schema cannot express are in its
// description, and the domain checks them.
func (object) Schema(r huma.Registry) *huma.Schema {
	const name = "Value"
	values := "#/components/schemas/" + name
	// The schema has no type, because code generators do not take a list of several types.
	r.Map()[name] = &huma.Schema{Description: "Any JSON value."}
	return &huma.Schema{
		Type: huma.TypeObject, AdditionalProperties: &huma.Schema{Ref: values},
		Extensions: map[string]any{"propertyNames": nameSchema},
		Description: fmt.Sprintf("Any JSON object, at most %d levels deep, with names of 1 to 255 bytes and numbers "+
			"that a double holds exactly, from 1e-125 to 1e126.", conversation.MaxDocumentDepth),
	}
}

// filter is an object of conditions on the own fields of summaries.
type filter object

// UnmarshalJSON keeps numbers as they are written.
func (f *filter) UnmarshalJSON(text []byte) error { return (*object)(f).UnmarshalJSON(text) }

// Schema lists the fields and the conditions. It is in extensions, because recall checks it with better messages.
func (filter) Schema(huma.Registry) *huma.Schema {
	number, text := map[string]any{"type": huma.TypeNumber}, map[string]any{"type": huma.TypeString}
	conditions := []any{
		text, number,
		map[string]any{"type": huma.TypeBoolean},
		map[string]any{"type": huma.TypeArray, "items": text, "minItems": 1, "maxItems": recall.MaxFilterItems},
		map[string]any{
			"type": huma.TypeObject, "minProperties": 1, "additionalProperties": false,
			"properties": map[string]any{"$gt": number, "$gte": number, "$lt": number, "$lte": number},
		},
	}
	return &huma.Schema{
		Type: huma.TypeObject, AdditionalProperties: true, Extensions: map[string]any{
			"additionalProperties": map[string]any{"anyOf": conditions},
			"propertyNames":        map[string]any{"pattern": recall.FieldPattern(), "maxLength": nameSchema["maxLength"]},
		},
		Examples: []any{map[string]any{"discipline": "running", "metrics.distanceKm": map[string]any{"$gte": 10}}},
		Description: "Conditions on the own fields of record types, at most 4 KiB: a value that the field equals, texts " +
			"of which it equals one, or comparisons. Fields of objects have dotted names. Of a list, one item has to pass.",
	}
}

// nameSchema is the schema of the names in an object.
var nameSchema = map[string]any{"minLength": 1, "maxLength": 255}

// contextName is the name of a registered context.
type contextName string

// Schema lists the registered contexts.
func (contextName) Schema(huma.Registry) *huma.Schema {
	names := conversation.Contexts()
	s := registrySchema("", names)
	s.Examples = []any{names[0]}
	return s
}

// memoryType is the name of a type of the app's memories.
type memoryType string

// Schema lists the memory types of the registry.
func (memoryType) Schema(huma.Registry) *huma.Schema {
	return registrySchema("", registry.Live().MemoryTypeNames())
}

// recordType is a record type that some context writes.
type recordType string

// Schema lists the record types of the registered contexts.
func (recordType) Schema(huma.Registry) *huma.Schema {
	return registrySchema("", registry.Live().SummaryTypes())
}

// id is a sessionId or coachId.
type id string

// idRule describes the ids that conversation.ValidID accepts. It follows "must be".
const idRule = `1 to 128 of A-Z a-z 0-9 _ . : - and neither "." nor ".."`

// Schema has the rule of conversation.ValidID. The length is separate, because compiling a pattern that repeats 128
// times takes most of a function's start-up time.
func (id) Schema(huma.Registry) *huma.Schema {
	longest := 128
	return &huma.Schema{
		Type: huma.TypeString, Pattern: `^(\.{0,2}[A-Za-z0-9_:-]|\.{3})[A-Za-z0-9_.:-]*$`, MaxLength: &longest,
		PatternDescription: idRule,
	}
}

// agentID is the id of an agent.
type agentID string

// Schema lists the agents.
func (agentID) Schema(huma.Registry) *huma.Schema {
	return registrySchema("The part that the model plays. Default: coach.", registry.Live().AgentIDs())
}

// scopedID is the id of an agent whose messages are selected.
type scopedID string

// Schema lists the agents.
func (scopedID) Schema(huma.Registry) *huma.Schema {
	return registrySchema("An agent. Messages without one are the coach's.", registry.Live().AgentIDs())
}

// strategyName is the name of a scoping strategy.
type strategyName string

// Schema lists the strategies.
func (strategyName) Schema(huma.Registry) *huma.Schema {
	return oneOfSchema("How messages are selected. Default: the recipe's strategy.", prompt.Strategies())
}

// recipeName is the name of a recipe.
type recipeName string

// Schema lists the recipes.
func (recipeName) Schema(huma.Registry) *huma.Schema {
	return oneOfSchema("How the prompt is built. Default: unified.", registry.RecipeNames)
}

// zoneName is the name of a time zone.
type zoneName string

// Schema limits the length. The names are those of the tz database, which a schema cannot list: it changes.
func (zoneName) Schema(huma.Registry) *huma.Schema {
	least, most := 1, 100
	return &huma.Schema{
		Type: huma.TypeString, MinLength: &least, MaxLength: &most, Description: "The IANA name of a time zone.",
		Examples: []any{"Europe/Berlin"},
	}
}

// age is the greatest age of a summary.
type age string

// Schema accepts what recall does.
func (age) Schema(huma.Registry) *huma.Schema {
	least, most := 2, 64
	return &huma.Schema{
		Type: huma.TypeString, MinLength: &least, MaxLength: &most, Default: "48h",
		Pattern: recall.SpanPattern, PatternDescription: recall.SpanRule,
		Description: strings.ToUpper(recall.SpanRule[:1]) + recall.SpanRule[1:] + ".",
	}
}

// searchText is a text to search for.
type searchText string

// Schema refuses blank texts.
func (searchText) Schema(huma.Registry) *huma.Schema {
	least, most := 1, 8192
	return &huma.Schema{
		Type: huma.TypeString, MinLength: &least, MaxLength: &most, Pattern: `\S`, PatternDescription: "a text to search for",
	}
}

// confidence is how certain a memory is.
type confidence float64

// Schema leaves out numbers near zero that DynamoDB cannot store.
func (confidence) Schema(huma.Registry) *huma.Schema {
	least, most := 0.0, 1.0
	return &huma.Schema{Type: huma.TypeNumber, Minimum: &least, Maximum: &most, Extensions: map[string]any{
		"not": map[string]any{"type": huma.TypeNumber, "exclusiveMinimum": 0, "exclusiveMaximum": 1e-125},
	}}
}

// setSchema returns the schema of an object that has a property of a schema.
func setSchema(name string, property map[string]any) map[string]any {
	return map[string]any{"required": []string{name}, "properties": map[string]any{name: property}}
}

// oneOfSchema returns the schema of a text that is one of some names.
func oneOfSchema[S ~string](description string, names []S) *huma.Schema {
	s := &huma.Schema{Type: huma.TypeString, Description: description}
	for _, name := range names {
		s.Enum = append(s.Enum, string(name))
	}
	return s
}

// registrySchema returns the schema of a text that is one of the names that the app's registry has. A client that was
// generated with other names takes any text there.
func registrySchema[S ~string](description string, names []S) *huma.Schema {
	s := oneOfSchema(description, names)
	s.Extensions = map[string]any{"x-app-defined": true}
	return s
}

// textSchema returns the schema of a text of at most so many characters.
func textSchema(longest int) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, MaxLength: &longest}
}

// plausibleID reports whether an id that the server made may be looked up. Such an id contains the user's id, which may
// have any printable character, so the store decides in the end.
func plausibleID(id string) bool {
	return id != "" && len(id) <= 1024 && utf8.ValidString(id) && strings.IndexFunc(id, unicode.IsControl) < 0
}

// toStrings converts named strings to plain ones.
func toStrings[T ~string](named []T) []string {
	if named == nil {
		return nil
	}
	return converted(named, func(t T) string { return string(t) })
}

// optional is a field of a PATCH: if absent, the stored value stays; null clears it; a value replaces it.
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

// Schema is the schema of the value, or null.
func (optional[T]) Schema(r huma.Registry) *huma.Schema {
	s := *r.Schema(reflect.TypeFor[T](), true, "")
	s.Nullable = true
	return &s
}

// Resolve resolves the value.
func (o *optional[T]) Resolve(ctx huma.Context, at *huma.PathBuffer) []error {
	if r, ok := any(o.value).(huma.ResolverWithPath); ok && o.value != nil {
		return r.Resolve(ctx, at)
	}
	return nil
}

func (o optional[T]) patch() (value any, isSent bool) { return o.value, o.set }

// schemaName names schemas by their types. The name of a domain type begins with its package's name.
func schemaName(t reflect.Type, hint string) string {
	name := huma.DefaultSchemaNamer(t, hint)
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == reflect.TypeFor[fault.Field]() {
		return "FieldProblem"
	}
	pkg := t.PkgPath()[strings.LastIndex(t.PkgPath(), "/")+1:]
	if t.Name() == "" || pkg == "" || pkg == "httpapi" || pkg == "conversation" {
		return name
	}
	if p := strings.ToUpper(pkg[:1]) + pkg[1:]; !strings.HasPrefix(name, p) {
		return p + name
	}
	return name
}
