// Command throughline is the operator's command: it prepares, changes, checks and restores a stage. "make throughline"
// builds it into bin.
//
//	throughline app tutor.yaml -env prod
//
// Without a subcommand it lists them, and "throughline restore -h" has the flags of one. It exits with 0 when all is
// done, with 1 when it ran and something is not as it should be, which it has printed, and with 2 when it could not do
// its work. It may be interrupted at any time.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/throughline/throughline/infra/deployment"
)

// The exit codes.
const (
	done    = 0
	found   = 1
	refused = 2
)

// errFound says that a command has printed what is not as it should be.
var errFound = errors.New("not as it should be")

// command is one subcommand.
type command struct {
	name string
	// argument is what stands between the name and the flags, and is empty where nothing does.
	argument string
	says     string
	// limit bounds the command's time; 0 is no limit.
	limit time.Duration
	// flags declares the flags and returns what runs the command when they are read.
	flags func(f *flags) func(context.Context) error
}

// commands lists the subcommands.
func commands() []command {
	return append([]command{
		{"bootstrap", "", "say what secrets and Pinecone index are missing, or make them", 2 * time.Minute, bootstrapFlags},
		{"ready", "", "say what a deployment lacks; make deploy begins with it", 30 * time.Second, readyFlags},
		{"release", "folder", "print the parameters for what SAM has built", 30 * time.Second, releaseFlags},
		{"app", "app.yaml", "give a stage the registry of an app", 0, appFlags},
		{"brake", "chat|background|all", "stop answers or background work in seconds", 30 * time.Second, brakeFlags},
		{"read-only", "", "make a stage read-only at once; end that with -off", 0, readOnlyFlags},
		{"restore", "time", "restore a stage's table to a time, into a new table", 0, restoreFlags},
		{"record", "", "print the key of a record that was set aside", time.Minute, recordFlags},
		{"smoke", "", "try every function of a running stage with a test user's token, given as TOKEN", 0, smokeFlags},
		{"deploy-check", "", "try on AWS what no test can, on a stage made for it and deleted", 0, deployCheckFlags},
		{"reindex", "", "fill the next vector index", 0, reindexFlags},
		{"preflight", "table", "say whether an app's table can be adopted, without writing", 5 * time.Minute, preflightFlags},
		{"mcp", "", "speak the Model Context Protocol over standard input and output, for a running stack", 0, mcpFlags},
		{"demo", "", "play the story of two surfaces with one memory", 0, demoFlags},
		{"extract", "file", "print what a model notes of a conversation", 0, extractFlags},
		{"trace", "", "show the trace of one turn, as a collector gets its spans", 0, traceFlags},
	}, migration()...)
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run runs a command and returns the exit code.
func run(ctx context.Context, arguments []string, out, problems io.Writer) int {
	if len(arguments) > 0 {
		for _, c := range commands() {
			if c.name == arguments[0] {
				return c.run(ctx, arguments[1:], out, problems)
			}
		}
	}
	fmt.Fprint(problems, "usage: throughline COMMAND [FLAGS]\n\n")
	for _, c := range commands() {
		fmt.Fprintf(problems, "  %-33s %s\n", c.name+" "+c.argument, c.says)
	}
	return refused
}

func (c command) run(ctx context.Context, arguments []string, out, problems io.Writer) int {
	f := &flags{FlagSet: flag.NewFlagSet(c.name, flag.ContinueOnError), out: out, problems: problems}
	f.SetOutput(problems)
	f.Usage = func() {
		fmt.Fprintf(problems, "usage: throughline %s %s [FLAGS]\n%s\n", c.name, c.argument, c.says)
		f.PrintDefaults()
	}
	do := c.flags(f)
	err := f.Parse(arguments)
	if c.argument != "" && f.NArg() > 0 && err == nil { // it stands before, among or after the flags
		f.argument = f.Arg(0)
		err = f.Parse(f.Args()[1:])
	}
	switch {
	case errors.Is(err, flag.ErrHelp):
		return done
	case err != nil:
		return refused
	case f.NArg() > 0:
		fmt.Fprintf(problems, "%s: %q is no flag\n", c.name, f.Arg(0))
		return refused
	case c.argument != "" && f.argument == "":
		fmt.Fprintf(problems, "%s: name what is missing: throughline %s %s\n", c.name, c.name, c.argument)
		return refused
	}
	if c.limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.limit)
		defer cancel()
	}
	switch err := do(ctx); {
	case errors.Is(err, errFound):
		return found
	case err != nil:
		fmt.Fprintf(problems, "%s: %v\n", c.name, err)
		return refused
	}
	return done
}

// flags are the flags of a command, with what stands before them and where it prints.
type flags struct {
	*flag.FlagSet

	argument      string
	out, problems io.Writer
	env, config   string
}

// stage declares the flags that name a stage.
func (f *flags) stage() {
	config := "samconfig.local.toml"
	if _, err := os.Stat(config); err != nil {
		config = "samconfig.toml"
	}
	f.StringVar(&f.env, "env", "dev", "stage of the configuration")
	f.StringVar(&f.config, "config", config, "the configuration")
}

func (f *flags) urgent() *bool {
	return f.Bool("urgent", false, "serve all requests at once, whatever alarm fires")
}

// open reads the stage.
func (f *flags) open() (deployment.Stage, error) { return deployment.Open(f.config, f.env) }

// connect reads the stage and returns the clients' configuration, with credentials of the stage's account.
func (f *flags) connect(ctx context.Context) (of deployment.Stage, cfg aws.Config, operator string, err error) {
	if of, err = f.open(); err == nil {
		cfg, operator, err = of.Connect(ctx)
	}
	return of, cfg, operator, err
}
