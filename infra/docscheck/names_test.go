package docscheck_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/throughline/throughline/internal/testing/check"
)

var (
	link       = regexp.MustCompile(`\]\(([^)\s]+)\)|^\[[^\]]+\]: (\S+)`)
	notInSlug  = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
	inlineMake = regexp.MustCompile("(?:`|^    |\\$ )make ([a-z][a-z0-9-]*)([^`]*)")
)

// TestLinks checks that what the pages link to in this repository exists, headings included.
func TestLinks(t *testing.T) {
	t.Parallel()
	for _, page := range pages(t) {
		for i, line := range strings.Split(readPage(t, page), "\n") {
			for _, found := range link.FindAllStringSubmatch(line, -1) {
				target, heading, _ := strings.Cut(found[1]+found[2], "#")
				if strings.Contains(target, ":") {
					continue
				}
				file := path.Join(path.Dir(page), target)
				if target == "" {
					file = page
				}
				if _, err := os.Stat(filepath.Join(root, file)); err != nil {
					t.Errorf("%s:%d: %s does not exist", page, i+1, file)
				} else if heading != "" && !slices.Contains(slugs(readPage(t, file)), heading) {
					t.Errorf("%s:%d: %s has no heading #%s", page, i+1, file, heading)
				}
			}
		}
	}
}

// slugs returns the names by which GitHub links to the headings of a page.
func slugs(text string) []string {
	var list []string
	for line := range strings.Lines(text) {
		if title, ok := strings.CutPrefix(strings.TrimLeft(line, "#"), " "); ok && line[0] == '#' {
			plain := notInSlug.ReplaceAllString(strings.ToLower(strings.TrimSpace(title)), "")
			list = append(list, strings.ReplaceAll(plain, " ", "-"))
		}
	}
	return list
}

// TestEveryPageIsListed checks that docs/README.md links to every page of docs.
func TestEveryPageIsListed(t *testing.T) {
	t.Parallel()
	contents := readPage(t, "docs/README.md")
	for _, page := range pages(t) {
		name, ok := strings.CutPrefix(page, "docs/")
		if ok && !strings.Contains(name, "/") && name != "README.md" && !strings.Contains(contents, "("+name+")") {
			t.Errorf("docs/README.md does not name %s", name)
		}
	}
}

var alarmOrWidget = regexp.MustCompile(`AlarmName: !Sub \$\{Prefix\}-(\S+)|"title": "([^"]+)"`)

// TestOperatingNamesEverything checks that docs/operating.md names each alarm and each widget of the dashboard.
func TestOperatingNamesEverything(t *testing.T) {
	t.Parallel()
	page := readPage(t, "docs/operating.md")
	for _, template := range []string{
		"infra/alarms/template.yaml", "infra/alarms/release.yaml", "infra/dashboard/template.yaml",
	} {
		found := alarmOrWidget.FindAllStringSubmatch(readPage(t, template), -1)
		if len(found) == 0 {
			t.Errorf("%s names nothing", template)
		}
		for _, f := range found {
			if f[1] != "" && !strings.Contains(page, "`"+f[1]+"`") || f[2] != "" && !strings.Contains(page, "| "+f[2]+" |") {
				t.Errorf("docs/operating.md does not name %s%s of %s", f[1], f[2], template)
			}
		}
	}
}

// TestAlarmsHaveFirstSteps checks that docs/operating.md says of each alarm which three things to do first.
func TestAlarmsHaveFirstSteps(t *testing.T) {
	t.Parallel()
	page := readPage(t, "docs/operating.md")
	_, table, _ := strings.Cut(page, "| alarm | means | first three things to do |\n|---|---|---|\n")
	table, _, _ = strings.Cut(table, "\n\n")
	rows := strings.Split(table, "\n")
	if len(rows) < 15 {
		t.Fatalf("the table of the alarms has %d rows", len(rows))
	}
	for _, row := range rows {
		for _, step := range []string{" 1. ", "2. ", "3. "} {
			if !strings.Contains(row, step) && !strings.Contains(row, "1. to 3. as for") {
				t.Errorf("the row lacks the step %q: %s", step, row)
			}
		}
	}
}

// namedTest finds a test's name at the end of a row.
var namedTest = regexp.MustCompile("\\| `(Test\\w+)` \\|$")

