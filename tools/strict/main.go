// Command strict reads the events of "go test -json" and prints what "go test" prints, with two differences: a
// skipped test fails the run, and so does a run without tests. Its last line has the counts: "throughline: 412
// passed, 0 failed". With an argument it also appends the two counts to that file, so that several runs can be added
// up.
package main

import (
	"fmt"
	"os"
)

func main() {
	report, err := Read(os.Stdin, os.Stdout)
	if err == nil && len(os.Args) > 1 {
		err = report.appendTo(os.Args[1])
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "strict: %v\n", err)
		os.Exit(2)
	}
	if !report.OK() {
		os.Exit(1)
	}
}
