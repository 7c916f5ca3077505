package docscheck_test

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/throughline/throughline/infra/launch"
	"github.com/throughline/throughline/infra/local/issuer"
	"github.com/throughline/throughline/internal/testing/check"
)

// A part is a piece of a page that has to be there: a block of a kind, with some words.
type part struct{ kind, words string }

// hour are the pages that a newcomer follows in the first hour, with what they have to show. TestHour runs them, and
// TestCommands runs the others.
var hour = map[string][]part{
	"README.md": {
		{"sh start", "make run"},
		{"js program", "buildPrompt"},
		{"python program", "build_prompt"},
		{"sh", "/v1/chat"},
	},
	"docs/add-to-your-app.md": {
		{"js program", "server.as("},
		{"python program", "server.as_user("},
		{"js program", "memory.chat("},
		{"js program", "from 'ai'"},
		{"js program", "timestamp"},
		{"sh", "openapi-typescript http"},
	},
	"docs/own-model.md": {
		{"python program", "from openai import OpenAI"},
		{"python program", "tool_calls"},
		{"js program", "from 'ai'"},
		{"js program", "toolSet"},
	},
}

// TestHour plays the first hour of a developer from the pages alone: it starts the stack with the command of README,
// runs what the pages of hour show, opens the console, kills the stack under it and starts it again.
func TestHour(t *testing.T) {
	t.Parallel()
	pages := slices.Sorted(maps.Keys(hour))
	for _, page := range pages {
		checkParts(t, page, steps(t, page), hour[page])
	}
	data, address := t.TempDir(), freeAddress(t)
	first := makeRun(t, address, data)
	for _, page := range pages {
		if !t.Run(page, func(t *testing.T) { runPage(t, first.asShown(data), page, steps(t, page)) }) {
			return
		}
	}
	t.Run("restart", func(t *testing.T) { restart(t, first, address, data) })
	t.Run("own issuer", ownIssuer)
}

// ownIssuer runs the command of docs/issuers.md with an issuer that publishes its keys, and calls the API with its
// token.
func ownIssuer(t *testing.T) {
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	defer server.Close()
	own := check.Got(issuer.New(server.URL, ""))(t)
	own.Register(mux)
	list := steps(t, "docs/issuers.md")
	start := slices.IndexFunc(list, func(s step) bool { return strings.Contains(s.commands.text, "JWT_ISSUER=") })
	if start < 0 {
		t.Fatal("docs/issuers.md does not say how the stack takes an own issuer's tokens")
	}
	command := strings.NewReplacer("https://your-issuer.example", server.URL, "your-audience", issuer.Audience).
		Replace(list[start].commands.text)
	stack := startWith(t, command, freeAddress(t), t.TempDir())
	token, _, err := own.Mint(issuer.Claims{UserID: "ann"})
	check.OK(t, err)
	for path, want := range map[string]int{"/v1/sessions": http.StatusOK, "/v1/preferences": http.StatusOK} {
		r := check.Got(http.NewRequestWithContext(t.Context(), http.MethodGet, stack.base+path, nil))(t)
		r.Header.Set("Authorization", "Bearer "+token)
		answer := check.Got(http.DefaultClient.Do(r))(t)
		if answer.Body.Close(); answer.StatusCode != want {
			t.Errorf("%s: %d, want %d", path, answer.StatusCode, want)
		}
	}
}

// checkParts checks that a page has its parts, and that it shows what each program prints.
func checkParts(t *testing.T, page string, list []step, parts []part) {
	t.Helper()
	for _, p := range parts {
		isPart := func(s step) bool { return s.commands.is(p.kind) && strings.Contains(s.commands.text, p.words) }
		if !slices.ContainsFunc(list, isPart) {
			t.Errorf("%s has no block %q with %q", page, p.kind, p.words)
		}
	}
	for _, s := range list {
		if s.commands.isProgram() && s.output == nil {
			t.Errorf("%s:%d: a program without its output", page, s.commands.line)
		}
	}
}

// A run is a stack that was started by the command of README.
type run struct {
	base   string
	output []string
	shell  *exec.Cmd
	ended  chan struct{}
}

