package extraction_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/extraction"
)

// leaseCounter counts the attempts to get the lease.
type leaseCounter struct {
	extraction.Store
	attempts int
}

func (c *leaseCounter) LeaseExtraction(ctx context.Context, user conversation.UserID, s conversation.Session,
	l extraction.Lease,
) (bool, error) {
	c.attempts++
	return c.Store.LeaseExtraction(ctx, user, s, l)
}

// TestExtractNext reads one batch, or as many as it takes to read an urgent message, and does not wait for a worker of
// the same user.
func TestExtractNext(t *testing.T) {
	t.Parallel()
	e := newEcho(t)
	texts := make([]string, 60)
	for i := range texts {
		texts[i] = fmt.Sprint("fact ", i)
	}
	e.say(t, "a", texts[:30]...)
	e.more(t, "a", texts[30:]...)
	e.say(t, "b", "fact of b")
	next := func(want, calls int) {
		t.Helper()
		through, err := e.service().ExtractNext(t.Context(), e.user, appContext, "a")
		if through.Seq != want || err != nil {
			t.Errorf("read through %d, %v; want %d", through.Seq, err, want)
		}
		e.wantCalls(t, calls)
	}
	next(12, 1)
	e.while = func() {
		e.while = nil
		store := &leaseCounter{Store: e.stores.Extraction}
		through, err := extraction.New(e.deps(store)).ExtractNext(t.Context(), e.user, appContext, "b")
		if through.Seq != 0 || err != nil || store.attempts != 1 {
			t.Errorf("beside another worker: read through %d, %v, %d attempts", through.Seq, err, store.attempts)
		}
	}
	next(24, 2)
	e.more(t, "a", "my knee hurts, fact 60")
	next(60, 5) // the urgent message is the sweep's
	e.more(t, "a", "fact 61")
	next(62, 6)
	e.extract(t, "b")
}

// TestLongMessages reads messages of which no page holds the context of the next one.
func TestLongMessages(t *testing.T) {
	t.Parallel()
	e := newEcho(t)
	texts := make([]string, 8)
	for i := range texts {
		texts[i] = fmt.Sprint("fact ", i, strings.Repeat(" word", conversation.MaxContentBytes/6))
	}
	e.say(t, "a", texts[:4]...)
	e.more(t, "a", texts[4:]...)
	e.extract(t, "a")
	e.wantCalls(t, len(texts))
}
