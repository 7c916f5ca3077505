package migration

import (
	"cmp"
	"context"
	"math"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
)

// Request is a direct invocation of the migrate function.
type Request struct {
	Action  string `json:"action"`
	To      string `json:"to,omitempty"`
	Percent int    `json:"percent,omitempty"`
	// Segment and TotalSegments name a part of the table. Without them an action covers the table.
	Segment       int    `json:"segment,omitempty"`
	TotalSegments int    `json:"totalSegments,omitempty"`
	Checkpoint    string `json:"checkpoint,omitempty"`
	// RateLimit is the number of messages a second, 0 for as many as the table bears.
	RateLimit float64 `json:"rateLimit,omitempty"`
	DryRun    bool    `json:"dryRun,omitempty"`
}

// maxSegments is DynamoDB's limit of a parallel scan.
const maxSegments = 1_000_000

// Prepare returns the request with its defaults. All wrong fields are in one Invalid error.
func (r Request) Prepare() (Request, error) {
	var wrong fault.Problems
	isRun, hasTo := false, false
	switch r.Action {
	case string(Rollback):
		isRun, hasTo = true, true
	case string(Backfill), string(Verify), string(Index), string(Cleanup):
		isRun = true
	case "advance":
		hasTo = true
	case "status", "preflight":
	default:
		wrong.Add("action", "must be preflight, status, advance, backfill, verify, index, rollback or cleanup")
	}
	r.Percent, r.TotalSegments = cmp.Or(r.Percent, 100), cmp.Or(r.TotalSegments, 1)
	wrong.If(r.Percent < 1 || r.Percent > 100, "percent", "must be 1 to 100")
	wrong.If(r.TotalSegments < 1 || r.TotalSegments > maxSegments, "totalSegments", "must be 1 to 1000000")
	wrong.If(r.Segment < 0 || r.Segment >= r.TotalSegments, "segment", "must be 0 to totalSegments - 1")
	wrong.If(!(r.RateLimit >= 0) || math.IsInf(r.RateLimit, 0), "rateLimit", "must be messages a second, or left out")
	wrong.If(r.DryRun && r.Action != string(Backfill), "dryRun", "works with backfill only")
	wrong.If(r.Checkpoint != "" && !isRun, "checkpoint", "works with backfill, verify, index, rollback and cleanup only")
	wrong.If(r.To != "" && !hasTo, "to", "works with advance and rollback only")
	wrong.If(r.To == "" && r.Action == string(Rollback), "to", "must name the stage to go back to")
	if len(wrong) == 0 && r.To != "" {
		_, err := ParseStage(r.To)
		return r, err
	}
	return r, wrong.Err()
}

func (r Request) segment() Segment { return Segment{r.Segment, r.TotalSegments} }

// Answer is the result of an action.
type Answer struct {
	Stage    Stage     `json:"stage"`
	Percent  int       `json:"percent"`
	Cleaned  bool      `json:"cleaned"`
	Segments []RunInfo `json:"segments"`
	Progress Progress  `json:"progress"`
	Forecast *Forecast `json:"forecast,omitempty"`
	// Mismatches are the first records that cannot be migrated or differ. All are in the log.
	Mismatches []Mismatch `json:"mismatches"`
	Done       bool       `json:"done"`
	Checkpoint string     `json:"checkpoint,omitempty"`
	// Backfilled is the percentage of the users whose history the shared store has, VerifiedAt when the last verify began
	// that covered the table and found nothing.
	Backfilled int    `json:"backfilled"`
	VerifiedAt string `json:"verifiedAt,omitempty"`
}

// RunInfo is how far a segment is.
type RunInfo struct {
	Action Action `json:"action"`
	Segment
	Done      bool   `json:"done"`
	Progress  Counts `json:"counts"`
	UpdatedAt string `json:"updatedAt"`
}

func (r Run) info() RunInfo {
	return RunInfo{r.Action, r.Segment, r.Done, r.Counts, conversation.FormatTime(r.UpdatedAt)}
}

// Progress is how far an action is: of one segment, or for a status of all segments of the action that was last at
// work.
type Progress struct {
	Action     Action  `json:"action,omitempty"`
	Items      int     `json:"items"`
	Sessions   int     `json:"sessions"`
	Changed    int     `json:"changed"`
	Messages   int     `json:"messages"`
	Writes     int     `json:"writes"`
	Problems   int     `json:"problems"`
	PerSecond  float64 `json:"messagesPerSecond"`
	Percent    float64 `json:"percent"`
	SecondLeft float64 `json:"secondsLeft"`
}

