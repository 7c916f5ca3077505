// Command migrate takes one step of a migration (docs/migrating.md), on a deployed stage or on the local stack, and
// prints how far it is:
//
//	go run ./infra/migrate -action status [-env dev] [-config samconfig.toml] [-base http://127.0.0.1:8080]
//	    [-to dual] [-percent 50] [-segments 8] [-rate 500] [-dry-run] [-json]
//
// With -base it works on the local stack at that address, and otherwise on a stage of samconfig.toml. The actions
// backfill, verify, index, rollback and cleanup go over the table in segments: on a stage by its state machine, on the
// local stack by calls of the function. The command may be stopped and repeated at any time.
//
// It exits with 0 when the step is done, with 1 when something prevents the migration, such as a difference that
// verify found, and with 2 when the step could not be taken.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"
)

// The exit codes.
const (
	done    = 0
	found   = 1
	refused = 2
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

type options struct {
	env, config, base, action, to string
	percent, segments, rate       int
	dryRun, json                  bool
}

// The actions, and those that go over the table in segments.
var (
	actions   = []string{"preflight", "status", "advance", "backfill", "verify", "index", "rollback", "cleanup"}
	segmented = []string{"backfill", "verify", "index", "rollback", "cleanup"}
	stages    = []string{"embedded", "dual", "shared-read", "shared"}
)

// maxSegments is how many segments the state machine lists at most.
const maxSegments = 1000

func run(ctx context.Context, arguments []string, out, errors io.Writer) int {
	o, code := parse(arguments, errors)
	if code != done {
		return code
	}
	if wrong := o.problem(); wrong != "" {
		fmt.Fprintln(errors, "migrate:", wrong)
		return refused
	}
	service, err := open(ctx, o)
	if err == nil {
		code, err = take(ctx, service, o, &printer{out: out, json: o.json, action: o.action, now: time.Now})
	}
	if err != nil {
		fmt.Fprintln(errors, "migrate:", err)
		return refused
	}
	return code
}

func parse(arguments []string, errors io.Writer) (o options, code int) {
	flags := flag.NewFlagSet("migrate", flag.ContinueOnError)
	flags.SetOutput(errors)
	flags.StringVar(&o.action, "action", "", strings.Join(actions, ", "))
	flags.StringVar(&o.env, "env", "dev", "stage of samconfig.toml")
	flags.StringVar(&o.config, "config", "samconfig.toml", "file of the stages")
	flags.StringVar(&o.base, "base", "", "address of a local stack, in place of a stage")
	flags.StringVar(&o.to, "to", "", "stage of the migration that advance and rollback go to")
	flags.IntVar(&o.percent, "percent", 100, "share of the users that the stage applies to")
	flags.IntVar(&o.segments, "segments", 8, "parts of the table that are worked on at once")
	flags.IntVar(&o.rate, "rate", 0, "most messages a second, of all segments; 0 is as many as the table bears")
	flags.BoolVar(&o.dryRun, "dry-run", false, "predict items, capacity and time, and write nothing")
	flags.BoolVar(&o.json, "json", false, "print the last answer as JSON")
	if flags.Parse(arguments) != nil {
		return o, refused
	}
	return o, done
}

// problem says in one line what is wrong with the options, and how to mend it.
func (o options) problem() string {
	moves := o.action == "advance" || o.action == "rollback"
	switch {
	case !slices.Contains(actions, o.action):
		return fmt.Sprintf("-action=%s is none of %s", o.action, strings.Join(actions, ", "))
	case o.action == "rollback" && o.to == "":
		return "name the stage to go back to: make migrate-rollback TO=dual"
	case !moves && o.to != "":
		return fmt.Sprintf("leave out TO: %s has no stage to go to", o.action)
	case o.to != "" && !slices.Contains(stages, o.to):
		return fmt.Sprintf("TO=%s is none of %s", o.to, strings.Join(stages, ", "))
	case o.percent < 1 || o.percent > 100:
		return fmt.Sprintf("PERCENT=%d is not 1 to 100", o.percent)
	case o.segments < 1 || o.segments > maxSegments:
		return fmt.Sprintf("SEGMENTS=%d is not 1 to %d", o.segments, maxSegments)
	case o.dryRun && o.action != "backfill":
		return fmt.Sprintf("leave out DRYRUN: only backfill can be predicted, not %s", o.action)
	case o.rate < 0:
		return fmt.Sprintf("RATE=%d is below 0: name messages a second, or leave it out", o.rate)
	}
	return ""
}
