package migration_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/migration"
	"github.com/throughline/throughline/internal/testing/check"
)

var changed = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// at is a state with its backfill, whose verify began after the last change if verified is true.
func at(s migration.Stage, percent, backfilled int, verified bool) migration.State {
	state := migration.State{Stage: s, Percent: percent, Backfilled: backfilled, ChangedAt: changed, Version: 3}
	state.VerifiedAt = changed.Add(-time.Second)
	if verified {
		state.VerifiedAt = changed.Add(time.Second)
	}
	return state
}

func TestAdvance(t *testing.T) {
	t.Parallel()
	const embedded, dual, read, shared = migration.Embedded, migration.Dual, migration.SharedRead, migration.Shared
	cleaned := at(shared, 100, 100, true)
	cleaned.Cleaned = true
	for _, c := range []struct {
		from    migration.State
		back    bool
		to      migration.Stage
		percent int
		// missing is in the error. The step is allowed where it is empty, and backfilled is what it leaves.
		missing    string
		backfilled int
	}{
		{from: at(embedded, 100, 0, false), to: dual, percent: 10},
		{from: at(dual, 10, 10, false), to: dual, percent: 100, backfilled: 10},
		{from: at(dual, 100, 100, false), to: read, percent: 1, backfilled: 100},
		{from: at(read, 1, 100, false), to: read, percent: 100, backfilled: 100},
		{from: at(read, 100, 100, true), to: shared, percent: 50, backfilled: 100},
		{from: at(shared, 50, 100, false), to: shared, percent: 100, backfilled: 100},

		{from: at(embedded, 100, 0, false), to: dual, percent: 0, missing: "percent must be 1 to 100"},
		{from: at(embedded, 100, 0, false), to: dual, percent: 101, missing: "percent must be 1 to 100"},
		{from: at(dual, 10, 0, false), to: dual, percent: 10, missing: "dual at 10% already"},
		{from: at(dual, 10, 0, false), to: dual, percent: 5, missing: "use rollback"},
		{from: at(dual, 10, 0, false), to: embedded, percent: 100, missing: "use rollback"},
		{from: at(embedded, 100, 0, false), to: read, percent: 100, missing: "dual comes before shared-read"},
		{from: at(dual, 99, 99, true), to: read, percent: 100, missing: "dual is at 99% of the users"},
		{from: at(dual, 100, 99, true), to: read, percent: 100, missing: "covered 99% of the users"},
		{from: at(read, 100, 100, false), to: shared, percent: 1, missing: "the last one began at 2025-12-31T23:59:59.000Z"},
		{
			from: migration.State{Stage: read, Percent: 100, Backfilled: 100, ChangedAt: changed}, to: shared, percent: 1,
			missing: "there was none",
		},

		{from: at(shared, 50, 100, false), back: true, to: shared, percent: 10, backfilled: 100},
		{from: at(shared, 50, 100, false), back: true, to: read, percent: 100, backfilled: 100},
		{from: at(read, 50, 100, false), back: true, to: dual, percent: 100, backfilled: 100},
		{from: at(dual, 50, 50, false), back: true, to: dual, percent: 20, backfilled: 20},
		{from: at(dual, 50, 50, false), back: true, to: embedded, percent: 100},

		{from: at(dual, 50, 50, false), back: true, to: read, percent: 100, missing: "use advance"},
		{from: at(dual, 50, 50, false), back: true, to: dual, percent: 60, missing: "use advance"},
		{from: at(shared, 50, 100, false), back: true, to: dual, percent: 100, missing: "back to shared-read at 100% first"},
		{from: at(read, 50, 100, false), back: true, to: dual, percent: 50, missing: "back to dual at 100% first"},
		{from: cleaned, back: true, to: read, percent: 100, missing: "no way back"},
		{from: at(dual, 50, 50, false), back: true, to: dual, percent: 0, missing: "percent must be 1 to 100"},
	} {
		t.Run(fmt.Sprint(c.from.Stage, c.from.Percent, " to ", c.to, c.percent), func(t *testing.T) {
			t.Parallel()
			now := changed.Add(time.Hour)
			step := c.from.Advance
			if c.back {
				step = c.from.Rollback
			}
			got, err := step(c.to, c.percent, now)
			if c.missing != "" {
				f := fault.From(err)
				if err == nil || got != c.from || !strings.Contains(f.Message+fault.Sentence(f.Fields), c.missing) {
					t.Errorf("got %+v, %v; want %q", got, err, c.missing)
				}
				return
			}
			want := c.from
			want.Stage, want.Percent, want.Backfilled = c.to, c.percent, c.backfilled
			want.ChangedAt, want.Version = now, 4
			if err != nil || got != want {
				t.Errorf("got %+v, %v; want %+v", got, err, want)
			}
		})
	}
}

