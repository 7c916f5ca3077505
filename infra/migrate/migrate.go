// Package migrate takes one step of a migration (docs/migrating.md), on a deployed stage or on the local stack, and
// prints how far it is. The actions backfill, verify, index, rollback and cleanup go over the table in segments: on a
// stage by its state machine, on the local stack by calls of the function. A step may be stopped and repeated at any
// time.
package migrate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// Options name the step, and where it is taken: on a stage of a configuration, or on the local stack at Base.
type Options struct {
	Env, Config, Base, Action, To string
	Percent, Segments, Rate       int
	DryRun, JSON                  bool
}

// The actions, and those that go over the table in segments.
var (
	actions   = []string{"preflight", "status", "advance", "backfill", "verify", "index", "rollback", "cleanup"}
	segmented = []string{"backfill", "verify", "index", "rollback", "cleanup"}
	stages    = []string{"embedded", "dual", "shared-read", "shared"}
)

// maxSegments is how many segments the state machine lists at most.
const maxSegments = 1000

// Take takes the step and prints the report. It returns false if something prevents the migration, such as a difference
// that verify found. An error says why the step could not be taken.
func Take(ctx context.Context, o Options, out io.Writer) (isClear bool, err error) {
	if wrong := o.problem(); wrong != "" {
		return false, errors.New(wrong)
	}
	s, err := open(ctx, o)
	if err != nil {
		return false, err
	}
	return take(ctx, s, o, &printer{out: out, json: o.JSON, action: o.Action, now: time.Now})
}

// problem says in one line what is wrong with the options, and how to mend it.
func (o Options) problem() string {
	moves := o.Action == "advance" || o.Action == "rollback"
	switch {
	case !slices.Contains(actions, o.Action):
		return fmt.Sprintf("%s is none of %s", o.Action, strings.Join(actions, ", "))
	case o.Action == "rollback" && o.To == "":
		return "name the stage to go back to: throughline migrate rollback -to dual"
	case !moves && o.To != "":
		return fmt.Sprintf("leave out -to: %s has no stage to go to", o.Action)
	case o.To != "" && !slices.Contains(stages, o.To):
		return fmt.Sprintf("-to %s is none of %s", o.To, strings.Join(stages, ", "))
	case o.Percent < 1 || o.Percent > 100:
		return fmt.Sprintf("-percent %d is not 1 to 100", o.Percent)
	case o.Segments < 1 || o.Segments > maxSegments:
		return fmt.Sprintf("-segments %d is not 1 to %d", o.Segments, maxSegments)
	case o.DryRun && o.Action != "backfill":
		return fmt.Sprintf("leave out -dry-run: only backfill can be predicted, not %s", o.Action)
	case o.Rate < 0:
		return fmt.Sprintf("-rate %d is below 0: name messages a second, or leave it out", o.Rate)
	}
	return ""
}
