package docscheck_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/throughline/throughline/infra/launch"
	"github.com/throughline/throughline/internal/testing/check"
)

// timeout is how long a page's commands may take together.
const timeout = 2 * time.Minute

// TestCommands runs the commands of all pages but those of the hour, of one's own app and of make adapters. It compares
// what they print with what the pages show.
func TestCommands(t *testing.T) {
	t.Parallel()
	check.OK(t, launch.With(t.Context(), nil, func(stack *launch.Stack) error {
		t.Run("pages", func(t *testing.T) {
			for _, path := range pages(t) {
				list := steps(t, path)
				if _, played := hour[path]; played || path == ownApp || len(list) == 0 || hasOwnCheck(path) {
					continue
				}
				t.Run(path, func(t *testing.T) {
					t.Parallel()
					runPage(t, stack, path, list)
				})
			}
		})
		return nil
	}))
}

// runPage runs a page's blocks in one shell.
func runPage(t *testing.T, stack *launch.Stack, path string, list []step) {
	var run []step
	for _, s := range list {
		switch {
		case s.commands.is("sh start"):
			if s.output != nil {
				compare(t, path, *s.output, strings.Join(stack.Output, "\n"))
			}
		case s.commands.isProgram():
			run = append(run, s)
		case !s.commands.is("sh unrun"):
			for _, words := range commands(s.commands.text) {
				if slices.Contains([]string{"make", "go", "aws", "sam"}, words[0]) && words[1] != "demo" {
					t.Fatalf("%s:%d: mark this block as unrun: %s", path, s.commands.line, strings.Join(words, " "))
				}
			}
			run = append(run, s)
		}
	}
	if len(run) == 0 {
		return
	}
	outputs, err := runShell(t, stack, run)
	for i, output := range outputs {
		if run[i].output != nil && (err == nil || i < len(outputs)-1) {
			compare(t, path, *run[i].output, output)
		}
	}
	if err != nil {
		failed := max(len(outputs), 1) - 1
		t.Errorf("%s:%d: %v\n%s", path, run[failed].commands.line, err, strings.Join(outputs[failed:], ""))
	}
}

// sdk has the libraries of the pages' programs.
const sdk = ".cache/sdk"

// clients are what makes the clients of clients/ known to a program, by the words of the program that name one.
var clients = []struct{ words, command string }{
	{"github.com/throughline/throughline/clients/go", "go -C clients/go run"},
	{"'@throughline/client'", "node"},
	{"from throughline import", "PYTHONPATH=clients/python/src " + sdk + "/bin/python"},
}

// saveClient bundles the client for JavaScript beside a program that imports it.
func saveClient(t *testing.T, folder string) {
	t.Helper()
	bundle := exec.CommandContext(t.Context(), "infra/console/node_modules/.bin/esbuild", "--log-level=error", "--bundle",
		"--format=esm", "--outfile="+folder+"/node_modules/@throughline/client/index.mjs", "clients/typescript/src/index.ts")
	bundle.Dir = root
	if out, err := bundle.CombinedOutput(); err != nil {
		t.Fatalf("bundle the client: %v\n%s", err, out)
	}
	named := filepath.Join(root, folder, "node_modules/@throughline/client/package.json")
	check.OK(t, os.WriteFile(named, []byte(`{"exports":"./index.mjs"}`), 0o600))
}

// saveProgram saves a program beside the libraries and returns the command that runs it, from the root as the working
// directory.
func saveProgram(t *testing.T, b block, text string) string {
	t.Helper()
	command := map[string]string{"go": "go run", "js": "node", "python": sdk + "/bin/python"}[b.info[0]]
	if command == "" {
		t.Fatalf("line %d: no such kind of program: %s", b.line, b.info[0])
	}
	folder, err := os.MkdirTemp(filepath.Join(root, sdk), "program")
	if err != nil {
		t.Fatalf("make docs-check installs the libraries: %v", err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	name := "main." + map[string]string{"go": "go", "js": "mjs", "python": "py"}[b.info[0]]
	check.OK(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	for _, client := range clients {
		if strings.Contains(text, client.words) {
			command = client.command
		}
	}
	saved := sdk + "/" + filepath.Base(folder)
	if b.info[0] == "js" {
		saveClient(t, saved)
	}
	return fmt.Sprintf("(cd %s && %s %s/%s)\n", absolute(t, ""), command, absolute(t, saved), name)
}

// TestForms checks the forms of prompts against the types of the providers' libraries.
func TestForms(t *testing.T) {
	t.Parallel()
	check.OK(t, launch.With(t.Context(), nil, func(stack *launch.Stack) error {
		python := exec.CommandContext(t.Context(), sdk+"/bin/python", "tools/sdk/forms.py", stack.Base)
		python.Dir = root
		out, err := python.CombinedOutput()
		if checked, _ := strconv.Atoi(strings.TrimSpace(string(out))); err != nil || checked < 10 {
			t.Errorf("%v\n%s", err, out)
		}
		return nil
	}))
}

// separator begins the output of a block.
const separator = "\x1e"

// runShell runs blocks in one shell, which stops at the first command that fails, and returns what each printed.
func runShell(t *testing.T, stack *launch.Stack, list []step) ([]string, error) {
	t.Helper()
	home := t.TempDir()
	// An answer that is an error makes curl fail, as it does not by itself.
	check.OK(t, os.WriteFile(filepath.Join(home, ".curlrc"), []byte("fail-with-body\n"), 0o600))
	script := "set -euo pipefail\n"
	for _, s := range list {
		commands := strings.ReplaceAll(s.commands.text, "localhost:8080", strings.TrimPrefix(stack.Base, "http://"))
		if s.commands.isProgram() {
			commands = saveProgram(t, s.commands, commands)
		}
		if s.commands.is("sh fails") {
			commands = fmt.Sprintf("if (\n%s); then echo 'it does not fail'; exit 1; fi\n", commands)
		}
		script += "printf '" + separator + "'\n" + commands
	}
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	shell := exec.CommandContext(ctx, "bash", "-c", script)
	shell.Dir = root
	generator := absolute(t, "clients/typescript/node_modules/.bin") // of types, which a page names
	shell.Env = append(os.Environ(), "CURL_HOME="+home, "BASE="+stack.Base, "PATH="+generator+":"+os.Getenv("PATH"))
	printed, err := shell.CombinedOutput()
	if ctx.Err() != nil {
		err = errors.Join(err, ctx.Err())
	}
	before, after, _ := strings.Cut(string(printed), separator)
	if before != "" {
		t.Errorf("the shell printed %q", before)
	}
	return strings.Split(after, separator), err
}
