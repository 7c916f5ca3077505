// Package bench holds what the benchmark commands share: their flags, the DynamoDB engine, and where the results go.
package bench

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/throughline/throughline/infra/bench/report"
	"github.com/throughline/throughline/infra/local/dynamodblocal"
)

// Result is what a benchmark found.
type Result interface {
	// Note says what the numbers depend on beside the machine, in part of a sentence.
	Note() string
	// Tables returns the numbers. What they mean is written by hand in docs/benchmarks.md.
	Tables() []report.Titled
	// Bars returns the values that have limits.
	Bars() []report.Bar
}

// Excerpted is a Result of which a part is in another document, too, in a section of the command's name.
type Excerpted interface {
	Excerpt() (document, markdown string)
}

// Command is a benchmark as a program.
type Command struct {
	// Name is the section of docs/benchmarks.md that the results go to.
	Name string
	// Measure measures on a DynamoDB engine at an endpoint and reports its progress in single lines.
	Measure func(ctx context.Context, endpoint string, progress func(string)) (Result, error)
}

// Main parses the flags of the command line, runs the command, and exits with 1 if it fails or a bar is not met.
func (c Command) Main() {
	numbers := flag.String("json", "", "file to write the results to as JSON")
	docs := flag.String("docs", "", "folder of the documents to write the results into")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := c.run(ctx, *numbers, *docs); err != nil {
		fmt.Fprintf(os.Stderr, "bench-%s: %v\n", c.Name, err)
		os.Exit(1)
	}
}

func (c Command) run(ctx context.Context, numbers, docs string) error {
	var result Result
	err := OnEngine(ctx, func(endpoint string) (err error) {
		result, err = c.Measure(ctx, endpoint, func(line string) { fmt.Fprintln(os.Stderr, line) })
		return err
	})
	if err != nil {
		return err
	}
	date := time.Now().UTC().Format(time.DateOnly)
	section := c.section(date, result)
	fmt.Print(section)
	if numbers != "" {
		content := struct {
			Date    string         `json:"date"`
			Machine report.Machine `json:"machine"`
			Result  Result         `json:"result"`
			Bars    []report.Bar   `json:"bars"`
		}{date, report.ThisMachine(), result, result.Bars()}
		if err := report.WriteJSON(numbers, content); err != nil {
			return err
		}
	}
	if docs != "" {
		if err := c.document(docs, section, result); err != nil {
			return err
		}
	}
	if missed := report.Missed(result.Bars()); len(missed) > 0 {
		return fmt.Errorf("not held: %s", strings.Join(missed, "; "))
	}
	return nil
}

// OnEngine starts an engine for a measurement and stops it afterwards.
func OnEngine(ctx context.Context, measure func(endpoint string) error) (err error) {
	if !dynamodblocal.Installed() {
		fmt.Fprintln(os.Stderr, "installing DynamoDB Local")
	}
	server, err := dynamodblocal.Start(ctx, dynamodblocal.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Stop()) }()
	return measure(server.Endpoint())
}

// section renders a result as a section of docs/benchmarks.md.
func (c Command) section(date string, r Result) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Measured on %s by `make bench-%s`: %s; %s.\n", date, c.Name, report.ThisMachine(), r.Note())
	held := report.Titled{Title: "What has to hold", Table: report.BarTable(r.Bars())}
	for _, t := range append(r.Tables(), held) {
		fmt.Fprintf(&b, "\n**%s**\n\n%s", t.Title, t.Markdown())
		if t.Note != "" {
			b.WriteString("\n" + t.Note + "\n")
		}
	}
	return b.String()
}

func (c Command) document(docs, section string, result Result) error {
	if e, ok := result.(Excerpted); ok {
		document, markdown := e.Excerpt()
		if err := report.WriteSection(filepath.Join(docs, document), "", c.Name, markdown); err != nil {
			return err
		}
	}
	return report.WriteSection(filepath.Join(docs, "benchmarks.md"), "# Benchmarks\n", c.Name, section)
}

// Lengths are ascending numbers of messages.
type Lengths []int

// Set reads them from a flag, which separates them by commas.
func (l *Lengths) Set(value string) error {
	*l = nil
	for part := range strings.SplitSeq(value, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(part))
		if err != nil || n < 0 {
			return fmt.Errorf("%q is not a number of messages", part)
		}
		*l = append(*l, n)
	}
	if !slices.IsSorted(*l) {
		return errors.New("the lengths do not ascend")
	}
	return nil
}
