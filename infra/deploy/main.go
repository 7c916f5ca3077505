// Command deploy says what a deployment lacks before SAM runs: parameters without a value, credentials of the stage's
// account, secrets, concurrency, a stack that can be updated, an issuer whose tokens can be checked. `make deploy` runs
// it first. With -delete it says what hinders the deletion of a stage, for `make teardown`. With -release it prints the
// values of the template's parameters and the name of the release, for what SAM has built in a folder. With -brake it
// stops functions at once, for `make brake`.
//
//	go run ./infra/deploy [-env dev] [-config samconfig.toml] [-urgent] [-delete stack | -release folder]
//	go run ./infra/deploy [-env dev] [-config samconfig.toml] -brake chat|background|all [-off]
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"time"

	"github.com/throughline/throughline/infra/deployment"
)

const timeout = 30 * time.Second

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	os.Exit(run(ctx, &http.Client{Timeout: timeout}, os.Args[1:], os.Stdout, os.Stderr))
}

// run prints what is missing, one line each, and returns the exit code. The client reads what the issuer publishes.
func run(ctx context.Context, client *http.Client, arguments []string, values, out io.Writer) int {
	flags := flag.NewFlagSet("deploy", flag.ContinueOnError)
	flags.SetOutput(out)
	stage := flags.String("env", "dev", "stage of the configuration")
	path := flags.String("config", "samconfig.toml", "the configuration")
	built := flags.String("release", "", "the folder in which SAM has built")
	deletes := flags.String("delete", "", "the stack to delete, repeated")
	isUrgent := flags.Bool("urgent", false, "a release that serves all requests at once, whatever alarm fires")
	what := flags.String("brake", "", "stop functions: chat, background or all")
	isOff := flags.Bool("off", false, "end the brake")
	isDeletion := slices.Contains(arguments, "-delete")
	if flags.Parse(arguments) != nil {
		return 2
	}
	s, err := deployment.Open(*path, *stage)
	if err != nil {
		fmt.Fprintln(out, "deploy:", err)
		return 2
	}
	if *built != "" {
		err = release(values, *built, s, *isUrgent, failedUpdate(ctx, s))
		return exitCode(err, out)
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if *what != "" {
		return exitCode(brakeStage(ctx, s, *what, *isOff, values), out)
	}
	if *isUrgent {
		s.Given[deployment.Gradual] = "false"
	}
	var problems []string
	if isDeletion {
		problems = append(teardown(s, *deletes), account(ctx, s, true)...)
	} else if problems = s.Problems(); len(problems) == 0 {
		problems = append(account(ctx, s, false), issuer(ctx, client, s)...)
	} else {
		_, missing := credentials(ctx, s)
		problems = append(problems, missing...)
	}
	if len(problems) == 0 {
		return 0
	}
	fmt.Fprintf(out, "deploy: stage %s of %s is not ready:\n", *stage, *path)
	for _, p := range problems {
		fmt.Fprintln(out, "  "+p)
	}
	fmt.Fprintln(out, "Parameters go into parameter_overrides of the stage. docs/deploying.md has the whole road.")
	return 1
}

// exitCode says what failed.
func exitCode(err error, out io.Writer) int {
	if err != nil {
		fmt.Fprintln(out, "deploy:", err)
		return 1
	}
	return 0
}
