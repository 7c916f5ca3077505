package openaiserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// maxSchemas bounds how many schemas one may be made of, and maxValue the size of its least value, so that references
// to references cannot fill the memory.
const (
	maxSchemas = 10_000
	maxValue   = 10_000
)

// filler makes values that a schema allows.
type filler struct {
	schema *jsonschema.Schema
	valid  *jsonschema.Resolved
	// least is the value without any wish.
	least any
}

// reference finds what refers to a schema. The library would follow a reference to itself without end.
var reference = regexp.MustCompile(`"\$(ref|dynamicRef)":`)

// newFiller reads a schema and makes its least value. The error says why there is none that this model finds.
func newFiller(data json.RawMessage) (*filler, error) {
	f, in := &filler{schema: &jsonschema.Schema{}}, inliner{open: []string{"#"}}
	err := errors.Join(json.Unmarshal(data, f.schema), json.Unmarshal(data, &in.root))
	if err != nil {
		return nil, err
	}
	if err := in.inline(f.schema); err != nil {
		return nil, err
	}
	if text, err := json.Marshal(f.schema); err != nil || reference.Match(text) {
		return nil, errors.Join(errors.New("a reference in a keyword that no value is built by"), err)
	}
	if f.valid, err = f.schema.Resolve(nil); err != nil {
		return nil, err
	}
	b := newBuilder("")
	if f.least = b.build(f.schema, nil); b.problem != nil {
		return nil, b.problem
	}
	return f, f.valid.Validate(f.least)
}

// mustFill makes a filler of a schema that newFiller has accepted before.
func mustFill(data json.RawMessage) *filler {
	f, err := newFiller(data)
	if err != nil {
		panic(err)
	}
	return f
}

// fill returns a value that the schema allows, as near to the wish as the schema lets it be. text is the wish for a
// required string that has none.
func (f *filler) fill(wish any, text string) any {
	b := newBuilder(text)
	if built := b.build(f.schema, wish); b.problem == nil && f.valid.Validate(built) == nil {
		return built
	}
	return f.least
}

// inliner puts schemas in the place of the references to them.
type inliner struct {
	root    any
	open    []string // the references that lead to the schema in hand
	schemas int
}

// inline resolves the references in a schema. It writes a tuple as the current draft does, and leaves out what is said
// of further properties, of which none is ever built. A pattern that Go cannot read is taken for that of a known format
// beside it, as zod writes one beside each format.
func (in *inliner) inline(s *jsonschema.Schema) error {
	if s == nil {
		return errors.New("a null in the place of a schema")
	}
	if in.schemas++; in.schemas > maxSchemas {
		return fmt.Errorf("more than %d schemas, references resolved", maxSchemas)
	}
	s.ID, s.Schema, s.Defs, s.Definitions = "", "", nil, nil
	s.AdditionalProperties, s.PropertyNames = nil, nil
	s.PrefixItems, s.ItemsArray = slices.Concat(s.PrefixItems, s.ItemsArray), nil
	if _, err := regexp.Compile(s.Pattern); err != nil && examples[s.Format] != "" {
		s.Pattern = ""
	}
	if s.Ref != "" {
		return in.follow(s)
	}
	for _, child := range children(s) {
		if err := in.inline(child); err != nil {
			return err
		}
	}
	return nil
}

// follow adds what a schema refers to.
func (in *inliner) follow(s *jsonschema.Schema) error {
	if slices.Contains(in.open, s.Ref) {
		return fmt.Errorf("'%s' is recursive: it refers to a schema that it is part of", s.Ref)
	}
	data, err := in.find(s.Ref)
	if err != nil {
		return err
	}
	target := &jsonschema.Schema{}
	if err := json.Unmarshal(data, target); err != nil {
		return err
	}
	in.open = append(in.open, s.Ref)
	s.Ref, s.AllOf = "", append(s.AllOf, target)
	if err := in.inline(s); err != nil {
		return err
	}
	in.open = in.open[:len(in.open)-1]
	return nil
}

// find returns the schema that a reference within the document names (RFC 6901).
func (in *inliner) find(ref string) (json.RawMessage, error) {
	path, ok := strings.CutPrefix(ref, "#/")
	if !ok {
		return nil, fmt.Errorf("'%s' refers to another document", ref)
	}
	at := in.root
	for step := range strings.SplitSeq(path, "/") {
		step = strings.NewReplacer("~1", "/", "~0", "~").Replace(step)
		switch within := at.(type) {
		case map[string]any:
			at, ok = within[step]
		case []any:
			i, err := strconv.Atoi(step)
			if ok = err == nil && i >= 0 && i < len(within); ok {
				at = within[i]
			}
		default:
			ok = false
		}
		if !ok {
			return nil, fmt.Errorf("'%s' refers to nothing", ref)
		}
	}
	return json.Marshal(at)
}

// children are the schemas directly within s that a value is built by.
func children(s *jsonschema.Schema) []*jsonschema.Schema {
	all := slices.Concat(s.AnyOf, s.OneOf, s.AllOf, s.PrefixItems, s.ItemsArray)
	if s.Items != nil {
		all = append(all, s.Items)
	}
	for _, property := range s.Properties {
		all = append(all, property)
	}
	return all
}

// typesOf are the types that a schema names, or else the one that its keywords are about. A schema without any allows
// every type.
func typesOf(s *jsonschema.Schema) []string {
	switch {
	case s.Type != "":
		return []string{s.Type}
	case s.Types != nil:
		return s.Types
	case s.Properties != nil || s.Required != nil:
		return []string{"object"}
	case s.Items != nil || s.PrefixItems != nil || s.MinItems != nil || s.MaxItems != nil:
		return []string{"array"}
	case s.Minimum != nil || s.Maximum != nil || s.ExclusiveMinimum != nil || s.ExclusiveMaximum != nil ||
		s.MultipleOf != nil:
		return []string{"number"}
	case s.MinLength != nil || s.MaxLength != nil || s.Pattern != "" || s.Format != "":
		return []string{"string"}
	}
	return nil
}
