package extraction_test

import (
	"testing"
	"time"

	"github.com/throughline/throughline/internal/extraction"
	"github.com/throughline/throughline/internal/sweep"
	"github.com/throughline/throughline/internal/testing/check"
)

// sweepSkipped visits the skipped messages that are due, and returns how many visits and calls of the model that took.
func (p *poisoned) sweepSkipped(t *testing.T, store extraction.Store) (visits, calls int) {
	t.Helper()
	before := p.calls
	visits, err := p.stores.Sweep(t.Context(), sweep.Skipped, extraction.New(p.deps(store)), p.clock)
	check.OK(t, err)
	return visits, p.calls - before
}

// countSkipped counts the skipped messages in the due index, as the health does.
func (p *poisoned) countSkipped(t *testing.T) int {
	t.Helper()
	due, err := p.stores.Due.Due(t.Context(), sweep.Skipped.First, p.clock().Add(1000*time.Hour), nil, 10)
	check.OK(t, err)
	return len(due)
}

// TestSkippedMessageIsVisited has a session that nobody comes back to: its skipped message is due each week, is asked
// about again whatever the rules, and leaves the index when it is read.
func TestSkippedMessageIsVisited(t *testing.T) {
	t.Parallel()
	p := newPoisoned(t, "ann")
	p.bad["fact 1"] = badAnswers[0]
	p.say(t, "a", "fact 1", "fact 2")
	p.read(t, "a")
	older := olderPrompt{p.stores.Extraction}
	for _, step := range []struct {
		name          string
		after         time.Duration
		store         extraction.Store
		isMended      bool
		visits, calls int
		left          int
	}{
		{"at once", 0, older, false, 0, 0, 1},
		{"with the same rules", extraction.RetryAfter, p.stores.Extraction, false, 1, 1, 1},
		{"too early", extraction.RetryAfter - time.Hour, older, false, 0, 0, 1},
		{"with other rules that are of no use", time.Hour, older, false, 1, 1, 1},
		{"with the same rules, and a model that reads it", extraction.RetryAfter, p.stores.Extraction, true, 1, 1, 0},
		{"afterwards", extraction.RetryAfter, older, true, 0, 0, 0},
	} {
		if p.advance(step.after); step.isMended {
			delete(p.bad, "fact 1")
		}
		visits, calls := p.sweepSkipped(t, step.store)
		if left := p.countSkipped(t); visits != step.visits || calls != step.calls || left != step.left {
			t.Errorf("%s: %d visits, %d calls, %d left; want %+v", step.name, visits, calls, left, step)
		}
	}
	p.wantValid(t, "fact 1", "fact 2")
}

// TestSkippedMessageOfDeletedSession has the session deleted before its skipped message is due.
func TestSkippedMessageOfDeletedSession(t *testing.T) {
	t.Parallel()
	p := newPoisoned(t, "ann")
	p.readOther(t)
	p.bad["fact 1"] = badAnswers[0]
	p.say(t, "a", "fact 1")
	p.read(t, "a")
	if _, err := p.stores.Deletion.DeleteSession(t.Context(), p.user, "a", p.clock()); err != nil {
		t.Fatal(err)
	}
	p.advance(extraction.RetryAfter)
	if visits, _ := p.sweepSkipped(t, p.stores.Extraction); visits != 1 || p.countSkipped(t) != 0 {
		t.Errorf("%d visits, %d left", visits, p.countSkipped(t))
	}
}

// TestSkippedMessageThatCouldNotBeAskedAbout has its user without tokens when it is due: it is due again soon, and not
// only in a week.
func TestSkippedMessageThatCouldNotBeAskedAbout(t *testing.T) {
	t.Parallel()
	p := newPoisoned(t, "ann")
	p.readOther(t)
	p.bad["fact 1"] = badAnswers[0]
	p.say(t, "a", "fact 1")
	p.read(t, "a")
	delete(p.bad, "fact 1")
	p.advance(extraction.RetryAfter)
	p.quota.reset = p.clock().Add(time.Hour)
	if _, calls := p.sweepSkipped(t, p.stores.Extraction); calls != 0 {
		t.Errorf("%d calls without tokens", calls)
	}
	p.quota.reset = time.Time{}
	p.advance(2 * time.Hour)
	if _, calls := p.sweepSkipped(t, p.stores.Extraction); calls != 1 || p.countSkipped(t) != 0 {
		t.Errorf("two hours later: %d calls, %d left", calls, p.countSkipped(t))
	}
}
