package summary_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/testing/check"
)

type changes = []conversation.Change

// TestWhenSessionsAreRead checks what makes a session be read for memories: it comes to rest, or a message is urgent.
func TestWhenSessionsAreRead(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		do   func(*fake) changes
		want int
	}{
		"a message":     {func(f *fake) changes { return changes{f.say("s", "hi")} }, 0},
		"many messages": {func(f *fake) changes { return changes{f.say("s", "a", "b", "c", "d")} }, 0},
		"an urgent one": {func(f *fake) changes { return changes{f.say("s", "I'm allergic to nuts")} }, 1},
		"another message": {func(f *fake) changes {
			f.say("s", "I'm allergic")
			return changes{f.say("s", "b")}
		}, 0},
		"completed": {func(f *fake) changes { f.say("s", "a"); return changes{f.complete("s")} }, 1},
		"left":      {func(f *fake) changes { f.say("s", "a"); return changes{f.leave("s")} }, 1},
		"moved on": {func(f *fake) changes {
			return changes{f.say("s", "a"), f.say("t", "b")}
		}, 1},
		"only the system": {func(f *fake) changes { f.say("s", "system:a"); return changes{f.leave("s")} }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			consume(t, f.service(), tt.do(f)...)
			if f.extracted["s"] != tt.want {
				t.Errorf("read %d times, want %d", f.extracted["s"], tt.want)
			}
		})
	}
}

// TestTheSweepReadsSessions checks that an idle session is read, that an urgent message is not left until then, that a
// session stays due until it is read, and that a failure makes it wait.
func TestTheSweepReadsSessions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		s := f.service()
		f.say("s", "I'm allergic to nuts")
		f.fallDue("ann", "s", time.Now())
		sweepDue(t, f, s, swept{Visited: 1})
		if f.extracted["s"] != 1 || f.calls != 0 {
			t.Errorf("a session with an urgent message is read %d times, and summarised %d times", f.extracted["s"], f.calls)
		}
		f.say("s", "thanks")
		f.keepsUnread = true
		time.Sleep(time.Until(f.session("s").DueAt) + time.Minute)
		sweepDue(t, f, s, swept{Visited: 1})
		if f.extracted["s"] != 2 || f.calls != 1 || !f.session("s").DueAt.After(time.Now()) {
			t.Errorf("read %d times, summarised %d times, due at %v", f.extracted["s"], f.calls, f.session("s").DueAt)
		}
		f.keepsUnread, f.failExtract = false, errDown
		time.Sleep(time.Until(f.session("s").DueAt))
		sweepDue(t, f, s, swept{Visited: 1, Failed: 1})
		f.failExtract = nil
		time.Sleep(time.Until(f.session("s").DueAt))
		sweepDue(t, f, s, swept{Visited: 1, Done: 1})
		if f.calls != 1 {
			t.Errorf("%d model calls for one summary", f.calls)
		}
	})
}

// TestWhatIsDeferredIsTheNextSweeps has sessions that come to rest while the model answers patient questions late. The
// stream writes their summaries, and the next sweep reads them for memories. What is urgent is read at once.
func TestWhatIsDeferredIsTheNextSweeps(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		do    func(*fake) changes
		early int // readings by the stream
	}{
		"completed":     {func(f *fake) changes { f.say("s", "a"); return changes{f.complete("s")} }, 0},
		"left":          {func(f *fake) changes { f.say("s", "a"); return changes{f.leave("s")} }, 0},
		"moved on":      {func(f *fake) changes { return changes{f.say("s", "a"), f.say("t", "b")} }, 0},
		"an urgent one": {func(f *fake) changes { return changes{f.say("s", "I'm allergic to nuts"), f.leave("s")} }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFake(t)
				s := f.service()
				s.Defers = true
				f.delay = time.Second
				consume(t, s, tt.do(f)...)
				if got := f.session("s"); got.Summary == nil || f.extracted["s"] != tt.early || slices.Contains(f.patient, true) {
					t.Errorf("read %d times, asked patiently %v, and the session is %+v", f.extracted["s"], f.patient, got)
				}
				time.Sleep(time.Minute)
				f.sweep(t, s)
				if got := f.session("s"); f.extracted["s"] != 1 || got.NeedsExtraction() || tt.early == 0 && !got.DueAt.IsZero() {
					t.Errorf("after a sweep it is read %d times, due at %v", f.extracted["s"], got.DueAt)
				}
			})
		})
	}
}

// TestTheSweepAsksPatiently has a session that falls due, and a model that answers patient questions late. There is a
// summary within the time that is promised, with one call of the model, and no fallback before the model had its time.
func TestTheSweepAsksPatiently(t *testing.T) {
	t.Parallel()
	for _, delay := range []time.Duration{16 * time.Second, 30 * time.Second, 36 * time.Second} {
		t.Run(delay.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFake(t)
				f.say("s", "a", "b")
				f.delay = delay
				time.Sleep(15*time.Minute + time.Second)
				began := time.Now()
				f.sweep(t, f.service())
				first := f.saved[0]
				isFallback := first.Kind == conversation.Extractive
				if isFallback != (delay > 17500*time.Millisecond) || f.usable.Sub(began) > 30*time.Second {
					t.Errorf("the first summary is %s, after %v", first.Kind, f.usable.Sub(began))
				}
				check.Equal(t, (delay < 35*time.Second), f.session("s").Summary.Kind == conversation.ByModel,
					"the summary is the model's")
				check.Same(t, []bool{true}, f.patient, "asked patiently")
			})
		})
	}
}
