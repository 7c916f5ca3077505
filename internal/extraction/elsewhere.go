package extraction

import (
	"context"
	"errors"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
)

// maxElsewhere is how many other sessions are read before a wish to forget.
const maxElsewhere = 3

// readElsewhere reads what the user has said in other sessions lately and that is not read yet, where a window asks to
// forget something: the wish may be about it, and finds it only among what is known. It reads maxElsewhere sessions of
// those of the last wishMessages messages, while there is time. What others say is not reached by the wish.
func (w *worker) readElsewhere(ctx context.Context, of window) error {
	if w.effort.keepsLease || !hasWish(of.messages, 0) {
		return nil
	}
	page := conversation.Page{Limit: wishMessages, Descending: true}
	until := conversation.Range{To: of.messages[len(of.messages)-1].Timestamp}
	lately, _, err := w.Store.Timeline(ctx, w.user, until, page)
	if err != nil {
		return err
	}
	seen := map[string]bool{w.session.ID: true}
	read := 0
	for _, m := range lately {
		if seen[m.SessionID] || read == maxElsewhere || !hasTime(ctx) {
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
			return err
		}
		w.lease = other.lease
	}
	return nil
}
