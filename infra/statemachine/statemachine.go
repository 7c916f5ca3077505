// Package statemachine has the definition of the state machine that runs an action of the migration over all segments
// of the table, and executes it with moto, an implementation of Step Functions for tests.
package statemachine

import (
	"bufio"
	"context"
	_ "embed" // the definition
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/throughline/throughline/infra/launch"
)

// Segments is the definition. Its input is the body of an invocation of migrate, with totalSegments and without
// segment. Its output has the progress of the action status, and for each segment a list of at most one mismatch. When
// segments failed, the cause of the error names them.
//
//go:embed segments.asl.json
var Segments []byte

// Engine is a process that executes the definition.
type Engine struct {
	command *exec.Cmd
	input   io.WriteCloser
	output  *json.Decoder
}

// Execution is how an execution ended.
type Execution struct {
	Status, Output, Error, Cause string
}

// Start starts an engine whose tasks call a function at a Lambda endpoint. It installs moto with "make venv" if it is
// not installed. Call Stop when it is no longer needed.
func Start(ctx context.Context, endpoint, function string) (*Engine, error) {
	root, err := launch.ModuleRoot(ctx)
	if err != nil {
		return nil, err
	}
	install := exec.CommandContext(ctx, "make", "--no-print-directory", "venv")
	install.Dir = root
	if out, err := install.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("install moto: %w\n%s", err, out)
	}
	command := exec.CommandContext(context.WithoutCancel(ctx), // Stop ends it
		filepath.Join(root, ".cache/venv/bin/python"),
		filepath.Join(root, "tools/stepfunctions/execute.py"),
		filepath.Join(root, "infra/statemachine/segments.asl.json"), function)
	command.Env = append(os.Environ(), "AWS_ENDPOINT_URL_LAMBDA="+endpoint)
	command.Stderr = os.Stderr
	input, err := command.StdinPipe()
	if err != nil {
		return nil, err
	}
	output, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("start engine: %w", err)
	}
	return &Engine{command: command, input: input, output: json.NewDecoder(bufio.NewReader(output))}, nil
}

// Execute runs one execution to its end. It may not be called twice at once.
func (e *Engine) Execute(input any) (out Execution, err error) {
	if err := json.NewEncoder(e.input).Encode(input); err != nil {
		return out, fmt.Errorf("start execution: %w", err)
	}
	if err := e.output.Decode(&out); err != nil {
		return out, fmt.Errorf("read execution: %w", err)
	}
	return out, nil
}

// Stop ends the engine and waits for it. It returns an error if the definition is not valid.
func (e *Engine) Stop() error { return errors.Join(e.input.Close(), e.command.Wait()) }
