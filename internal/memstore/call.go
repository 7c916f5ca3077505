package memstore

import (
	"time"

	"github.com/throughline/throughline/internal/conversation"
)

// callKey names a call with an idempotency key.
type callKey struct{ scope, key string }

// call is a call with an idempotency key, and what a repeat is answered with: the session that was created, the record
// of long-term memory, the turn, or what was appended, in the place of deleted messages.
type call struct {
	bodyHash string
	expires  time.Time
	created  conversation.Session
	record   any
	turn     *turn
	appended conversation.Appended
	deleted  []string
}

// callOf returns the earlier call with that key, or nil where there is none. It returns an IdempotencyMismatch error
// where it had another body.
func (r *records) callOf(idem conversation.Idempotency, now time.Time) (*call, error) {
	c := r.calls[callKey{idem.Scope, idem.Key}]
	if !idem.Set() || c == nil || !c.expires.After(now) {
		return nil, nil //nolint:nilnil // no call is the usual answer
	}
	return c, idem.CheckBody(c.bodyHash)
}

// remember keeps a call for repeats, if it has a key.
func (r *records) remember(idem conversation.Idempotency, now time.Time, c *call) {
	if idem.Set() {
		c.bodyHash, c.expires = idem.BodyHash, now.Add(conversation.IdempotencyLife)
		r.calls[callKey{idem.Scope, idem.Key}] = c
	}
}

// replayAppend returns the answer of the first call. The title and attributes go with their session. It returns a
// Conflict error where another session has the id: it has nothing of what the first call stored.
func (r *records) replayAppend(c *call) (conversation.Appended, error) {
	out := copied(c.appended)
	out.Replayed = true
	now, ok := r.session(out.Session.ID, nil)
	switch {
	case !ok:
		out.Session.Title, out.Session.Attributes = "", nil
	case !now.CreatedAt.Equal(out.Session.CreatedAt):
		return conversation.Appended{}, conversation.InLaterSession()
	}
	return out, nil
}
