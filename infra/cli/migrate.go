//go:build !nomigration

package main

import (
	"context"

	"github.com/throughline/throughline/infra/migrate"
)

// migration is the command that goes with the migration (docs/migrating.md).
func migration() []command {
	return []command{{"migrate", "action", "take a step of a migration", 0, migrateFlags}}
}

func migrateFlags(f *flags) func(context.Context) error {
	f.stage()
	var o migrate.Options
	f.StringVar(&o.Base, "base", "", "address of a local stack, in place of a stage")
	f.StringVar(&o.To, "to", "", "stage of the migration that advance and rollback go to")
	f.IntVar(&o.Percent, "percent", 100, "share of the users that the stage applies to")
	f.IntVar(&o.Segments, "segments", 8, "parts of the table that are worked on at once")
	f.IntVar(&o.Rate, "rate", 0, "most messages a second, of all segments; 0 is as many as the table bears")
	f.BoolVar(&o.DryRun, "dry-run", false, "predict items, capacity and time, and write nothing")
	f.BoolVar(&o.JSON, "json", false, "print the last answer as JSON")
	return func(ctx context.Context) error {
		o.Action, o.Env, o.Config = f.argument, f.env, f.config
		isClear, err := migrate.Take(ctx, o, f.out)
		if err == nil && !isClear {
			return errFound
		}
		return err
	}
}
