package migration

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/parallel"
)

// Service carries out the actions of a migration. It is safe for concurrent use.
type Service struct {
	Table Table
	Now   func() time.Time
	Sleep func(context.Context, time.Duration) error
	// Report gets every record that cannot be migrated or differs. Answers list the first ones.
	Report func(ctx context.Context, a Action, m Mismatch)
}

// Reserve is the time before a deadline at which a run hands over: the longest that one session takes.
const Reserve = 30 * time.Second

// stageCheck is how long a run uses the stage that it has read.
const stageCheck = time.Second

// maxMismatches bounds the list in an answer.
const maxMismatches = 100

// Run works on a segment until it is done or the time is over. The caller then calls again, with the checkpoint or
// without: how far it came is stored with the segment. A run that is killed goes on from the last page.
func (s *Service) Run(ctx context.Context, r Request) (Answer, error) {
	a := Action(r.Action)
	state, err := s.Table.State(ctx)
	if err == nil && a == Rollback {
		state, err = s.rollback(ctx, state, r)
	}
	if err == nil && !r.DryRun {
		err = check(a, state)
	}
	if err == nil && a == Cleanup {
		state, err = s.closeWayBack(ctx, state)
	}
	if err == nil {
		err = s.Sleep(ctx, state.Settled(s.Now()))
	}
	if err != nil {
		return Answer{}, err
	}
	items, err := s.Table.Items(ctx)
	if err != nil {
		return Answer{}, err
	}
	w := &worker{
		Service: s, state: state, stateAt: s.Now(), items: items, pace: pace{r.RateLimit, r.RateLimit}, ends: s.end(ctx),
	}
	if w.run, err = s.resume(ctx, state, a, r); err != nil {
		return Answer{}, err
	}
	err = w.work(ctx)
	if err == nil && w.run.Done && !r.DryRun {
		state, err = s.complete(ctx, a, r.segment())
	}
	if err != nil {
		return Answer{}, err
	}
	return w.answer(state), nil
}

// end returns when the run has to hand over, or the zero time.
func (s *Service) end(ctx context.Context) time.Time {
	deadline, ok := ctx.Deadline()
	if !ok {
		return time.Time{}
	}
	return deadline.Add(-min(Reserve, time.Until(deadline)/3))
}

// resume returns the run to go on with: that of the checkpoint, or the one that the segment was left with, or a new
// one.
func (s *Service) resume(ctx context.Context, state State, a Action, r Request) (Run, error) {
	now := conversation.Milliseconds(s.Now())
	fresh := Run{Action: a, Segment: r.segment(), ChangedAt: state.ChangedAt, BeganAt: now, DryRun: r.DryRun}
	if r.Checkpoint != "" {
		run, err := parseCheckpoint(r.Checkpoint, a, r.segment(), r.DryRun)
		if err == nil && !run.isOf(state) {
			return fresh, nil // what was done after the checkpoint was for another stage
		}
		return run, err
	}
	if r.DryRun {
		return fresh, nil
	}
	runs, err := s.Table.Runs(ctx, a)
	if err != nil {
		return Run{}, err
	}
	for _, run := range runs {
		if run.Segment == r.segment() && run.isOf(state) && !run.Done {
			return run, nil
		}
	}
	return fresh, nil
}

// complete notes in the state that all segments of an action are done.
func (s *Service) complete(ctx context.Context, a Action, segment Segment) (State, error) {
	for {
		state, err := s.Table.State(ctx)
		if err != nil {
			return state, err
		}
		runs, err := s.Table.Runs(ctx, a)
		if err != nil {
			return state, err
		}
		after, all := state, map[int]bool{}
		began, problems := s.Now(), 0
		for _, run := range runs {
			if run.Total == segment.Total && run.isOf(state) && run.Done {
				all[run.Number] = true
				problems += run.Counts.Problems
				if run.BeganAt.Before(began) {
					began = run.BeganAt
				}
			}
		}
		if len(all) < segment.Total {
			return state, nil
		}
		switch {
		case a == Backfill:
			after.Backfilled = 100
			if state.Stage == Dual {
				after.Backfilled = state.Percent
			}
		case a == Verify && problems == 0:
			after.VerifiedAt = began
		}
		if after == state {
			return state, nil
		}
		after.Version++
		if err = s.Table.Save(ctx, state, after); !fault.Is(err, fault.Conflict) {
			return after, err
		}
	}
}

// worker works on one segment.
type worker struct {
	*Service
	state      State
	items      int       // of the table
	stateAt    time.Time // when the state was last read
	run        Run
	pace       pace
	ends       time.Time
	mismatches []Mismatch
}

// work goes through the rest of the segment, page by page. How far it came is stored after each page and at the end.
func (w *worker) work(ctx context.Context) error {
	for !w.run.Done {
		began := w.Now()
		page, err := w.Table.Scan(ctx, w.run.Action, w.run.Segment, w.run.After)
		if err != nil {
			return err
		}
		if err := w.rest(ctx, Counts{Took: w.Now().Sub(began)}); err != nil {
			return err
		}
		left, err := w.page(ctx, page)
		if fault.Is(err, fault.Conflict) {
			return err // the segment may have a run of the new stage
		}
		if saveErr := w.save(ctx); err == nil {
			err = saveErr
		}
		if err != nil || left {
			return err
		}
	}
	return nil
}

