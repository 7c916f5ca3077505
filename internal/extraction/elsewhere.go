package extraction

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
)

const (
	// maxElsewhere is how many other sessions are read before a wish to forget, maxBefore before what was said more than
	// oldAfter ago.
	maxElsewhere, maxBefore = 3, 12
	oldAfter                = 24 * time.Hour
)

// readElsewhere reads what the user has said in other sessions before and that is not read yet, where a window asks to
// forget something, or is old, as those of an import are: what it ends, it finds only among what is known. It reads
// sessions of the last wishMessages messages, while there is time: those before a wish from the newest on, and those
// before an old window from the oldest on. What others say is not reached by the wish. It returns what the user has
// said there, which the wish may mean though nothing is noted of it.
func (w *worker) readElsewhere(ctx context.Context, of window) (said []conversation.Message, err error) {
	isOld := w.Now().Sub(of.messages[0].Timestamp) > oldAfter
	isWish := hasWish(of.messages, 0)
	if w.effort.keepsLease || !isOld && !isWish {
		return nil, nil
	}
	page := conversation.Page{Limit: wishMessages, Descending: true}
	until := conversation.Range{To: of.messages[len(of.messages)-1].Timestamp}
	lately, _, err := w.Store.Timeline(ctx, w.user, until, page)
	if err != nil {
		return nil, err
	}
	if isWish && w.session.Reading.Tries == 0 {
		said = w.saidElsewhere(lately)
	}
	limit := maxElsewhere
	if isOld {
		limit = maxBefore
		slices.Reverse(lately)
	}
	seen := map[string]bool{w.session.ID: true}
	read := 0
	for _, m := range lately {
		if seen[m.SessionID] || read == limit || !hasTime(ctx) {
			continue
		}
		seen[m.SessionID] = true
		other := &worker{
			Service: w.Service, user: w.user, session: conversation.Session{ID: m.SessionID, Context: m.Context},
			lease: w.lease, effort: effort{batches: urgentBatches, keepsLease: true},
		}
		err := other.open(ctx)
		if err == nil {
			read++
			err = other.run(ctx)
		}
		if err = fault.IgnoreNotFound(err); err != nil && !errors.Is(err, errNotRead) {
			if isWish {
				return nil, err
			}
			w.Report(ctx, "read an older session", err) // it keeps no other from being read
		}
		w.lease = other.lease
	}
	if read > 0 && !hasTime(ctx) {
		return nil, errNotRead // the next visit has less to read
	}
	return said, nil
}

// saidElsewhere returns what the user says in other sessions that this one may see, of messages the newest first.
func (w *worker) saidElsewhere(lately []conversation.Message) (said []conversation.Message) {
	for _, m := range slices.Backward(lately) {
		if m.SessionID != w.session.ID && w.sees(m) && m.Role == conversation.RoleUser && m.IsRead() {
			said = append(said, m)
		}
	}
	return said
}

// sees reports whether a prompt of the session may tell a message.
func (w *worker) sees(m conversation.Message) bool {
	return m.SessionID == w.session.ID || w.prefs.Shares(w.session.Context, m.Context)
}

// wishesAfter returns those of the messages that ask to forget something and were said after a time, the newest 50.
func (w *worker) wishesAfter(ctx context.Context, ids []string, first time.Time,
) (out []conversation.Message, err error) {
	slices.Sort(ids)
	ids = slices.Compact(ids)
	hits, err := w.Store.Resolve(ctx, w.user, w.session.Generation, ids[max(0, len(ids)-wishMessages):])
	for _, h := range hits {
		m := h.Message
		if m != nil && w.sees(*m) && m.Role == conversation.RoleUser && m.Timestamp.After(first) &&
			conversation.AsksToForget(m.Content) {
			out = append(out, *m)
		}
	}
	return out, err
}
