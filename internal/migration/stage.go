package migration

import (
	"fmt"
	"hash/fnv"
	"io"
	"slices"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
)

// Stage is a step of the migration. It says where messages should be; a session's placement says where they are.
type Stage string

// The stages, in their order.
const (
	// Embedded stores messages in the app's arrays.
	Embedded Stage = "embedded"
	// Dual stores messages in both places and reads the arrays.
	Dual Stage = "dual"
	// SharedRead stores messages in both places and reads the shared store.
	SharedRead Stage = "shared-read"
	// Shared stores messages in the shared store only.
	Shared Stage = "shared"
)

var stages = []Stage{Embedded, Dual, SharedRead, Shared}

// ParseStage returns an Invalid error about the field "to" unless the text is a stage.
func ParseStage(text string) (Stage, error) {
	if !slices.Contains(stages, Stage(text)) {
		return "", fault.InvalidField("to", "must be embedded, dual, shared-read or shared")
	}
	return Stage(text), nil
}

func (s Stage) rank() int { return slices.Index(stages, s) }

// before returns the stage before this one. Embedded has none and returns itself.
func (s Stage) before() Stage { return stages[max(0, s.rank()-1)] }

// Placement returns the placement that sessions should have in the stage.
func (s Stage) Placement() Placement {
	switch s {
	case Embedded:
		return InArray
	case Shared:
		return InStore
	}
	return InBoth
}

// SettleTime is how long an instance may use the stage that it has read. What depends on a change of the stage waits
// for that long.
const SettleTime = 5 * time.Second

// State is how far the migration of a table is.
type State struct {
	Stage Stage `stored:"stage"`
	// Percent is the share of the users that the stage applies to, by a hash of their ids. The others are in the stage
	// before it.
	Percent int `stored:"percent"`
	// Cleaned says that the parked arrays have been deleted.
	Cleaned bool `stored:"cleaned"`
	// ChangedAt is when the stage or the percentage was last changed. It is zero for an initial state.
	ChangedAt time.Time `stored:"changedAt,omitempty"`
	// Version counts the changes of the record. It is 0 where there is no record yet.
	Version int64 `stored:"version"`
	// Backfilled is the share of the users whose sessions a backfill has copied to the shared store.
	Backfilled int `stored:"backfilled"`
	// VerifiedAt is when the last verify began that covered the table and found nothing.
	VerifiedAt time.Time `stored:"verifiedAt,omitempty"`
}

// Initial returns the state of a table that has none yet.
func Initial(s Stage) State {
	state := State{Stage: s, Percent: 100}
	if s == Shared {
		state.Backfilled = 100
	}
	return state
}

// bucket is the place of a user among 100 groups.
func bucket(user conversation.UserID) int {
	h := fnv.New32a()
	_, _ = io.WriteString(h, string(user))
	return int(h.Sum32() % 100)
}

// Of returns the stage of a user.
func (s State) Of(user conversation.UserID) Stage {
	if bucket(user) < s.Percent {
		return s.Stage
	}
	return s.Stage.before()
}

// IsMoved reports whether the shared store has the user's history: all of it, unless the app adds to its arrays.
func (s State) IsMoved(user conversation.UserID) bool {
	return s.Of(user) != Embedded && bucket(user) < s.Backfilled
}

// Settled returns how long it takes until every instance knows the state.
func (s State) Settled(now time.Time) time.Duration {
	if s.ChangedAt.IsZero() {
		return 0
	}
	return max(0, s.ChangedAt.Add(SettleTime).Sub(now))
}

// Advance returns the state after a step forward: a greater percentage of the same stage, or the next stage. It returns
// a Conflict error that says what is missing where data could be lost.
func (s State) Advance(to Stage, percent int, now time.Time) (State, error) {
	if percent < 1 || percent > 100 {
		return s, fault.InvalidField("percent", "must be 1 to 100")
	}
	switch {
	case to == s.Stage && percent == s.Percent:
		return s, fault.Newf(fault.Conflict, "the stage is %s at %d%% already", s.Stage, s.Percent)
	case to == s.Stage && percent < s.Percent, to.rank() < s.Stage.rank():
		return s, fault.Newf(fault.Conflict, "the stage is %s at %d%%; use rollback to go back", s.Stage, s.Percent)
	case to.rank() > s.Stage.rank()+1:
		return s, fault.Newf(fault.Conflict, "the stage is %s and %s comes before %s; advance to it first",
			s.Stage, to.before(), to)
	case to != s.Stage && s.Percent < 100:
		return s, fault.Newf(fault.Conflict, "%s is at %d%% of the users; advance it to 100%% before %s",
			s.Stage, s.Percent, to)
	case to.rank() >= SharedRead.rank() && s.Backfilled < 100:
		return s, fault.Newf(fault.Conflict, "a backfill has to go through first that began when dual was at 100%%; "+
			"so far one has covered %d%% of the users", s.Backfilled)
	case to == Shared && s.Stage != Shared && !s.isVerified():
		return s, s.errNotVerified()
	}
	s.Stage, s.Percent = to, percent
	return s.changed(now), nil
}

// isVerified reports whether a verify found nothing that began after the last change.
func (s State) isVerified() bool { return s.VerifiedAt.After(s.ChangedAt) }

func (s State) errNotVerified() error {
	last := "there was none"
	if !s.VerifiedAt.IsZero() {
		last = fmt.Sprintf("the last one began at %s, and the stage was changed at %s",
			conversation.FormatTime(s.VerifiedAt), conversation.FormatTime(s.ChangedAt))
	}
	return fault.New(fault.Conflict,
		"a verify has to go through first that begins after the last change of the stage and finds nothing; "+last)
}

// Rollback returns the state after a step back: a smaller percentage of the same stage, or the stage before it at 100%.
// A backfill stays valid for the users who stay in dual or a later stage.
func (s State) Rollback(to Stage, percent int, now time.Time) (State, error) {
	if percent < 1 || percent > 100 {
		return s, fault.InvalidField("percent", "must be 1 to 100")
	}
	switch {
	case to.rank() > s.Stage.rank(), to == s.Stage && percent > s.Percent:
		return s, fault.Newf(fault.Conflict, "the stage is %s at %d%%; use advance to go forward", s.Stage, s.Percent)
	case to.rank() < s.Stage.rank()-1, to != s.Stage && percent < 100:
		return s, fault.Newf(fault.Conflict, "the stage is %s; go back to %s at 100%% first", s.Stage, s.Stage.before())
	case s.Cleaned:
		return s, fault.New(fault.Conflict, "the parked arrays were deleted by cleanup; there is no way back")
	}
	s.Stage, s.Percent = to, percent
	switch to {
	case Embedded:
		s.Backfilled = 0
	case Dual:
		s.Backfilled = min(s.Backfilled, percent)
	}
	return s.changed(now), nil
}

// CheckCleanup returns a Conflict error unless the parked arrays may be deleted.
func (s State) CheckCleanup() error {
	switch {
	case s.Stage != Shared || s.Percent < 100:
		return fault.Newf(fault.Conflict, "the stage is %s at %d%%; cleanup needs shared at 100%%", s.Stage, s.Percent)
	case !s.Cleaned && !s.isVerified():
		return s.errNotVerified()
	}
	return nil
}

func (s State) changed(now time.Time) State {
	s.ChangedAt = conversation.Milliseconds(now)
	s.Version++
	return s
}
