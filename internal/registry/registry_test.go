package registry_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/registry"
	"github.com/throughline/throughline/internal/testing/check"
)

const small = `
contexts:
  - name: lesson
    label: Lesson
memoryTypes:
  - name: LEARNER
    means: the learner
`

func parse(t *testing.T, text string) *registry.App {
	t.Helper()
	return check.Got(registry.Parse([]byte(text)))(t)
}

// TestDefaults reads a file that says the least.
func TestDefaults(t *testing.T) {
	t.Parallel()
	app := parse(t, small)
	want := &registry.App{
		Version: app.Version,
		Contexts: []registry.Context{{
			Name: "lesson", Label: "Lesson", Prefix: "session_lesson#", EntityType: "lesson", DefaultMode: "chat",
			Summary: registry.Summary{Type: "lesson_summary"},
		}},
		Agents:      []registry.Agent{{ID: "assistant", Messages: 10}},
		MemoryTypes: []registry.MemoryType{{Name: "LEARNER", Means: "the learner", InPrompt: 3}}, LoopLapseDays: 30,
	}
	check.Same(t, want, app, "the result")
	if other := parse(t, small+"    inPrompt: 2\n"); len(app.Version) != 12 || app.Version == other.Version {
		t.Errorf("versions %s and %s of two files", app.Version, other.Version)
	}
	if parse(t, "\n"+small+"\n").Version != app.Version {
		t.Error("an empty line at the end is another version")
	}
}

// TestLookups asks a registry for its parts by name.
func TestLookups(t *testing.T) {
	t.Parallel()
	app := parse(t, small)
	if c, err := app.Context("lesson"); err != nil || c.Label != "Lesson" {
		t.Errorf("context %+v, %v", c, err)
	}
	if c, err := app.Writing("lesson_summary"); err != nil || c.Name != "lesson" {
		t.Errorf("context %+v, %v", c, err)
	}
	if _, err := app.Context("exam"); !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), "lesson") {
		t.Errorf("an unknown context: %v", err)
	}
	check.Fault(t, check.ErrorOf(app.Writing("exam_summary")), fault.Invalid, "an unknown record type")
	if app.MemoryType("LEARNER").Name == "" || app.MemoryType("PROFILE") != (registry.MemoryType{}) {
		t.Error("memory types are not those of the file")
	}
}

// TestRecallsNone tells a context that recalls no other from one that says nothing, in the file as well.
func TestRecallsNone(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]bool{"": true, "    recalls: []\n": false, "    recalls: [lesson]\n": false} {
		app, err := registry.Parse([]byte("contexts:\n  - name: lesson\n    label: Lesson\n" + line +
			"  - name: other\n    label: Other\nmemoryTypes:\n  - name: LEARNER\n    means: the learner\n"))
		check.OK(t, err)
		if got := app.Contexts[0].RecallsFrom("other"); got != want || !app.Contexts[0].RecallsFrom("lesson") {
			t.Errorf("%q: recalls another context: %v", line, got)
		}
	}
}

// TestDefaultsOfUsers asks for what the app decides where a user has not.
func TestDefaultsOfUsers(t *testing.T) {
	t.Parallel()
	app := parse(t, `
contexts:
  - {name: lesson, label: Lesson, recipe: tiered-history}
  - {name: parents, label: Parents, share: false}
coaches:
  - {id: tutor, name: Tutor, persona: " You teach. "}
  - {id: planner, name: Planner, persona: You plan.}
memoryTypes:
  - {name: LEARNER, means: the learner}
  - {name: HEALTH, means: what can harm the learner, safety: true}
`)
	check.Same(t, []string{"parents"}, app.Unshared(), "unshared")
	for id, want := range map[string]string{"planner": "You plan.", "tutor": "You teach.", "nobody": "You teach."} {
		if c, ok := app.Coach(id); !ok || c.Persona != want {
			t.Errorf("coach %s: %q, want %q", id, c.Persona, want)
		}
	}
	if _, ok := parse(t, small).Coach("tutor"); ok {
		t.Error("a coach of an app without coaches")
	}
	if !app.MemoryType("HEALTH").Safety || app.MemoryType("LEARNER").Safety || app.MemoryType("OTHER").Safety {
		t.Error("types of safety are not those of the file")
	}
}

