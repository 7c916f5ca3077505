package migration

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
)

// Action is what a run does with the records of the table.
type Action string

// The actions that go through the table.
const (
	// Backfill moves sessions to where their users' stage says, forward.
	Backfill Action = "backfill"
	// Verify compares arrays with the shared store, message for message.
	Verify Action = "verify"
	// Index makes sessions due, so that the sweep summarises and indexes their history.
	Index Action = "index"
	// Rollback moves sessions to where their users' stage says, back.
	Rollback Action = "rollback"
	// Cleanup deletes the parked arrays.
	Cleanup Action = "cleanup"
)

// Segment is a part of the table: one of Total, counted from 0. Segments can be worked on in parallel.
type Segment struct {
	Number int `json:"segment"`
	Total  int `json:"totalSegments"`
}

// Record is a record of the table that a scan has found.
type Record struct {
	User      conversation.UserID
	SessionID string
	// Key is the sort key.
	Key string
	// Problem says why the record cannot be a session. It is empty where it can.
	Problem string
	// Check returns an Unmovable error where the array of an embedded session has entries that cannot be messages. It is
	// nil for the other records.
	Check func() error
	// Parked says that the record is a parked array.
	Parked bool

	Placement Placement
	// Messages is how many messages only the array has. Bytes is the size of the record.
	Messages, Bytes int
	// IsUncovered says that the session has messages which nothing has made due.
	IsUncovered bool
}

// Page is a part of a scan. After is where the next one starts, empty at the end.
type Page struct {
	Records []Record
	// Items is how many records were read, those of other kinds included.
	Items int
	After string
}

// Table is what a run needs of the table. Its methods are safe for concurrent use.
type Table interface {
	StateStore
	RunStore
	Scanner
	Worker
}

// StateStore keeps the state of the migration.
type StateStore interface {
	State(ctx context.Context) (State, error)
	Save(ctx context.Context, before, after State) error
}

// RunStore keeps the runs of an action.
type RunStore interface {
	// Runs returns the runs of an action, as SaveRun stored them.
	Runs(ctx context.Context, a Action) ([]Run, error)
	SaveRun(ctx context.Context, r Run) error
}

// Scanner reads the records of the table.
type Scanner interface {
	// Items is how many records the table has, as far as it is known.
	Items(ctx context.Context) (int, error)
	// Scan reads a part of a segment. PositionOf returns where a scan starts that goes on after a record.
	Scan(ctx context.Context, a Action, s Segment, after string) (Page, error)
	PositionOf(r Record) string
}

// Worker carries out actions.
type Worker interface {
	// Do carries out an action for one record. to is the placement that a session should have. It returns an Unmovable
	// error for a problem of the record, and NotFound for one that is gone.
	Do(ctx context.Context, a Action, r Record, to Placement) (Work, error)
}

// Run is an action on a segment, as far as it has come.
type Run struct {
	Action Action `json:"action"`
	Segment
	// ChangedAt is the time of the state that the run began in. A run of another state does not count.
	ChangedAt time.Time `json:"changedAt"`
	BeganAt   time.Time `json:"beganAt"`
	UpdatedAt time.Time `json:"updatedAt"`
	After     string    `json:"after,omitempty"`
	Done      bool      `json:"done"`
	DryRun    bool      `json:"dryRun,omitempty"`
	Counts    Counts    `json:"counts"`
}

// Counts is what a run has done.
type Counts struct {
	// Items are records read, Sessions those of them that are sessions or parked arrays, and Changed the ones of these
	// that were changed.
	Items    int `json:"items"`
	Sessions int `json:"sessions"`
	Changed  int `json:"changed"`
	// Messages were written or compared, Writes records written.
	Messages  int `json:"messages"`
	Writes    int `json:"writes"`
	Throttles int `json:"throttles"`
	// Problems counts the records that are listed as mismatches.
	Problems int           `json:"problems"`
	Took     time.Duration `json:"took"`
	// WriteUnits and ReadUnits are, in a dry run, the capacity units that a backfill would take.
	WriteUnits float64 `json:"writeUnits,omitempty"`
	ReadUnits  float64 `json:"readUnits,omitempty"`
}

func (c *Counts) add(d Counts) {
	c.Items += d.Items
	c.Sessions += d.Sessions
	c.Changed += d.Changed
	c.Messages += d.Messages
	c.Writes += d.Writes
	c.Throttles += d.Throttles
	c.Problems += d.Problems
	c.Took += d.Took
	c.WriteUnits += d.WriteUnits
	c.ReadUnits += d.ReadUnits
}

// checkpoint returns the run as a text that resume reads.
func (r Run) checkpoint() string {
	text, err := json.Marshal(r)
	if err != nil {
		return "" // numbers, texts and times only
	}
	return base64.RawURLEncoding.EncodeToString(text)
}

// parseCheckpoint reads the text of a checkpoint for an action on a segment.
func parseCheckpoint(text string, a Action, s Segment, dryRun bool) (Run, error) {
	var r Run
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || json.Unmarshal(raw, &r) != nil || r.Action != a || r.Segment != s || r.DryRun != dryRun || r.Done {
		return Run{}, fault.InvalidField("checkpoint",
			"must be one that this action returned for this segment; leave it out to go on where the segment stopped")
	}
	return r, nil
}

// isOf reports whether the run belongs to the state.
func (r Run) isOf(s State) bool { return r.ChangedAt.Equal(s.ChangedAt) }