// TestFailuresAreTested checks that each failure of docs/operating.md says everything, and names a test that exists and
// alarms that exist.
func TestFailuresAreTested(t *testing.T) {
	t.Parallel()
	page, alarms := readPage(t, "docs/operating.md"), readPage(t, "infra/alarms/template.yaml")
	head := "| failure | what users see | alarm, and after how long | what to do | whole again | test |\n"
	sources := readSources(t)
	_, table, _ := strings.Cut(page, head)
	table, _, _ = strings.Cut(table, "\n\n")
	rows := strings.Split(table, "\n")[1:]
	if len(rows) < 8 {
		t.Fatalf("the table of the failures has %d rows", len(rows))
	}
	for _, row := range rows {
		if cells := strings.Split(strings.Trim(row, "|"), "|"); len(cells) != strings.Count(head, "|")-1 ||
			slices.ContainsFunc(cells, func(c string) bool { return strings.TrimSpace(c) == "" }) {
			t.Errorf("the row does not fill its cells: %s", row)
		}
		if m := namedTest.FindStringSubmatch(row); m == nil || !strings.Contains(sources, "func "+m[1]+"(t *testing.T)") {
			t.Errorf("the row names no test that exists: %s", row)
		}
		for _, a := range regexp.MustCompile("`([a-z]+(?:-[a-z0-9]+)+)`").FindAllStringSubmatch(row, -1) {
			if !strings.Contains(alarms, "AlarmName: !Sub ${Prefix}-"+a[1]+"\n") {
				t.Errorf("there is no alarm %s: %s", a[1], row)
			}
		}
	}
}

// TestMakeTargets checks that each make target that a page names exists, and that something reads the variables beside
// it.
func TestMakeTargets(t *testing.T) {
	t.Parallel()
	sources := readSources(t)
	for _, page := range pages(t) {
		for i, line := range strings.Split(readPage(t, page), "\n") {
			for _, found := range inlineMake.FindAllStringSubmatch(line, -1) {
				if !strings.HasSuffix(found[1], "-") && !isTarget(t, found[1]) {
					t.Errorf("%s:%d: make has no target %s", page, i+1, found[1])
				}
				for word := range strings.FieldsSeq(found[2]) {
					check.Equal(t, "", unread(sources, word), "%s:%d: nothing reads the variable", page, i+1)
				}
			}
		}
	}
}

// TestNpmInstallsFiles checks that a packed package which a page installs with npm begins with a dot: npm takes
// dist/client.tgz for the repository client.tgz of somebody called dist.
func TestNpmInstallsFiles(t *testing.T) {
	t.Parallel()
	foreign := regexp.MustCompile(`npm install[^` + "`" + `\n]* [^.\s][^\s]*\.tgz`)
	for _, page := range pages(t) {
		if found := foreign.FindString(readPage(t, page)); found != "" {
			t.Errorf("%s: %q: write ./ before the file", page, found)
		}
	}
}

func isTarget(t *testing.T, name string) bool {
	return regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(name) + `:`).MatchString(readPage(t, "Makefile"))
}

var operatorCommand = regexp.MustCompile("(?:`|bin/|=\\S+ )throughline ([a-z][a-z-]*)([^`\n]*)")

// TestOperatorCommands checks that each subcommand of throughline that a page names exists, and the flags beside it.
func TestOperatorCommands(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "throughline")
	run := func(name string, arguments ...string) string {
		command := exec.CommandContext(t.Context(), name, arguments...)
		command.Dir = root
		out, err := command.CombinedOutput()
		if err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return string(out)
	}
	run("go", "build", "-o", program, "./infra/cli")
	usage := map[string]string{}
	for _, page := range pages(t) {
		for _, found := range operatorCommand.FindAllStringSubmatch(readPage(t, page), -1) {
			if usage[found[1]] == "" {
				usage[found[1]] = run(program, found[1], "-h")
			}
			text, _, _ := strings.Cut(found[2], "#")
			for word := range strings.FieldsSeq(text) {
				if regexp.MustCompile(`^-[a-z]`).MatchString(word) && !strings.Contains(usage[found[1]], "\n  "+word) {
					t.Errorf("%s: throughline %s has no flag %s", page, found[1], word)
				}
			}
		}
	}
	if len(usage) < 10 {
		t.Errorf("the pages name %d commands", len(usage))
	}
}

// TestUnrunCommands checks that the commands that are not run could be: what they name exists.
func TestUnrunCommands(t *testing.T) {
	t.Parallel()
	sources := readSources(t)
	var calls []awsCall
	for _, page := range pages(t) {
		for _, s := range steps(t, page) {
			if !s.commands.is("sh unrun") {
				continue
			}
			for _, command := range commands(s.commands.text) {
				where := fmt.Sprintf("%s:%d: %s", page, s.commands.line, strings.Join(command, " "))
				if problem := checkCommand(t, sources, command); problem != "" {
					t.Errorf("%s: %s", where, problem)
				}
				if command[0] == "aws" && command[1] != "s3" {
					calls = append(calls, awsCall{Where: where, Words: command[1:]})
				}
			}
		}
	}
	checkAWS(t, calls)
}

// commands returns the commands of a block as words, without comments and the lines of here documents.
func commands(text string) [][]string {
	var list [][]string
	end := ""
	for line := range strings.Lines(strings.ReplaceAll(text, "\\\n", " ")) {
		line = strings.TrimSpace(line)
		if end != "" {
			if line == end {
				end = ""
			}
			continue
		}
		if _, word, ok := strings.Cut(line, "<<"); ok {
			end = strings.Trim(word, `'"`)
		}
		line, _, _ = strings.Cut(line, " #")
		if words := strings.Fields(line); len(words) > 0 && words[0] != "#" {
			list = append(list, words)
		}
	}
	return list
}

