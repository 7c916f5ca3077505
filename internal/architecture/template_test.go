package architecture_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/throughline/throughline"
	"github.com/throughline/throughline/internal/config"
)

// resource is one entry of the template's Resources.
type resource struct {
	Type                                string
	DeletionPolicy, UpdateReplacePolicy string
	Metadata                            struct{ BuildMethod string }
	Properties                          json.RawMessage
}

// environment is where the template sets a function's variables.
type environment struct{ Variables map[string]any }

// function is the part of a function's properties that has to agree with the tree.
type function struct {
	CodeURI     string
	Environment environment
	Events      map[string]struct {
		Type       string
		Properties struct {
			FilterCriteria struct{ Filters []struct{ Pattern string } }
		}
	}
}

// template is template.yaml, its intrinsic functions left as their arguments.
type template struct {
	Globals struct {
		Function struct{ Environment environment }
	}
	Resources map[string]resource
}

func readTemplate(t *testing.T) template {
	t.Helper()
	var node yaml.Node
	if err := yaml.Unmarshal(throughline.Template, &node); err != nil {
		t.Fatalf("parse template: %v", err)
	}
	// Structs are filled from JSON, whose names match in any case.
	plain, err := json.Marshal(value(node.Content[0]))
	if err != nil {
		t.Fatalf("encode template: %v", err)
	}
	var out template
	if err := json.Unmarshal(plain, &out); err != nil {
		t.Fatalf("decode template: %v", err)
	}
	return out
}

// value makes plain values of a node, and forgets tags such as !Ref.
func value(n *yaml.Node) any {
	switch n.Kind {
	case yaml.MappingNode:
		out := make(map[string]any, len(n.Content)/2)
		for i := 0; i < len(n.Content); i += 2 {
			out[n.Content[i].Value] = value(n.Content[i+1])
		}
		return out
	case yaml.SequenceNode:
		out := make([]any, len(n.Content))
		for i, item := range n.Content {
			out[i] = value(item)
		}
		return out
	case yaml.ScalarNode:
		if n.Tag == "!!bool" {
			return n.Value == "true"
		}
	}
	return n.Value
}

func (tpl template) functions(t *testing.T) map[string]function {
	t.Helper()
	out := map[string]function{}
	for name, r := range tpl.Resources {
		if r.Type != "AWS::Serverless::Function" {
			continue
		}
		var f function
		if err := json.Unmarshal(r.Properties, &f); err != nil {
			t.Fatalf("decode %s: %v", name, err)
		}
		folder, ok := strings.CutPrefix(f.CodeURI, "functions/")
		if !ok || r.Metadata.BuildMethod != "go1.x" {
			t.Errorf("%s is built from %q with %q, not from functions/ with go1.x", name, f.CodeURI, r.Metadata.BuildMethod)
		}
		out[folder] = f
	}
	return out
}

func TestTemplateSetsOnlyVariablesThatConfigReads(t *testing.T) {
	known := variables(reflect.TypeFor[config.Config]())
	tpl := readTemplate(t)
	sets := map[string]environment{"Globals": tpl.Globals.Function.Environment}
	for name, f := range tpl.functions(t) {
		sets[name] = f.Environment
	}
	for where, env := range sets {
		for name := range env.Variables {
			if !slices.Contains(known, name) {
				t.Errorf("%s sets %s, which config does not read", where, name)
			}
		}
	}
	if len(sets["Globals"].Variables) == 0 {
		t.Error("the template sets no variable for all functions")
	}
}

// variables lists the environment variables of a struct, as its env tags name them.
func variables(structure reflect.Type) []string {
	var names []string
	for field := range structure.Fields() {
		if field.Type.Kind() == reflect.Struct {
			names = append(names, variables(field.Type)...)
			continue
		}
		if name, _, _ := strings.Cut(field.Tag.Get("env"), ","); name != "" {
			names = append(names, name)
		}
	}
	return names
}