func TestCheckCleanup(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		state   migration.State
		missing string
	}{
		{at(migration.SharedRead, 100, 100, true), "needs shared at 100%"},
		{at(migration.Shared, 99, 100, true), "needs shared at 100%"},
		{at(migration.Shared, 100, 100, false), "a verify has to go through"},
		{migration.State{Stage: migration.Shared, Percent: 100}, "finds nothing; there was none"},
		{at(migration.Shared, 100, 100, true), ""},
	} {
		err := c.state.CheckCleanup()
		if c.missing == "" && err != nil || c.missing != "" && (err == nil || !strings.Contains(err.Error(), c.missing)) {
			t.Errorf("%+v: %v, want %q", c.state, err, c.missing)
		}
	}
}

// TestUsers checks that a percentage is of the users, and that who is in a stage stays in it when the share grows.
func TestUsers(t *testing.T) {
	t.Parallel()
	const users = 2000
	seen := 0
	for percent := range 101 {
		state := at(migration.Dual, percent, percent/2, false)
		in, moved := 0, 0
		for i := range users {
			user := conversation.UserID(fmt.Sprintf("user-%d", i))
			if state.IsMoved(user) {
				moved++
			}
			switch state.Of(user) {
			case migration.Dual:
				in++
			case migration.Embedded:
			default:
				t.Fatalf("at %d%% a user is in %s", percent, state.Of(user))
			}
		}
		if share := 100 * in / users; share < percent-5 || share > percent+5 || in < seen || moved > in {
			t.Errorf("at %d%% the stage has %d of %d users, before it %d; %d are moved", percent, in, users, seen, moved)
		}
		seen = in
	}
	if seen != users {
		t.Errorf("at 100%% the stage has %d of %d users", seen, users)
	}
}

func TestStages(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		stage     migration.Stage
		placement migration.Placement
		moved     bool
	}{
		{migration.Embedded, migration.InArray, false},
		{migration.Dual, migration.InBoth, false},
		{migration.SharedRead, migration.InBoth, false},
		{migration.Shared, migration.InStore, true},
	} {
		s, err := migration.ParseStage(string(c.stage))
		if err != nil || s.Placement() != c.placement || migration.Initial(s).IsMoved("ann") != c.moved {
			t.Errorf("%s: %v, %s, %+v", c.stage, err, s.Placement(), migration.Initial(s))
		}
	}
	check.Fault(t, check.ErrorOf(migration.ParseStage("later")), fault.Invalid, "an unknown stage")
	if at(migration.Embedded, 100, 100, false).IsMoved("ann") {
		t.Error("a user in embedded has the history in the store")
	}
	check.Equal(t, 0, migration.Initial(migration.Shared).Settled(changed), "an initial state settles in")
	state := at(migration.Dual, 1, 0, false)
	soon, late := state.Settled(changed.Add(time.Second)), state.Settled(changed.Add(time.Minute))
	if soon != 4*time.Second || late != 0 {
		t.Errorf("settles in %v and %v", soon, late)
	}
}

// TestPrices compares the prices of a forecast with those of the documents.
func TestPrices(t *testing.T) {
	t.Parallel()
	raw := check.Got(os.ReadFile("../../docs/scale/prices.json"))(t)
	var listed struct {
		Prices []struct {
			Name string
			USD  float64
		}
	}
	check.OK(t, json.Unmarshal(raw, &listed))
	want := map[string]float64{
		"dynamodbWrite": migration.USDPerMillionWrites, "dynamodbRead": migration.USDPerMillionReads,
	}
	for _, p := range listed.Prices {
		if usd, ok := want[p.Name]; ok && usd != p.USD {
			t.Errorf("%s is %v, listed %v", p.Name, usd, p.USD)
		}
	}
}