var assignment = regexp.MustCompile(`^([A-Z][A-Z0-9_]*)=`)

// unread returns the variable that a word assigns, if nothing reads it.
func unread(sources, word string) string {
	if found := assignment.FindStringSubmatch(word); found != nil && !strings.Contains(sources, found[1]) {
		return found[1]
	}
	return ""
}

// checkCommand says what a command names that does not exist.
func checkCommand(t *testing.T, sources string, words []string) string {
	for _, word := range words {
		if name := unread(sources, word); name != "" {
			return "nothing reads the variable " + name
		}
	}
	for len(words) > 0 && assignment.MatchString(words[0]) {
		words = words[1:]
	}
	if len(words) < 2 {
		words = append(words, "", "")
	}
	switch words[0] {
	case "api", "curl", "pip": // of a stack, or of a registry, that the page does not start
	case "make":
		if !isTarget(t, words[1]) {
			return "make has no target " + words[1]
		}
	case "go":
		for _, word := range words[2:] {
			_, err := os.Stat(filepath.Join(root, strings.TrimSuffix(word, "...")))
			if strings.HasPrefix(word, "./") && err != nil {
				return word + " does not exist"
			}
			if strings.HasPrefix(word, "Test") && !strings.Contains(sources, "func "+strings.TrimSuffix(word, "'$")+"(") {
				return "there is no test " + word
			}
		}
	case "cp", "cat", "rm", ".ci/run", "git", "cd", "bin/throughline": // TestOperatorCommands checks the last one
	case "sam":
		return checkStack(t, words)
	case "aws":
	default:
		return "this test does not know the command " + words[0]
	}
	return ""
}

// checkStack checks the template of "sam deploy", and the parameters that are given to it.
func checkStack(t *testing.T, words []string) string {
	template := "template.yaml"
	if i := slices.Index(words, "--template"); i >= 0 {
		template = words[i+1]
	}
	text := readPage(t, template)
	if i := slices.Index(words, "--parameter-overrides"); i >= 0 {
		for _, word := range words[i+1:] {
			name, _, _ := strings.Cut(word, "=")
			if !strings.Contains(text, "\n  "+name+":") {
				return template + " has no parameter " + name
			}
		}
	}
	return ""
}

// readSources returns the text of what can read a variable or holds a test: the Makefile and the Go files.
func readSources(t *testing.T) string {
	t.Helper()
	text := readPage(t, "Makefile")
	for _, folder := range []string{"infra", "internal", "functions"} {
		check.OK(t, fs.WalkDir(os.DirFS(filepath.Join(root, folder)), ".", func(file string, _ fs.DirEntry, err error) error {
			if strings.HasSuffix(file, ".go") {
				text += readPage(t, path.Join(folder, file))
			}
			return err
		}))
	}
	return text
}

// An awsCall is a command of the AWS CLI.
type awsCall struct {
	Where string   `json:"where"`
	Words []string `json:"words"`
}

// checkAWS checks services, operations and options by the service models of botocore, which the AWS CLI is made from.
func checkAWS(t *testing.T, calls []awsCall) {
	t.Helper()
	input := check.Got(json.Marshal(calls))(t)
	python := exec.CommandContext(t.Context(), ".cache/venv/bin/python", "tools/awscalls.py", string(input))
	python.Dir = root
	if out, err := python.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestEveryDecisionIsListed checks that docs/adr/README.md links to every decision.
func TestEveryDecisionIsListed(t *testing.T) {
	t.Parallel()
	contents := readPage(t, "docs/adr/README.md")
	for _, page := range pages(t) {
		name, ok := strings.CutPrefix(page, "docs/adr/")
		if ok && name != "README.md" && !strings.Contains(contents, "("+name+")") {
			t.Errorf("docs/adr/README.md does not name %s", name)
		}
	}
}

// TestMetricsAreOfOneStack checks that each alarm and each widget reads Throughline's own metrics with the dimension
// Stack, because CloudWatch finds a metric only by all of its dimensions, and two stages share a namespace.
func TestMetricsAreOfOneStack(t *testing.T) {
	t.Parallel()
	for template, of := range map[string]struct{ namespace, stack *regexp.Regexp }{
		"infra/alarms/template.yaml": {
			regexp.MustCompile(`Namespace: Throughline\b`), regexp.MustCompile(`\{ Name: Stack, Value: !Ref Prefix \}`),
		},
		"infra/dashboard/template.yaml": {
			regexp.MustCompile(`\["Throughline", `), regexp.MustCompile(`"Stack", "\$\{Prefix\}"`),
		},
	} {
		text := readPage(t, template)
		metrics, stacks := len(of.namespace.FindAllString(text, -1)), len(of.stack.FindAllString(text, -1))
		if metrics == 0 || metrics != stacks {
			t.Errorf("%s reads %d metrics of Throughline, %d of them with the stack", template, metrics, stacks)
		}
	}
}