// Mismatch is a session that cannot be migrated or differs.
type Mismatch struct {
	UserID    conversation.UserID `json:"userId"`
	SessionID string              `json:"sessionId"`
	Reason    string              `json:"reason"`
}

// Status returns the stage and how far the actions are.
func (s *Service) Status(ctx context.Context) (Answer, error) {
	state, err := s.Table.State(ctx)
	if err != nil {
		return Answer{}, err
	}
	out := answerOf(state)
	var last Run
	var all []Run
	for _, a := range []Action{Backfill, Verify, Index, Rollback, Cleanup} {
		runs, err := s.Table.Runs(ctx, a)
		if err != nil {
			return Answer{}, err
		}
		for _, run := range runs {
			if run.UpdatedAt.After(last.UpdatedAt) {
				last = run
			}
		}
		all = append(all, runs...)
	}
	var sum Counts
	items, err := s.Table.Items(ctx)
	if err != nil {
		return Answer{}, err
	}
	out.Done = true
	done, slowest := 0, 0.0
	for _, run := range all {
		out.Segments = append(out.Segments, run.info())
		if run.Action != last.Action || run.Total != last.Total || !run.ChangedAt.Equal(last.ChangedAt) {
			continue
		}
		sum.add(run.Counts)
		out.Done = out.Done && run.Done
		if done++; !run.Done {
			slowest = max(slowest, progressOf(run, items).SecondLeft)
		}
	}
	out.Done = out.Done && done == last.Total
	last.Counts, last.Done, last.Total = sum, out.Done, 1
	out.Progress = progressOf(last, items)
	out.Progress.SecondLeft = slowest
	return out, nil
}

// Advance changes the stage. Without a stage it goes to the next one, or to a greater percentage of this one.
func (s *Service) Advance(ctx context.Context, r Request) (Answer, error) {
	state, err := s.Table.State(ctx)
	if err == nil {
		err = s.Sleep(ctx, state.Settled(s.Now()))
	}
	if err != nil {
		return Answer{}, err
	}
	to := Stage(r.To)
	if to == "" {
		to = state.Stage
		if state.Percent == 100 && to != Shared {
			to = stages[to.rank()+1]
		}
	}
	after, err := state.Advance(to, r.Percent, s.Now())
	if err != nil {
		return Answer{}, err
	}
	if err := s.Table.Save(ctx, state, after); err != nil {
		return Answer{}, err
	}
	out := answerOf(after)
	out.Done = true
	return out, nil
}

func answerOf(s State) Answer {
	out := Answer{
		Stage: s.Stage, Percent: s.Percent, Cleaned: s.Cleaned, Segments: []RunInfo{}, Mismatches: []Mismatch{},
		Backfilled: s.Backfilled,
	}
	if !s.VerifiedAt.IsZero() {
		out.VerifiedAt = conversation.FormatTime(s.VerifiedAt)
	}
	return out
}

// answer returns what a run has come to.
func (w *worker) answer(state State) Answer {
	run := w.run
	out := answerOf(state)
	out.Segments = append(out.Segments, run.info())
	out.Mismatches = append(out.Mismatches, w.mismatches...)
	out.Progress, out.Done = progressOf(run, w.items), run.Done
	if run.DryRun {
		out.Forecast = forecast(run.Counts, w.pace.limit)
	}
	if !run.Done {
		out.Checkpoint = run.checkpoint()
	}
	return out
}

// progressOf returns the progress of a run in a table of that many records. The percentage is of the records when the
// table was last counted, which is every six hours.
func progressOf(r Run, items int) Progress {
	c := r.Counts
	p := Progress{
		Action: r.Action, Items: c.Items, Sessions: c.Sessions, Changed: c.Changed, Messages: c.Messages, Writes: c.Writes,
		Problems: c.Problems, PerSecond: perSecond(c.Messages, c.Took),
	}
	if share := float64(items) / float64(max(1, r.Total)); share > 0 {
		p.Percent = min(99, 100*float64(c.Items)/share)
	}
	switch {
	case r.Done:
		p.Percent = 100
	case p.Percent > 0:
		p.SecondLeft = math.Round(c.Took.Seconds() * (100 - p.Percent) / p.Percent)
	}
	return p
}

func perSecond(n int, took time.Duration) float64 {
	if took <= 0 {
		return 0
	}
	return math.Round(10*float64(n)/took.Seconds()) / 10
}
