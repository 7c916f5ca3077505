// Command deploy says what a deployment lacks before SAM runs: parameters without a value, credentials of the stage's
// account, secrets, concurrency, a stack that can be updated, an issuer whose tokens can be checked. `make deploy` runs
// it first. With -delete it says what hinders the deletion of a stage, for `make teardown`. With -release it prints the
// values of the template's parameters and the name of the release, for what SAM has built in a folder.
//
//	go run ./infra/deploy [-env dev] [-config samconfig.toml] [-delete stack | -release folder]
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
		if err := release(values, *built, s); err != nil {
			fmt.Fprintln(out, "deploy:", err)
			return 1
		}
		return 0
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
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
