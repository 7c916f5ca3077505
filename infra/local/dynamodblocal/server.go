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
	"syscall"
	"time"
)

const (
	stopGrace    = 2 * time.Second
	startTimeout = 60 * time.Second
	startTries   = 3
)

// Options say how the engine runs.
type Options struct {
	// Port to listen on; 0 takes a free one.
	Port int
	// DataDir keeps the tables in this folder, made when missing; empty keeps them in memory.
	DataDir string
	// Stderr receives what the engine prints; nil discards it.
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

// errExited is an engine that ended before it answered.
var errExited = errors.New("DynamoDB Local ended while starting")

// Start installs the engine when the cache lacks it, starts it, and returns when it answers. ctx bounds the start
// only; the engine runs until Stop, or until this process dies (on Linux). Errors are one line and say the mend when
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
	for try := 1; ; try++ {
		s, err := launch(ctx, java, dir, opts)
		// Between choosing a free port and the engine's taking it, another process may have got it.
		if opts.Port == 0 && try < startTries && errors.Is(err, errExited) {
			continue
		}
		return s, err
	}
}

// Endpoint is the URL that AWS_ENDPOINT_URL_DYNAMODB takes; streams are served there too.
func (s *Server) Endpoint() string { return s.endpoint }

// Stop ends the engine, by force when it has not gone after 2 seconds, and waits until it is gone. It may be called
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

// spawn starts the process in a folder of its own, where it writes a file about itself.
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
		// The kernel sends the parent-death signal when the starting thread ends, so it has to last as long.
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

// arguments favour a quick start of a small engine: one compiler tier, one collector thread.
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

// awaitReady returns when the engine answers a request, or says why it never will.
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

// startError tells the causes that a user can mend from the others.
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

// choosePort returns a port that was free a moment ago on every interface, since the engine takes them all.
func choosePort(ctx context.Context, port int) (int, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", ":"+strconv.Itoa(port))
	if err != nil {
		return 0, fmt.Errorf("port %d is taken: stop what uses it, or choose another with DYNAMODB_PORT", port)
	}
	chosen := l.Addr().(*net.TCPAddr).Port
	return chosen, l.Close()
}
