package architecture_test

import (
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/throughline/throughline"
	"github.com/throughline/throughline/infra/local/template"
	"github.com/throughline/throughline/internal/config"
	"github.com/throughline/throughline/internal/testing/check"
)

// parsedTemplate is template.yaml with the defaults of its parameters, parsed once for all tests.
var parsedTemplate = sync.OnceValues(func() (*template.Template, error) {
	return template.Parse(throughline.Template, nil)
})

// readTemplate returns template.yaml with the defaults of its parameters. Nobody may change it.
func readTemplate(t *testing.T) *template.Template {
	t.Helper()
	return check.Got(parsedTemplate())(t)
}

func TestConfigReadsEveryVariableOfTheTemplate(t *testing.T) {
	t.Parallel()
	known := variables(reflect.TypeFor[config.Config]())
	for _, f := range readTemplate(t).Functions {
		for name := range f.Environment {
			if !slices.Contains(known, name) {
				t.Errorf("%s sets %s, which config does not read", f.Name, name)
			}
		}
		if f.Environment["TABLE_NAME"] == "" {
			t.Errorf("%s lacks the variables that the template sets for all functions", f.Name)
		}
	}
}

// variables lists the environment variables that the env tags of a struct name.
func variables(structure reflect.Type) []string {
	var names []string
	for field := range structure.Fields() {
		if name, _, _ := strings.Cut(field.Tag.Get("env"), ","); name != "" {
			names = append(names, name)
		} else if field.Type.Kind() == reflect.Struct {
			names = append(names, variables(field.Type)...)
		}
	}
	return names
}