// TestProblemsHaveTheirLine names the line and the field of each problem of a file.
func TestProblemsHaveTheirLine(t *testing.T) {
	t.Parallel()
	const label = "label: Lesson"
	tests := map[string]struct {
		old, text string // what is replaced in the small file
		want      string
	}{
		"unknown field":    {label, "lable: Lesson", "line 4: lable is no field of this part"},
		"no label":         {"    label: Lesson\n", "", "line 3: contexts[0].label must be one line of 1 to 64 characters"},
		"name":             {"name: lesson", "name: The lesson", "line 3: contexts[0].name must be"},
		"prefix":           {label, "label: L\n    prefix: msg#", "line 5: contexts[0].prefix must be left out"},
		"reserved type":    {label, "label: L\n    summary: {type: message}", "line 5: contexts[0].summary.type must"},
		"no such summary":  {label, "label: L\n    reads: [x_summary]", `line 5: contexts[0].reads[0] must be`},
		"no such context":  {label, "label: L\n    recalls: [lesson, x]", `line 5: contexts[0].recalls[1] must be`},
		"field":            {label, "label: L\n    summary: {fields: [{name: a b}]}", "[0].summary.fields[0].name"},
		"twice a field":    {label, "label: L\n    summary: {fields: [{name: a}, {name: a}]}", "fields[1].name is the"},
		"twice a context":  {"memoryTypes:", "  - {name: lesson, label: L}\nmemoryTypes:", "line 5: contexts[1].name is"},
		"type":             {"LEARNER", "Learner", "line 6: memoryTypes[0].name must be"},
		"no meaning":       {"    means: the learner\n", "", "line 6: memoryTypes[0].means must be"},
		"too many":         {"the learner", "x\n    inPrompt: 9", "line 8: memoryTypes[0].inPrompt must be 1 to 8"},
		"no context":       {"  - name: lesson\n    label: Lesson\n", "", "line 2: contexts must have"},
		"note":             {"memoryTypes:", "note: [\"\"]\nmemoryTypes:", "line 5: note[0] must be"},
		"example":          {"memoryTypes:", "examples: [{notes: [x]}]\nmemoryTypes:", "line 5: examples[0].user must be"},
		"lapse":            {"memoryTypes:", "loopLapseDays: 400\nmemoryTypes:", "line 5: loopLapseDays must be"},
		"phrase":           {"memoryTypes:", "urgentPhrases: [Exam]\nmemoryTypes:", "line 5: urgentPhrases[0] must be"},
		"agent":            {"memoryTypes:", "agents: [{id: a b}]\nmemoryTypes:", "line 5: agents[0].id must be"},
		"twice an agent":   {"memoryTypes:", "agents: [{id: a}, {id: a}]\nmemoryTypes:", "agents[1].id is the id of another"},
		"messages":         {"memoryTypes:", "agents: [{id: a, messages: 51}]\nmemoryTypes:", "messages must be 1 to 50"},
		"role":             {"memoryTypes:", "agents: [{id: a, hears: [tool]}]\nmemoryTypes:", "hears[0] must be user or"},
		"empty module":     {"memoryTypes:", "agents: [{id: a, modules: [{name: m}]}]\nmemoryTypes:", "modules[0].text must"},
		"recipe":           {label, "label: L\n    recipe: mine", "line 5: contexts[0].recipe must be one of unified"},
		"field's meaning":  {label, "label: L\n    summary: {fields: [{name: a, means: \" \"}]}", "fields[0].means must"},
		"coach":            {"memoryTypes:", "coaches: [{id: a b, name: A, persona: p}]\nmemoryTypes:", "coaches[0].id must"},
		"no persona":       {"memoryTypes:", "coaches: [{id: a, name: A}]\nmemoryTypes:", "coaches[0].persona must"},
		"hidden character": {label, `label: "L\u0007"`, "contexts[0].label must be one line"},
		"no YAML":          {"contexts:", "contexts: [", "line 3: "},
		"no mapping":       {small, "- 1", "line 1: what stands here must be fields"},
		"nothing":          {small, "", "line 1: yaml: no documents"},
		"no list":          {label, "label: L\n    reads: x_summary", "line 5: what stands here must be a list"},
		"no fields":        {label, "label: L\n    summary: x_summary", "line 5: what stands here must be fields"},
		"no text":          {label, "label: [L]", "line 4: what stands here must be a text"},
		"no type":          {label, "label: L\n    reads: [[x]]", "line 5: what stands here must be a text"},
		"no number":        {"memoryTypes:", "loopLapseDays: a few\nmemoryTypes:", "line 5: what stands here must be a wh"},
		"no truth value":   {label, "label: L\n    share: maybe", "line 5: what stands here must be true or false"},
		"no UTF-8":         {label, "label: L\xff", "line 4: the text is not UTF-8"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := registry.Parse([]byte(strings.Replace(small, tt.old, tt.text, 1)))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q in it", err, tt.want)
			}
		})
	}
}

