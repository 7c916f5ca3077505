package e2e_test

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/throughline/throughline/infra/client"
	"github.com/throughline/throughline/internal/testing/check"
)

// scene is a step of examples/*/conversation.yaml: what the user says in one context, or asks in another one, and what
// the prompt of that question has.
type scene struct {
	In         string         `yaml:"in"`
	Attributes map[string]any `yaml:"attributes"`
	Says       []string       `yaml:"says"`
	Ends       bool           `yaml:"ends"`
	Asks       string         `yaml:"asks"`
	Hears      []string       `yaml:"hears"`
	HearsNot   []string       `yaml:"hearsNot"`
	MemoryType string         `yaml:"memoryType"`
	// Recipe is that of the prompt. Field is what a summary that this context reads has in a field of its own.
	Recipe string `yaml:"recipe"`
	Field  struct {
		Type, Name, Has string
	} `yaml:"field"`
}

// TestExamplesOfApps starts the stack with the registry of each example, and plays its conversation: another context's
// prompt has what was said, memories have the app's types, and contexts of the app that ships are unknown.
func TestExamplesOfApps(t *testing.T) {
	t.Parallel()
	folders, err := filepath.Glob(filepath.Join("..", "..", "examples", "*", "app.yaml"))
	if err != nil || len(folders) < 3 {
		t.Fatalf("%d examples, %v", len(folders), err)
	}
	for _, file := range folders {
		t.Run(filepath.Base(filepath.Dir(file)), func(t *testing.T) {
			t.Parallel()
			stack := startStack(t, "APP="+file)
			api, err := client.New(stack.Base).As(t.Context(), "ann")
			check.OK(t, err)
			for _, s := range readScenes(t, filepath.Join(filepath.Dir(file), "conversation.yaml")) {
				s.play(t, api)
			}
			body := map[string]any{"context": "coach_conversation", "coachId": "coach"}
			err = api.Do(t.Context(), http.MethodPost, "/v1/sessions", body, nil)
			wantProblem(t, err, 422, "invalid", "context")
		})
	}
}

func readScenes(t *testing.T, file string) []scene {
	t.Helper()
	text := check.Got(os.ReadFile(file))(t)
	var scenes []scene
	if err := yaml.Load(text, &scenes, yaml.WithKnownFields()); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return scenes
}

// play says or asks what a scene has. A session has the name of its context.
func (s scene) play(t *testing.T, api *client.Client) {
	t.Helper()
	session := map[string]any{"context": s.In, "coachId": "coach", "attributes": s.Attributes}
	do(t, api, http.MethodPut, "/v1/sessions/"+s.In, session, nil)
	for _, text := range s.Says {
		talk(t, api, s.In, text)
	}
	if s.Ends {
		do(t, api, http.MethodPatch, "/v1/sessions/"+s.In, map[string]any{"status": "completed"}, nil)
	}
	if s.Asks == "" {
		return
	}
	var p builtPrompt
	eventually(t, 20*time.Second, "a prompt of "+s.In+" with "+strings.Join(s.Hears, ", "), func() bool {
		in := map[string]any{"context": s.In, "sessionId": s.In, "message": s.Asks}
		do(t, api, http.MethodPost, "/v1/prompts", in, &p)
		text := p.withLate().System
		return !slices.ContainsFunc(s.Hears, func(part string) bool { return !strings.Contains(text, part) })
	})
	for _, part := range s.HearsNot {
		if strings.Contains(p.withLate().System, part) {
			t.Errorf("a prompt of %s has %q", s.In, part)
		}
	}
	if s.Recipe != "" && p.Recipe != s.Recipe {
		t.Errorf("a prompt of %s is by the recipe %s, want %s", s.In, p.Recipe, s.Recipe)
	}
	s.checkField(t, api)
	isType := func(m memory) bool { return m.Type == s.MemoryType }
	if known := memories(t, api); s.MemoryType != "" && !slices.ContainsFunc(known, isType) {
		t.Errorf("no memory of the type %s in %+v", s.MemoryType, known)
	}
}

// checkField looks for a field of a summary that the scene's context reads.
func (s scene) checkField(t *testing.T, api *client.Client) {
	t.Helper()
	if s.Field.Name == "" {
		return
	}
	var found struct {
		Summaries []struct {
			RecordType string
			Fields     map[string]any
		}
	}
	do(t, api, http.MethodPost, "/v1/context/query", map[string]any{"context": s.In}, &found)
	for _, summary := range found.Summaries {
		if text, _ := summary.Fields[s.Field.Name].(string); summary.RecordType == s.Field.Type &&
			strings.Contains(text, s.Field.Has) {
			return
		}
	}
	t.Errorf("no %s with %q in %s: %+v", s.Field.Type, s.Field.Has, s.Field.Name, found)
}

// TestTypeOfSafety pins the facts of a type that the registry calls safety.
func TestTypeOfSafety(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "app.yaml")
	const app = "contexts: [{name: ward, label: Ward}]\n" +
		"memoryTypes: [{name: PATIENT, means: the patient, safety: true}]\n"
	check.OK(t, os.WriteFile(file, []byte(app), 0o600))
	api := check.Got(client.New(startStack(t, "APP="+file).Base).As(t.Context(), "ann"))(t)
	scene{In: "ward", Says: []string{"My name is Omar."}, Ends: true}.play(t, api)
	eventually(t, 20*time.Second, "a pinned memory", func() bool {
		known := memories(t, api)
		return len(known) == 1 && known[0].Type == "PATIENT" && known[0].Pinned
	})
}
