package httpapi

import (
	"context"
	"maps"
	"slices"

	"github.com/throughline/throughline/internal/health"
	"github.com/throughline/throughline/internal/recall"
)

// operationsTag groups what concerns the whole stage in the document.
const operationsTag = "Operations"

// HealthReader reads how the background work of the stage is.
type HealthReader interface {
	Read(ctx context.Context) health.Report
}

// healthDoc is health.Report as the API shows it.
type healthDoc struct {
	Queues          []queueDoc           `json:"queues" doc:"What is overdue, which the sweep works on each minute."`
	DeadLetters     []deadLettersDoc     `json:"deadLetters" from:"-" doc:"Records of the stream that a function could not work on."`
	Migration       *migrationDoc        `json:"migration,omitempty" doc:"Absent where it could not be read."`
	OldestUncovered *timestamp           `json:"oldestUncovered,omitempty" doc:"Since when the oldest record waits that is overdue or was visited in vain."`
	InVain          []inVainDoc          `json:"inVain" doc:"The stages of the background work whose visits have had no success."`
	SkippedMessages *int                 `json:"skippedMessages,omitempty" from:"-" doc:"Not read for memories; 1,000 at most."`
	Degraded        []recall.Degradation `json:"degraded" from:"-" doc:"The parts that could not be read."`
}

type queueDoc struct {
	Name    string     `json:"name" doc:"sessions, deletions, records, spines, skipped or events."`
	Overdue int        `json:"overdue" doc:"Records that are due and that no worker has yet claimed."`
	More    bool       `json:"more" doc:"There are more than were counted."`
	Since   *timestamp `json:"since,omitempty" doc:"When the record fell due that waits longest."`
}

type inVainDoc struct {
	Stage  string    `json:"stage" doc:"summarizing, indexing, extracting, or the name of a queue."`
	Visits int       `json:"visits" doc:"How many visits of the sweep failed since the last success."`
	Since  timestamp `json:"since" doc:"When the first of the records that were visited fell due."`
}

type deadLettersDoc struct {
	Function string `json:"function" doc:"The function whose work it is."`
	Messages int    `json:"messages" doc:"In the function's dead-letter queue, approximately."`
}

// migrationDoc is how far the migration is. The migrate function has more of it.
type migrationDoc struct {
	Stage      string       `json:"stage" enum:"embedded,dual,shared-read,shared" doc:"The stage of the migration."`
	Percent    int          `json:"percent" doc:"Of the users who are in this stage."`
	Backfilled int          `json:"backfilled" doc:"The percentage of the users whose history the shared store has."`
	VerifiedAt string       `json:"verifiedAt,omitempty" doc:"When the last verify began that found no difference."`
	Cleaned    bool         `json:"cleaned" doc:"Whether the parked arrays have been deleted."`
	Progress   *progressDoc `json:"progress,omitempty" from:"-" doc:"Of the action that was last at work."`
}

type progressDoc struct {
	Action     string  `json:"action" doc:"backfill, verify, index, rollback or cleanup."`
	Done       bool    `json:"done" from:"-" doc:"Whether it is finished."`
	Percent    float64 `json:"percent" doc:"How much of the work is done, from 0 to 100."`
	PerSecond  float64 `json:"messagesPerSecond" doc:"The rate of the last minutes."`
	SecondLeft float64 `json:"secondsLeft" doc:"How long the rest takes at this rate."`
	Sessions   int     `json:"sessions" doc:"How many sessions have been worked on."`
	Messages   int     `json:"messages" doc:"How many messages have been worked on."`
	Problems   int     `json:"problems" doc:"Sessions that cannot be migrated or that differ."`
}

func (d *healthDoc) complete(r health.Report) {
	if !slices.Contains(r.Unread, health.QueuesPart) {
		d.SkippedMessages = &r.SkippedMessages
	}
	if d.InVain == nil {
		d.InVain = []inVainDoc{}
	}
	d.DeadLetters, d.Degraded = []deadLettersDoc{}, []recall.Degradation{}
	for _, name := range slices.Sorted(maps.Keys(r.DeadLetters)) {
		d.DeadLetters = append(d.DeadLetters, deadLettersDoc{name, r.DeadLetters[name]})
	}
	for _, part := range r.Unread {
		d.Degraded = append(d.Degraded, recall.Degradation{Source: string(part), Reason: "unavailable"})
	}
	if r.Migration != nil && r.Migration.Progress.Action != "" {
		p := shown[progressDoc](r.Migration.Progress)
		p.Done, d.Migration.Progress = r.Migration.Done, &p
	}
}

// registerHealth serves /v1/health.
func registerHealth(s *server, store HealthReader) {
	registerDoc(s, op("GET /v1/health", "getHealth", operationsTag, "Get the state of the background work",
		"Of the whole stage, not of one user: what is overdue, the dead letters, and how far the migration is. "+
			"A part that could not be read does not hide the others.",
	).forApp(), func(ctx context.Context, _ Caller, _ *noInput) (healthDoc, error) {
		return shown[healthDoc](store.Read(ctx)), nil
	})
}
