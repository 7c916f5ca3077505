package summary_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/sweep"
	"github.com/throughline/throughline/internal/testing/check"
)

// inVain returns how often the stages of the work were visited without success.
func (f *fake) inVain(t *testing.T) map[string]int {
	t.Helper()
	all := check.Got(f.stores.Due.(interface {
		InVain(ctx context.Context) ([]sweep.InVain, error)
	}).InVain(t.Context()))(t)
	out := map[string]int{}
	for _, v := range all {
		if out[v.Stage] = v.Visits; v.Since.IsZero() || v.At.Before(v.Since) {
			t.Errorf("%+v has no times", v)
		}
	}
	return out
}

// TestStagesInVain has each stage of the work on sessions fail for all of them, visit after visit. It is named with the
// number of its visits, and no other one is, until it succeeds.
func TestStagesInVain(t *testing.T) {
	t.Parallel()
	down := fault.New(fault.Unavailable, "down")
	for name, tt := range map[string]struct {
		fail func(f *fake, err error)
		err  error
	}{
		sweep.Summarizing:         {func(f *fake, err error) { f.failModel = err }, down},
		"summarizing, the record": {func(f *fake, err error) { f.failModel = err }, errors.New("400")},
		sweep.Indexing:            {func(f *fake, err error) { f.failIx = err }, down},
		sweep.Extracting:          {func(f *fake, err error) { f.failExtract = err }, down},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake(t)
				tt.fail(f, tt.err)
				s := f.service()
				f.say("a", "one")
				f.say("b", "two")
				visits := 0
				for range 3 {
					time.Sleep(25 * time.Hour)
					visits += f.sweep(t, s).Visited
				}
				stage := name
				if slices.Contains([]string{"summarizing, the record"}, name) {
					stage = sweep.Summarizing
				}
				if diff := cmp.Diff(map[string]int{stage: visits}, f.inVain(t)); diff != "" || visits < 6 {
					t.Errorf("in vain after %d visits (-want +got)\n%s", visits, diff)
				}
				tt.fail(f, nil)
				time.Sleep(25 * time.Hour)
				f.sweep(t, s)
				if got := f.inVain(t); len(got) != 0 {
					t.Errorf("afterwards: %v", got)
				}
			})
		})
	}
}

// TestASummaryThatIsIndexedEndsWhatWasInVain has an index that is back, and the first session that is summarised then.
// Its messages are indexed already, as those of most sessions are, and the session that failed still waits.
func TestASummaryThatIsIndexedEndsWhatWasInVain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		s := f.service()
		f.failIx = fault.New(fault.Unavailable, "down")
		f.say("a", "one")
		time.Sleep(s.Idle)
		sweepDue(t, f, s, swept{Visited: 1, Failed: 1})
		f.failIx = nil
		f.say("b", "two")
		f.complete("b")
		check.OK(t, f.Repair(t.Context(), "ann", f.session("b")))
		f.fallDue("ann", "b", time.Now())
		sweepDue(t, f, s, swept{Visited: 1, Done: 1})
		if got := f.inVain(t); len(got) != 0 {
			t.Errorf("in vain although a summary was indexed: %v", got)
		}
	})
}
