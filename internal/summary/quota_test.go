package summary_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/llm"
	"github.com/throughline/throughline/internal/testing/check"
)

// fakeQuota is the quota of one user. reset is when there are tokens again.
type fakeQuota struct {
	reset time.Time
	mu    sync.Mutex
	spent []string
	fail  error
}

func (q *fakeQuota) Reset(context.Context, conversation.UserID) (time.Time, error) {
	if !q.reset.After(time.Now()) {
		return time.Time{}, q.fail
	}
	return q.reset, q.fail
}

func (q *fakeQuota) Spend(ctx context.Context, user conversation.UserID, generation int64, tokens int) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	q.spent = append(q.spent, fmt.Sprint(user, " ", generation, " ", tokens))
	return q.fail
}

// TestSummariesWaitForTheQuota triggers a summary of a user who has no tokens left. The model is not asked until there
// are new ones, and then for everything.
func TestSummariesWaitForTheQuota(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		s := f.service()
		f.quota.reset = time.Now().Add(5 * time.Hour)
		consume(t, s, f.say("s", "a", "b", "c", "d"))
		got := f.session("s")
		if f.calls != 0 || got.Summary == nil || got.Summary.Kind != conversation.Extractive || got.Summarized.Seq != 0 {
			t.Fatalf("%d model calls, session %+v", f.calls, got)
		}
		if f.session("s").DueAt.IsZero() {
			t.Error("the session is not due")
		}
		time.Sleep(5 * time.Hour)
		consume(t, s, f.say("s", "e", "f", "g", "h"))
		got = f.session("s")
		if f.calls != 1 || got.Summary.Kind != conversation.ByModel || got.Summarized.Seq != 8 {
			t.Errorf("%d model calls, session %+v", f.calls, got)
		}
		check.Equal(t, "[ann 1 70]", fmt.Sprint(f.quota.spent), "spent")
	})
}

// TestTheSweepWaitsForTheQuota has a session whose user has no tokens left, as the stream or the sweep finds. It is not
// visited again before there are new ones.
func TestTheSweepWaitsForTheQuota(t *testing.T) {
	t.Parallel()
	for name, texts := range map[string][]string{"by the stream": {"a", "b", "c", "d"}, "by the sweep": {"a"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFake(t)
				s := f.service()
				f.quota.reset = time.Now().Add(20 * time.Hour)
				consume(t, s, f.say("s", texts...))
				time.Sleep(15 * time.Minute)
				want := swept{}
				if len(texts) == 1 {
					want = swept{Visited: 1}
				}
				sweepDue(t, f, s, want)
				got := f.session("s")
				if late := f.session("s").DueAt.Sub(f.quota.reset); late < 0 || late > 15*time.Minute || f.calls != 0 {
					t.Errorf("due %v after the reset, %d model calls", late, f.calls)
				}
				if got.Summary == nil || got.Summary.Kind != conversation.Extractive {
					t.Errorf("session %+v, want a fallback summary", got)
				}
				time.Sleep(20 * time.Hour)
				sweepDue(t, f, s, swept{Visited: 1, Done: 1}) // it leaves the due index
				if got := f.session("s"); f.calls != 1 || got.Summary.Kind != conversation.ByModel || len(f.due()) != 0 {
					t.Errorf("%d model calls, session %+v, due %v", f.calls, got, f.due())
				}
			})
		})
	}
}

// useless answers with what is no summary, at a price.
type useless struct{ err error }

// errLate has the answer come when the time for it is over.
var errLate = errors.New("late")

func (u useless) Complete(ctx context.Context, _ llm.Request) (llm.Completion, error) {
	if errors.Is(u.err, errLate) {
		<-ctx.Done()
	}
	return llm.Completion{Text: "{", Usage: llm.Usage{TotalTokens: 900}}, u.err
}

func TestUselessAnswersAreCounted(t *testing.T) {
	t.Parallel()
	for name, failure := range map[string]error{
		"not JSON": nil, "no room": fault.New(fault.Unavailable, "the model spent its tokens"), "late": errLate,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFake(t)
				s := f.service()
				s.Model = useless{failure}
				consume(t, s, f.say("s", "a", "b", "c", "d"))
				check.Equal(t, "[ann 1 900]", fmt.Sprint(f.quota.spent), "spent")
			})
		})
	}
}

func TestAnAnswerIsKeptWhenItsTokensCannotBeCounted(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	s := f.service()
	change := f.say("s", "a", "b", "c", "d")
	s.Model = counting{f}
	consume(t, s, change)
	if got := f.session("s"); got.Summary == nil || got.Summary.Kind != conversation.ByModel || len(f.reported) != 1 {
		t.Errorf("reported %v, session %+v", f.reported, got)
	}
}

// counting is a model whose tokens cannot be counted.
type counting struct{ *fake }

func (c counting) Complete(ctx context.Context, r llm.Request) (llm.Completion, error) {
	c.quota.fail = errors.New("the store is down")
	return c.fake.Complete(ctx, r)
}
