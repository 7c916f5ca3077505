package docscheck_test

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/throughline/throughline/internal/config"
	"github.com/throughline/throughline/internal/testing/check"
)

// settingRow is a row of docs/settings.md: a name and the cells after it.
var settingRow = regexp.MustCompile("(?m)^\\| `(\\w+)` \\|(.*)\\|$")

// TestSettings compares docs/settings.md with the template's parameters and with the variables that the functions read.
func TestSettings(t *testing.T) {
	t.Parallel()
	rows := map[string][]string{}
	for _, m := range settingRow.FindAllStringSubmatch(readPage(t, "docs/settings.md"), -1) {
		cells := strings.Split(strings.ReplaceAll(m[2], `\|`, "/"), "|")
		for i := range cells {
			cells[i] = strings.Trim(strings.TrimSpace(cells[i]), "`")
		}
		if cells[len(cells)-1] == "" {
			t.Errorf("docs/settings.md does not say what %s means", m[1])
		}
		rows[m[1]] = cells
	}
	want := parameterDefaults(t)
	compareVariables(t, reflect.TypeFor[config.Config](), rows, want)
	for name, value := range want {
		switch row, ok := rows[name]; {
		case !ok:
			t.Errorf("docs/settings.md has no row for %s", name)
		case row[len(row)-2] != value:
			t.Errorf("docs/settings.md: the default of %s is %q, and not %q", name, value, row[len(row)-2])
		}
	}
	for name := range rows {
		if _, ok := want[name]; !ok {
			t.Errorf("docs/settings.md has a row for %s, which is no setting", name)
		}
	}
}

// compareVariables adds the variables of a configuration with their defaults.
func compareVariables(t *testing.T, of reflect.Type, rows map[string][]string, want map[string]string) {
	t.Helper()
	for field := range of.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("env"), ",")
		switch {
		case strings.HasPrefix(name, "AWS_"): // AWS's own
		case name != "":
			want[name] = field.Tag.Get("envDefault")
			if row := rows[name]; len(row) == 3 && row[0] != "" {
				if _, ok := want[row[0]]; !ok {
					t.Errorf("docs/settings.md: %s has the parameter %s, which the template has not", name, row[0])
				}
			}
		case field.Type.Kind() == reflect.Struct:
			compareVariables(t, field.Type, rows, want)
		}
	}
}

// parameterDefaults reads the template's parameters with their defaults, as the page writes them.
func parameterDefaults(t *testing.T) map[string]string {
	t.Helper()
	text := check.Got(os.ReadFile(filepath.Join(root, "template.yaml")))(t)
	_, rest, _ := strings.Cut(string(text), "\nParameters:\n")
	defaults, name := map[string]string{}, ""
	for line := range strings.Lines(rest) {
		line = strings.TrimRight(line, "\n")
		if line != "" && line[0] != ' ' && line[0] != '#' {
			break
		}
		if m := regexp.MustCompile(`^  (\w+):$`).FindStringSubmatch(line); m != nil {
			name = m[1]
			defaults[name] = "required"
		}
		if value, ok := strings.CutPrefix(line, "    Default:"); ok {
			defaults[name] = strings.Trim(strings.TrimSpace(value), `"'`)
			if defaults[name] == "" {
				defaults[name] = "none"
			}
		}
	}
	if len(defaults) < 30 {
		t.Fatalf("the template has %d parameters", len(defaults))
	}
	return defaults
}
