package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
)

// event is one line of "go test -json" (go doc test2json).
type event struct {
	Action      string
	Package     string
	ImportPath  string
	Test        string
	Output      string
	FailedBuild string
}

// Report counts tests, their subtests included.
type Report struct {
	Passed, Failed int
	// Skipped names the skipped tests. Each counts as failed.
	Skipped []string

	// output holds what tests and packages printed and has not been copied yet.
	output map[string][]string
	// hasFailure holds the packages with a failed test.
	hasFailure map[string]bool
}

// OK reports whether every test ran and passed, and there was at least one.
func (r *Report) OK() bool { return r.Failed == 0 && r.Passed > 0 }

// Read counts the tests in the events, and copies the output of failed and skipped ones to w. It copies lines that
// are not events, such as errors of the go command, as they are. It fails if the events cannot be read.
func Read(events io.Reader, w io.Writer) (*Report, error) {
	r := &Report{output: map[string][]string{}, hasFailure: map[string]bool{}}
	lines := bufio.NewReader(events)
	for {
		line, err := lines.ReadString('\n')
		if line != "" {
			r.readLine(line, w)
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("read events: %w", err)
		}
	}
	r.printSummary(w)
	return r, nil
}

func (r *Report) readLine(line string, w io.Writer) {
	var e event
	if !strings.HasPrefix(line, "{") || json.Unmarshal([]byte(line), &e) != nil {
		fmt.Fprint(w, line)
		return
	}
	switch e.Action {
	case "output", "build-output":
		r.addOutput(e, w)
	case "pass":
		r.passed(e)
	case "fail":
		r.failed(e, w)
	case "skip":
		r.skipped(e, w)
	}
}

// addOutput holds a test's output until the test has failed, and prints a package's summary line at once.
func (r *Report) addOutput(e event, w io.Writer) {
	switch {
	case e.Action == "build-output":
		fmt.Fprint(w, e.Output)
	case e.Test != "":
		r.output[e.key()] = append(r.output[e.key()], e.Output)
	case isSummary(e.Output):
		fmt.Fprint(w, e.Output)
	default:
		r.output[e.Package] = append(r.output[e.Package], e.Output)
	}
}

// isSummary reports whether a line is the last one of a package.
func isSummary(line string) bool {
	for _, prefix := range []string{"ok  \t", "FAIL\t", "---", "?   \t"} {
		if strings.HasPrefix(line, prefix) {
			return true
		}
	}
	return false
}

func (e event) key() string { return e.Package + "\x00" + e.Test }

func (r *Report) passed(e event) {
	if e.Test != "" {
		r.Passed++
		delete(r.output, e.key())
	}
}

func (r *Report) failed(e event, w io.Writer) {
	if e.Test != "" {
		r.Failed++
		r.hasFailure[e.Package] = true
		r.print(e.key(), w)
		return
	}
	r.print(e.Package, w)
	// The tests that a panic or a deadline ended have no event of their own.
	for key := range r.output {
		if strings.HasPrefix(key, e.Package+"\x00") {
			r.print(key, w)
		}
	}
	// A package may fail without a failed test: it did not build, TestMain failed, a deadline passed.
	if !r.hasFailure[e.Package] {
		r.Failed++
	}
}

func (r *Report) skipped(e event, w io.Writer) {
	if e.Test == "" {
		return // a package without test files
	}
	r.Failed++
	r.Skipped = append(r.Skipped, e.Package+" "+e.Test)
	r.print(e.key(), w)
}

func (r *Report) print(key string, w io.Writer) {
	for _, line := range r.output[key] {
		fmt.Fprint(w, line)
	}
	delete(r.output, key)
}

func (r *Report) printSummary(w io.Writer) {
	for _, name := range r.Skipped {
		fmt.Fprintf(w, "skipped, which counts as failed: %s\n", name)
	}
	if r.Passed+r.Failed == 0 {
		fmt.Fprintln(w, "no test ran")
	}
	fmt.Fprintf(w, "throughline: %d passed, %d failed\n", r.Passed, r.Failed)
}

// appendTo appends the counts to a file.
func (r *Report) appendTo(name string) error {
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("open file of counts: %w", err)
	}
	if _, err = fmt.Fprintln(f, r.Passed, r.Failed); err != nil {
		f.Close()
		return fmt.Errorf("write counts: %w", err)
	}
	return f.Close()
}
