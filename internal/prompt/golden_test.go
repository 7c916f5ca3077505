package prompt_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/throughline/throughline/internal/prompt"
	"github.com/throughline/throughline/internal/testing/check"
)

var update = flag.Bool("update", false, "write the golden files anew")

// goldens are the prompts of ann's story in every recipe.
var goldens = map[string]func(*prompt.Request){
	"unified":            func(r *prompt.Request) { r.Recipe = "" },
	"working-context":    func(r *prompt.Request) { r.Recipe, r.AgentID = prompt.WorkingContext, "patternAnalyst" },
	"context-format":     func(r *prompt.Request) { r.Recipe = prompt.ContextFormat },
	"context-format-0.5": func(r *prompt.Request) { r.Recipe = prompt.ContextFormat05 },
	"tiered-history":     func(r *prompt.Request) { r.Recipe = prompt.TieredHistory },
	"block-map":          func(r *prompt.Request) { r.Recipe = prompt.BlockMap },
	"unified-small":      func(r *prompt.Request) { r.Budget = &prompt.Budget{Tokens: 400} },
	"unified-refers-back-german": func(r *prompt.Request) {
		r.Message, r.MessageID = "Machen wir mit dem Deadlift weiter, wo wir gestern aufgehört haben.", ""
	},
	"unified-refers-back": func(r *prompt.Request) {
		r.Message, r.MessageID = "Let's continue where we left off with the deadlift goal.", ""
	},
}

// TestGolden holds the rendered prompts and their manifests. Run with -update after a change that is meant.
func TestGolden(t *testing.T) {
	t.Parallel()
	for name, change := range goldens {
		t.Run(name, func(t *testing.T) {
			w := newFixture()
			r := ann(t, w)
			change(&r)
			p := build(t, w.service(now), "ann", r)
			if real := realTokens(p); p.Tokens.Total < real || p.Tokens.Total > real+3 {
				t.Errorf("%d tokens accounted, %d real", p.Tokens.Total, real)
			}
			got := archive(t, p)
			path := filepath.Join("testdata", name+".txtar")
			if *update {
				check.OK(t, os.WriteFile(path, got, 0o644))
			}
			want := check.Got(os.ReadFile(path))(t)
			check.Same(t, string(want), string(got), "the result")
		})
	}
	files, err := filepath.Glob(filepath.Join("testdata", "*.txtar"))
	if err != nil || len(files) != len(goldens) {
		t.Errorf("%d golden files for %d goldens, %v", len(files), len(goldens), err)
	}
}

// archive writes a prompt as a golden: each part a file, times of sources left out.
func archive(t *testing.T, p prompt.Prompt) []byte {
	t.Helper()
	p.Manifest.Timings = nil
	var manifest strings.Builder
	fmt.Fprintf(&manifest, "tokens %d of %d\n", p.Tokens.Total, p.Tokens.Budget)
	for _, b := range p.Manifest.Blocks {
		fmt.Fprintf(&manifest, "%s: %d tokens, %d characters [%s]\n", b.Name, b.Tokens, b.Chars, b.Cap)
		for _, i := range b.Items {
			line := check.Got(json.Marshal(i))(t)
			fmt.Fprintf(&manifest, "  %s\n", line)
		}
	}
	fmt.Fprintf(&manifest, "degraded: %v\nwarnings: %q\n", p.Manifest.Degraded, p.Manifest.Warnings)
	var messages strings.Builder
	for _, m := range p.Messages {
		fmt.Fprintf(&messages, "[%s] %q\n", m.Role, m.Content)
	}
	var tools strings.Builder
	for _, tool := range p.Tools {
		fmt.Fprintf(&tools, "%s %s\n", tool.Name, tool.Parameters)
	}
	return txtar.Format(&txtar.Archive{
		Comment: []byte("Ann's story in the recipe " + p.Recipe + ".\n"),
		Files: []txtar.File{
			{Name: "system", Data: []byte(p.System + "\n")},
			{Name: "text", Data: []byte(p.Text + "\n")},
			{Name: "messages", Data: []byte(messages.String())},
			{Name: "tools", Data: []byte(tools.String())},
			{Name: "manifest", Data: []byte(manifest.String())},
		},
	})
}
