package extraction_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/extraction"
	"github.com/throughline/throughline/internal/longterm"
)

// dyingStore ends its worker at a remote call, before it or after it. A worker that has ended makes no more calls.
type dyingStore struct {
	extraction.Store
	left  int
	after bool
}

func (d *dyingStore) call(run func() error) error {
	if d.left--; d.left < 0 || d.left == 0 && !d.after {
		d.left = min(d.left, 0)
		return errKilled
	}
	err := run()
	if d.left == 0 {
		return errKilled
	}
	return err
}

func (d *dyingStore) Open(ctx context.Context, user conversation.UserID, in, id string,
) (s conversation.Session, a longterm.Access, err error) {
	err = d.call(func() (err error) { s, a, err = d.Store.Open(ctx, user, in, id); return err })
	return s, a, err
}

func (d *dyingStore) MessagesAfter(ctx context.Context, user conversation.UserID, s conversation.Session,
	after conversation.Watermark, limit int,
) (m []conversation.Message, err error) {
	err = d.call(func() (err error) { m, err = d.Store.MessagesAfter(ctx, user, s, after, limit); return err })
	return m, err
}

func (d *dyingStore) Known(ctx context.Context, user conversation.UserID, generation int64, withPast bool,
) (k extraction.Known, err error) {
	err = d.call(func() (err error) { k, err = d.Store.Known(ctx, user, generation, withPast); return err })
	return k, err
}

func (d *dyingStore) LeaseExtraction(ctx context.Context, user conversation.UserID, s conversation.Session,
	l extraction.Lease,
) (held bool, err error) {
	err = d.call(func() (err error) { held, err = d.Store.LeaseExtraction(ctx, user, s, l); return err })
	return held, err
}

func (d *dyingStore) ReleaseExtraction(ctx context.Context, user conversation.UserID, l extraction.Lease) error {
	return d.call(func() error { return d.Store.ReleaseExtraction(ctx, user, l) })
}

func (d *dyingStore) SaveExtraction(ctx context.Context, user conversation.UserID, s conversation.Session,
	b extraction.Batch,
) (forgotten []string, err error) {
	err = d.call(func() (err error) { forgotten, err = d.Store.SaveExtraction(ctx, user, s, b); return err })
	return forgotten, err
}

// TestKilledAtAnyCall ends a worker before and after each of its remote calls. Another one that comes when the lease
// has lapsed finds the same end state, and the model is asked at most once more.
func TestKilledAtAnyCall(t *testing.T) {
	t.Parallel()
	for n := range 18 {
		e := &echo{fixture: newFixture(t, conversation.UserID(fmt.Sprint("u", n))), supersedes: "fact 1"}
		e.model = e
		e.say(t, "a", slices.Concat([]string{"fact 1"}, small(11), []string{"fact 5", "six"})...)
		d := &dyingStore{Store: e.stores.Extraction, left: n/2 + 1, after: n%2 == 1}
		_, err := extraction.New(e.deps(d)).Extract(t.Context(), e.user, appContext, "a")
		e.advance(2 * time.Minute)
		e.extract(t, "a")
		e.wantValid(t, "fact 5")
		if all := e.memories(t); len(all) != 2 {
			t.Errorf("killed at %d: %d memories", n, len(all))
		}
		if e.calls < 2 || e.calls > 3 || err == nil && e.calls > 2 {
			t.Errorf("killed at %d: %d model calls", n, e.calls)
		}
	}
}
