package architecture_test

import (
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/throughline/throughline"
	"github.com/throughline/throughline/infra/local/template"
	"github.com/throughline/throughline/internal/config"
	"github.com/throughline/throughline/internal/dynamo/table"
	"github.com/throughline/throughline/internal/migration/adopt"
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

// operation matches the operation of the table in a metric of the alarms or of the dashboard.
var operation = regexp.MustCompile(`Name: Operation, Value: (\w+)|"Operation", "(\w+)"`)

// TestMetricsAreOfCallsThatAreMade checks that no alarm and no widget watches an operation of the table that nothing
// calls: such a metric never has a value.
func TestMetricsAreOfCallsThatAreMade(t *testing.T) {
	t.Parallel()
	calls := reflect.TypeFor[interface {
		table.API
		adopt.ScanAPI
	}]()
	for _, file := range []string{"../../infra/alarms/template.yaml", "../../infra/dashboard/template.yaml"} {
		found := operation.FindAllStringSubmatch(string(check.Got(os.ReadFile(file))(t)), -1)
		if len(found) == 0 {
			t.Errorf("%s has no operation of the table", file)
		}
		for _, of := range found {
			if _, ok := calls.MethodByName(of[1] + of[2]); !ok {
				t.Errorf("%s watches %s, which no function calls", file, of[1]+of[2])
			}
		}
	}
}

var (
	description = regexp.MustCompile(`AlarmDescription: (.+)`)
	compound    = regexp.MustCompile(`\b(?:[A-Z][a-z]+){2,}\b`)
)

// TestAlarmsNameWhatThereIs checks that an alarm sends nobody to a parameter or to a metric that is gone.
func TestAlarmsNameWhatThereIs(t *testing.T) {
	t.Parallel()
	file := string(check.Got(os.ReadFile("../../infra/alarms/template.yaml"))(t))
	for _, alarm := range description.FindAllStringSubmatch(file, -1) {
		for _, name := range compound.FindAllString(alarm[1], -1) {
			if !strings.Contains(string(throughline.Template), "\n  "+name+":\n    Type: ") &&
				!strings.Contains(file, "MetricName: "+name+",") {
				t.Errorf("%s: there is no %s", alarm[1], name)
			}
		}
	}
}