// kill ends the stack as the loss of the machine does, with all of its processes.
func (r *run) kill() {
	_ = syscall.Kill(-r.shell.Process.Pid, syscall.SIGKILL)
	<-r.ended
}

// asShown returns the stack as the pages show it, which keep no data.
func (r *run) asShown(data string) *launch.Stack {
	output := strings.ReplaceAll(strings.Join(r.output, "\n"), "kept in "+data, "in memory")
	return &launch.Stack{Base: r.base, Output: strings.Split(output, "\n")}
}

// makeRun runs README's command that starts the stack, with the switches of its table.
func makeRun(t *testing.T, address, data string) *run {
	t.Helper()
	readme := steps(t, "README.md")
	start := slices.IndexFunc(readme, func(s step) bool { return s.commands.is("sh start") })
	if start < 0 {
		t.Fatal("README.md does not say how the stack is started")
	}
	return startWith(t, readme[start].commands.text, address, data)
}

// startWith runs a command that starts the stack, and waits until it is ready.
func startWith(t *testing.T, command, address, data string) *run {
	t.Helper()
	_, port, _ := net.SplitHostPort(address)
	shell := exec.Command("bash", "-c", command) //nolint:noctx // the end of the test kills it
	shell.Dir, shell.Stderr, shell.SysProcAttr = root, os.Stderr, &syscall.SysProcAttr{Setpgid: true}
	// A newcomer's shell runs in no make.
	shell.Env = append(os.Environ(), "MAKEFLAGS=", "MAKELEVEL=", "PORT="+port, "DATA_DIR="+data)
	stdout := check.Got(shell.StdoutPipe())(t)
	check.OK(t, shell.Start())
	r := &run{base: "http://" + address, shell: shell, ended: make(chan struct{})}
	ready := make(chan bool, 1)
	t.Cleanup(r.kill)
	go r.read(stdout, ready)
	select {
	case ok := <-ready:
		if !ok {
			t.Fatalf("the stack ended before it was ready: %s", strings.Join(r.output, "\n"))
		}
	case <-time.After(launch.ReadyTimeout):
		t.Fatal("the stack is not ready")
	}
	return r
}

// read keeps what the stack prints until it is ready, and reads on until all of its processes have ended.
func (r *run) read(stdout io.Reader, ready chan<- bool) {
	defer close(r.ended)
	scan := bufio.NewScanner(stdout)
	isReady := false
	for scan.Scan() {
		if isReady {
			continue
		}
		r.output = append(r.output, scan.Text())
		if isReady = strings.HasPrefix(scan.Text(), "ready"); isReady {
			ready <- true
		}
	}
	if !isReady {
		ready <- false
	}
	_ = r.shell.Wait()
}

// restart kills the stack under an open console and starts it again. The console shows by itself what is there, on a
// screen whose data it never had.
func restart(t *testing.T, stack *run, address, data string) {
	console := exec.CommandContext(t.Context(), "node", "infra/console/tools/watch.mjs",
		stack.base+"/#/tom/chats?left=log&right=coach", "/tom/timeline", "My left knee hurts when I squat.")
	console.Dir, console.Stderr = root, os.Stderr
	orders := check.Got(console.StdinPipe())(t)
	stdout := check.Got(console.StdoutPipe())(t)
	check.OK(t, console.Start())
	t.Cleanup(func() { _ = console.Wait() })
	states := bufio.NewScanner(stdout)
	expect := func(want string) {
		t.Helper()
		if !states.Scan() || states.Text() != want {
			t.Fatalf("the console is not %s: %q", want, states.Text())
		}
	}
	expect("open")
	stack.kill()
	_, _ = fmt.Fprintln(orders, "look")
	expect("waiting")
	makeRun(t, address, data)
	expect("back")
}

func freeAddress(t *testing.T) string {
	t.Helper()
	return check.Got(launch.FreeAddress())(t)
}

// absolute returns a path of the repository as one that does not depend on the working directory.
func absolute(t *testing.T, path string) string {
	t.Helper()
	return check.Got(filepath.Abs(filepath.Join(root, path)))(t)
}
