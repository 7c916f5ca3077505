package history

import (
	"fmt"
	"slices"
	"time"

	"github.com/throughline/throughline/internal/prompt/calendar"
)

// thread is the chain of sittings that the current message belongs to.
type thread struct {
	// active is set if a message was at most ThreadGap before the current one.
	active bool
	// partial is set if the thread may have begun before the messages that were read.
	partial bool
	// edge is its first message. last is the newest message with this coach before the current one. It is exact only if
	// the thread is not active, when the status names it.
	edge, last time.Time
	// conversations is how many sessions its sittings are of.
	conversations int
}

// ThreadBegan is the time of the thread's first message, or that of the current one.
func (h *History) ThreadBegan() time.Time { return h.thread.edge }

// Status describes the thread in a sentence.
func (h *History) Status() string {
	t := h.thread
	age := func(at time.Time) string { return calendar.Since(at, h.now, h.zone) }
	switch {
	case t.last.IsZero():
		return "This is the start of a new thread."
	case !t.active:
		return "This begins a new thread; the last message with you was " + age(t.last) + "."
	}
	of, began := "", " that began "
	if t.conversations > 1 {
		of = fmt.Sprintf(" of %d conversations", t.conversations)
	}
	if t.partial {
		began = " that began before the messages of "
	}
	return "This continues an active thread" + of + began + age(t.edge) + "."
}

// walk finds the thread: from the current message back, each sitting whose last message is at most ThreadGap before the
// first message of those found so far.
func (h *History) walk() {
	byLast := h.Sittings()
	slices.SortFunc(byLast, func(a, b *Sitting) int { return b.Last.Compare(a.Last) })
	t := thread{edge: h.now}
	conversations := map[string]bool{}
	for _, s := range byLast {
		if n := len(s.Messages); n > 0 && t.last.IsZero() {
			t.last = s.Messages[n-1].Timestamp
		}
		if t.edge.Sub(s.Last) > ThreadGap {
			continue
		}
		s.Tier, s.InThread = ThreadTier, true
		t.active = t.active || len(s.Messages) > 0
		t.partial = t.partial || s.Partial
		conversations[s.Session.ID] = true
		if s.First.Before(t.edge) {
			t.edge = s.First
		}
	}
	t.conversations = len(conversations)
	h.thread = t
}