// TestSuccessor compares a file with the one before it.
func TestSuccessor(t *testing.T) {
	t.Parallel()
	const end = "memoryTypes:"
	exam := strings.Replace(small, end, "  - {name: exam, label: Exam}\n"+end, 1)
	before := parse(t, exam)
	tests := map[string]struct{ after, want string }{
		"the same":  {exam, ""},
		"retired":   {strings.Replace(exam, "Exam}", "Exam, retired: true}", 1), ""},
		"gone":      {small, "the context exam is missing"},
		"other key": {strings.Replace(exam, "Exam}", "Exam, prefix: conversation#}", 1), "the context exam has another"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := registry.CheckSuccessor(before, parse(t, tt.after))
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}

// TestExamples reads the files of the examples.
func TestExamples(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join("..", "..", "examples", "*", "app.yaml"))
	if err != nil || len(files) < 3 {
		t.Fatalf("%d examples, %v", len(files), err)
	}
	for _, file := range files {
		text := check.Got(os.ReadFile(file))(t)
		if _, err := registry.Parse(text); err != nil {
			t.Errorf("%s:\n%v", file, err)
		}
	}
}

// TestSchemaHasTheFields compares the JSON schema, by which editors check a file, with what Parse reads.
func TestSchemaHasTheFields(t *testing.T) {
	t.Parallel()
	text := check.Got(os.ReadFile("app.schema.json"))(t)
	type object struct {
		Properties map[string]json.RawMessage
		Defs       map[string]object `json:"$defs"`
	}
	var schema struct {
		object

		Defs map[string]object `json:"$defs"`
	}
	check.OK(t, json.Unmarshal(text, &schema))
	for _, tt := range []struct {
		of   any
		have object
	}{
		{registry.App{}, schema.object},
		{registry.Context{}, schema.Defs["context"]},
		{registry.Summary{}, schema.Defs["summary"]},
		{registry.Agent{}, schema.Defs["agent"]},
		{registry.MemoryType{}, schema.Defs["memoryType"]},
		{registry.Coach{}, schema.Defs["coach"]},
		{registry.Example{}, schema.Defs["example"]},
	} {
		var want []string
		for field := range reflect.TypeOf(tt.of).Fields() {
			if name := field.Tag.Get("yaml"); name != "-" {
				want = append(want, name)
			}
		}
		slices.Sort(want)
		check.Same(t, want, slices.Sorted(maps.Keys(tt.have.Properties)),
			"%T: fields in the code (-) and in the schema (+)", tt.of)
	}
}
