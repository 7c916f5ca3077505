package rie_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/throughline/throughline/infra/launch"
	"github.com/throughline/throughline/internal/testing/check"
)

const (
	// startTimeout is how long the emulator may take until it listens.
	startTimeout = 10 * time.Second
	// stopTimeout is how long it may take to end its function and itself.
	stopTimeout = 5 * time.Second
	// invokePath is the path of the only function of an emulator.
	invokePath = "/2015-03-31/functions/function/invocations"
)

// emulator runs one function. It is safe for concurrent use and, like a Lambda environment, runs one invocation at a
// time.
type emulator struct {
	// URL is the endpoint of a Lambda API with one function, named "function".
	URL string

	command *exec.Cmd
	output  *check.Log
	// invoking is held during an invocation.
	invoking sync.Mutex
}

// emulated describes the function that an emulator runs.
type emulated struct {
	// Bootstrap is the path of the binary, as Build returns it.
	Bootstrap string
	// Environment holds "NAME=value" for each variable. Nothing of this process's environment is added.
	Environment []string
	// Timeout is the function's timeout in Lambda, in whole seconds.
	Timeout time.Duration
	// MemoryMB is the function's memory in Lambda. It is what the function is told, and no bound here.
	MemoryMB int
}

// startEmulator starts the emulator at a path that findEmulator returned, on a free port of the loopback interface. The
// function itself starts with the first invocation.
func startEmulator(ctx context.Context, program string, f emulated) (*emulator, error) {
	invokeAddress, err := launch.FreeAddress()
	if err != nil {
		return nil, err
	}
	runtimeAddress, err := launch.FreeAddress()
	if err != nil {
		return nil, err
	}
	e := &emulator{URL: "http://" + invokeAddress, output: &check.Log{}}
	//nolint:contextcheck,noctx // it outlives the start; Stop ends it
	e.command = exec.Command(program,
		"--runtime-interface-emulator-address", invokeAddress, "--runtime-api-address", runtimeAddress, f.Bootstrap)
	e.command.Env = append([]string{
		"AWS_LAMBDA_FUNCTION_TIMEOUT=" + strconv.Itoa(int(f.Timeout/time.Second)),
		"AWS_LAMBDA_FUNCTION_MEMORY_SIZE=" + strconv.Itoa(f.MemoryMB),
		"AWS_LAMBDA_FUNCTION_NAME=function", "AWS_REGION=us-east-1",
	}, f.Environment...)
	e.command.Stdout, e.command.Stderr = e.output, e.output
	if err := e.command.Start(); err != nil {
		return nil, fmt.Errorf("start emulator: %w", err)
	}
	if err := awaitListener(ctx, invokeAddress); err != nil {
		return nil, errors.Join(err, e.Stop())
	}
	return e, nil
}

// awaitListener dials until the emulator answers, which sends no other signal.
func awaitListener(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		var dialer net.Dialer
		conn, err := dialer.DialContext(ctx, "tcp", address)
		if err == nil {
			return conn.Close()
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for emulator: %w", err)
		case <-tick.C:
		}
	}
}

// functionError is the answer of a function that failed: Lambda's JSON object of an error.
type functionError struct {
	Type    string `json:"errorType"`
	Message string `json:"errorMessage"`
}

// Error names the type and the message.
func (e *functionError) Error() string { return e.Type + ": " + e.Message }

// Invoke sends one event and returns the function's answer; it reads a streamed answer to its end. A function's own
// error is an *functionError.
func (e *emulator) Invoke(ctx context.Context, event []byte) ([]byte, error) {
	e.invoking.Lock()
	defer e.invoking.Unlock()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, e.URL+invokePath, bytes.NewReader(event))
	if err != nil {
		return nil, fmt.Errorf("make invocation: %w", err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, fmt.Errorf("invoke: %w", err)
	}
	defer response.Body.Close()
	payload, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, fmt.Errorf("read answer: %w", err)
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("invoke: status %d: %s", response.StatusCode, payload)
	}
	// The emulator answers 200 for errors too, and without the service's header: only the object's fields show it.
	var failed functionError
	if json.Unmarshal(payload, &failed) == nil && failed.Type != "" {
		return nil, &failed
	}
	return payload, nil
}

// Output returns what the emulator and its function have printed so far.
func (e *emulator) Output() string { return e.output.String() }

// Stop ends the function and its emulator. One that does not end in time is killed, which is an error.
func (e *emulator) Stop() error {
	if err := e.command.Process.Signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("stop emulator: %w", err)
	}
	kill := time.AfterFunc(stopTimeout, func() { _ = e.command.Process.Kill() })
	_ = e.command.Wait() // the status after a signal means nothing
	if !kill.Stop() {
		return fmt.Errorf("stop emulator: it did not end within %v", stopTimeout)
	}
	return nil
}

// findEmulator returns the path of the emulator for this machine's processor, inside the SAM CLI's wheel. It installs
// the SAM CLI with "make venv" if it is not installed.
func findEmulator(ctx context.Context) (string, error) {
	root, err := launch.ModuleRoot(ctx)
	if err != nil {
		return "", err
	}
	name, ok := map[string]string{"amd64": "aws-lambda-rie-x86_64", "arm64": "aws-lambda-rie-arm64"}[runtime.GOARCH]
	if !ok || runtime.GOOS != "linux" {
		return "", fmt.Errorf("find emulator: there is none for %s/%s", runtime.GOOS, runtime.GOARCH)
	}
	install := exec.CommandContext(ctx, "make", "--no-print-directory", "venv")
	install.Dir = root
	if out, err := install.CombinedOutput(); err != nil {
		return "", fmt.Errorf("install the SAM CLI: %w\n%s", err, out)
	}
	found, err := filepath.Glob(filepath.Join(root, ".cache/venv/lib/python3*/site-packages/samcli/local/rapid", name))
	if err != nil || len(found) != 1 {
		return "", errors.Join(fmt.Errorf("find emulator: the SAM CLI has %d of %s", len(found), name), err)
	}
	return executable(found[0])
}

// executable makes the file executable, which installing from a wheel may not do.
func executable(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", fmt.Errorf("find emulator: %w", err)
	}
	const run fs.FileMode = 0o111
	if info.Mode()&run == 0 {
		if err := os.Chmod(path, info.Mode()|run); err != nil {
			return "", fmt.Errorf("make emulator executable: %w", err)
		}
	}
	return path, nil
}