func (w *worker) save(ctx context.Context) error {
	w.run.UpdatedAt = conversation.Milliseconds(w.Now())
	if w.run.DryRun {
		return nil
	}
	return w.Table.SaveRun(ctx, w.run)
}

// page works on a page, a few records at once. left is set where the time was over before its end.
func (w *worker) page(ctx context.Context, page Page) (left bool, err error) {
	for records := page.Records; len(records) > 0; {
		if err := w.checkStage(ctx); err != nil {
			return false, err
		}
		n := min(len(records), w.pace.workers())
		began := w.Now()
		done, err := w.some(ctx, records[:n])
		if err != nil {
			return false, err
		}
		done.Took = w.Now().Sub(began)
		if err := w.rest(ctx, done); err != nil {
			return false, err
		}
		last := records[n-1]
		if records = records[n:]; len(records) > 0 && w.isOver() {
			w.run.After = w.Table.PositionOf(last)
			return true, nil
		}
	}
	w.run.Counts.Items += page.Items
	w.run.After, w.run.Done = page.After, page.After == ""
	return w.isOver(), nil
}

// rest counts a part of the work and waits after it, at most until the run has to hand over.
func (w *worker) rest(ctx context.Context, done Counts) error {
	wait := w.pace.wait(done)
	if !w.ends.IsZero() {
		wait = min(wait, max(0, w.ends.Sub(w.Now())+1))
	}
	done.Took += wait
	w.run.Counts.add(done)
	return w.Sleep(ctx, wait)
}

// checkStage returns a Conflict error when an operator has changed the stage. The run would move sessions to where they
// should not be any more, and a rollback that has gone through would not take them back.
func (w *worker) checkStage(ctx context.Context) error {
	if w.Now().Sub(w.stateAt) < stageCheck {
		return nil
	}
	now, err := w.Table.State(ctx)
	if err != nil {
		return err
	}
	if w.stateAt = w.Now(); !w.run.isOf(now) && !w.run.DryRun {
		return fault.Newf(fault.Conflict, "the stage has become %s at %d%% meanwhile; begin %s again if it is still needed",
			now.Stage, now.Percent, w.run.Action)
	}
	return nil
}

func (w *worker) isOver() bool { return !w.ends.IsZero() && w.Now().After(w.ends) }

// some works on the records of several users at once. Those of one user follow each other, because every transaction of
// a move has a condition on the user's generation, and DynamoDB refuses transactions that meet at one record.
func (w *worker) some(ctx context.Context, records []Record) (done Counts, err error) {
	results := make([]result, len(records))
	ofUser := map[conversation.UserID][]int{}
	for i, r := range records {
		ofUser[r.User] = append(ofUser[r.User], i)
	}
	users := slices.Collect(maps.Values(ofUser))
	parallel.Each(len(users), len(users), func(u int) {
		for _, i := range users[u] {
			results[i] = w.one(ctx, records[i])
		}
	})
	for i, r := range results {
		done.add(r.counts)
		if r.reason != "" {
			done.Problems++
			m := Mismatch{UserID: records[i].User, SessionID: records[i].SessionID, Reason: r.reason}
			w.Report(ctx, w.run.Action, m)
			if len(w.mismatches) < maxMismatches {
				w.mismatches = append(w.mismatches, m)
			}
		}
	}
	for _, r := range results {
		if r.err != nil {
			return done, fmt.Errorf("%s of a session: %w", w.run.Action, r.err)
		}
	}
	return done, nil
}

// result is what the work on one record has come to. reason says what is wrong with the record.
type result struct {
	counts Counts
	reason string
	err    error
}

func (w *worker) one(ctx context.Context, r Record) result {
	to, needed := w.target(r)
	out := result{counts: Counts{Sessions: 1}}
	switch {
	case r.Problem != "":
		out.reason = r.Problem
		return out
	case !needed:
		return out
	case w.run.DryRun:
		if r.Check != nil {
			out.reason, _ = ReasonOf(r.Check())
		}
		if out.reason == "" {
			out.counts.add(forecastOf(r, to))
		}
		return out
	}
	work, err := w.Table.Do(ctx, w.run.Action, r, to)
	out.counts.add(Counts{Messages: work.Messages, Writes: work.Writes, Throttles: work.Throttles})
	if work.Writes > 0 {
		out.counts.Changed = 1
	}
	reason, isProblem := ReasonOf(err)
	switch {
	case isProblem:
		out.reason = reason
	case err != nil && !fault.Is(err, fault.NotFound):
		out.err = err
	}
	return out
}

// target returns where a record's session should be, and whether the action has anything to do with it.
func (w *worker) target(r Record) (to Placement, needed bool) {
	to = w.state.Of(r.User).Placement()
	if w.run.DryRun && w.state.Stage == Embedded {
		to = InBoth
	}
	switch w.run.Action {
	case Backfill:
		isThere := r.Placement == InStore // a dual one is compared with its array
		return to, to != InArray && rank(r.Placement) <= rank(to) && !isThere
	case Rollback:
		return to, rank(r.Placement) > rank(to)
	case Verify:
		return to, to != InArray
	case Index:
		return to, r.IsUncovered && w.state.IsMoved(r.User)
	}
	return to, r.Parked
}

func rank(p Placement) int {
	switch p {
	case InStore:
		return 2
	case InBoth:
		return 1
	}
	return 0
}
