// Package launch builds and starts the local stack as a process of its own, as `make run` does. The demo and the
// end-to-end tests use it.
package launch

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// ReadyTimeout is how long a stack may take to be ready, its first download of DynamoDB Local included.
const ReadyTimeout = 3 * time.Minute

// Stack is a running local stack.
type Stack struct {
	// Base is the address of its HTTP API.
	Base string
	// Output holds the lines that it printed until it was ready.
	Output []string

	command *exec.Cmd
	exited  chan error
}

// BuildEnv is the environment for "go build" that this module's programs are built with. With the Makefile's flags,
// the go command compiles the packages that programs share once.
func BuildEnv() []string {
	return append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-trimpath -buildvcs=false -gcflags=all=-dwarf=false")
}

// Build compiles the local stack into a folder and returns the program's path.
func Build(ctx context.Context, folder string) (string, error) {
	root, err := ModuleRoot(ctx)
	if err != nil {
		return "", err
	}
	program := filepath.Join(folder, "throughline-local")
	build := exec.CommandContext(ctx, "go", "build", "-o", program, "./infra/local")
	build.Dir, build.Env = root, BuildEnv()
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build local stack: %w\n%s", err, out)
	}
	return program, nil
}

// Module is the path of this module.
const Module = "github.com/throughline/throughline/"

// BuildFunctions builds main packages, such as Module + "functions/prompt", as they are built for Lambda but for this
// machine's processor. It returns the path of each package's binary, in order.
func BuildFunctions(ctx context.Context, folder string, packages ...string) ([]string, error) {
	// One command loads the packages once. It gives each binary the name of its package.
	arguments := append([]string{"build", "-tags=lambda.norpc", "-ldflags=-s", "-o", folder + "/"}, packages...)
	build := exec.CommandContext(ctx, "go", arguments...)
	build.Env = BuildEnv()
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build %v: %w\n%s", packages, err, out)
	}
	binaries := make([]string, len(packages))
	for i, pkg := range packages {
		binaries[i] = filepath.Join(folder, filepath.Base(pkg))
	}
	return binaries, nil
}

// ModuleRoot returns the folder of this module, also to a program of another one that uses it.
func ModuleRoot(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}",
		"github.com/throughline/throughline").Output()
	if err != nil {
		return "", fmt.Errorf("find module: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}

// Start runs a built stack on a free port and waits until it is ready. The environment adds variables as "NAME=value".
// The stack's standard error goes to stderr.
func Start(ctx context.Context, program string, stderr io.Writer, environment ...string) (*Stack, error) {
	command := exec.Command(program) //nolint:noctx // it outlives the start; Stop ends it
	command.Env = append(append(os.Environ(), "PORT=0"), environment...)
	command.Stderr = stderr
	stdout, err := command.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("open output: %w", err)
	}
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("start local stack: %w", err)
	}
	s := &Stack{command: command, exited: make(chan error, 1)}
	lines := make(chan string, 64)
	go func() {
		scan := bufio.NewScanner(stdout)
		for scan.Scan() {
			lines <- scan.Text()
		}
		close(lines)
		s.exited <- command.Wait()
	}()
	if err := s.awaitReady(ctx, lines); err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	go func() {
		for range lines { // keep the pipe empty
		}
	}()
	return s, nil
}

// With builds a stack, starts it, calls do and stops it. The environment is that of Start.
func With(ctx context.Context, environment []string, do func(*Stack) error) (err error) {
	folder, err := os.MkdirTemp("", "throughline-")
	if err != nil {
		return fmt.Errorf("make folder: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	program, err := Build(ctx, folder)
	if err != nil {
		return err
	}
	stack, err := Start(ctx, program, os.Stderr, environment...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stack.Stop()) }()
	return do(stack)
}

func (s *Stack) awaitReady(ctx context.Context, lines <-chan string) error {
	ctx, cancel := context.WithTimeout(ctx, ReadyTimeout)
	defer cancel()
	for {
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for the local stack: %w", ctx.Err())
		case line, open := <-lines:
			if !open {
				return errors.New("the local stack ended before it was ready")
			}
			s.Output = append(s.Output, line)
			if rest, ok := strings.CutPrefix(line, "ready"); ok {
				s.Base = strings.Fields(rest)[0]
				return nil
			}
		}
	}
}

// PID returns the stack's process id.
func (s *Stack) PID() int { return s.command.Process.Pid }

// Stop asks the stack to end and waits for it. It kills a stack that takes more than ten seconds, which is an error.
func (s *Stack) Stop() error {
	if err := s.command.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stop local stack: %w", err)
	}
	select {
	case err := <-s.exited:
		s.exited <- err
		return err
	case <-time.After(10 * time.Second):
		return errors.Join(errors.New("the local stack did not end within 10 s"), s.command.Process.Kill())
	}
}

// FreeAddress returns an address of the loopback interface, with a port that nothing listens on.
func FreeAddress() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // closed at once
	if err != nil {
		return "", fmt.Errorf("find free port: %w", err)
	}
	defer listener.Close()
	return listener.Addr().String(), nil
}
