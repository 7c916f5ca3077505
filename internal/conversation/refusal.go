package conversation

import (
	"time"

	"github.com/throughline/throughline/internal/fault"
)

// IdempotencyLife is how long a repeat with the same key is recognised.
const IdempotencyLife = 24 * time.Hour

// MaxRetryAfter bounds how long a repeat is told to wait for a running turn. Most turns end before their leases do.
const MaxRetryAfter = 2 * time.Second

// The stores refuse with the same errors.

// CheckBody returns an IdempotencyMismatch error unless the first call of the key had a body of that hash.
func (i Idempotency) CheckBody(hash string) error {
	if i.BodyHash != hash {
		return fault.New(fault.IdempotencyMismatch, "this idempotency key was used with another request body")
	}
	return nil
}

// InLaterSession is the Conflict of a repeat whose session is a later one of the same id. It has nothing of what the
// first call stored, and the repeat must not bring that back.
func InLaterSession() error {
	return fault.New(fault.Conflict, "the session that this idempotency key was used for was deleted, with the messages; "+
		"this session was created later under its id and has none of them: to store them here, send another key")
}

// SessionExists is the Conflict of a session that is there already.
func SessionExists() error { return fault.New(fault.Conflict, "a session of this id exists") }

// MessageExists is the Conflict of a message that a turn may not have stored before.
func MessageExists(clientMessageID string) error {
	return fault.Newf(fault.Conflict, "a message with the clientMessageId %q is stored already", clientMessageID)
}

// ReplacementExists is the same of a message in a truncation's replacement.
func ReplacementExists(at int) error {
	return fault.Newf(fault.Conflict,
		"replacement[%d]: a message with this clientMessageId was stored before: send another id", at)
}

// TurnRuns is the Conflict of a repeat while the first request has that much of its lease left.
func TurnRuns(left time.Duration) error {
	f := fault.New(fault.Conflict, "the first request with this idempotency key still runs")
	f.RetryAfter = min(left, MaxRetryAfter)
	return f
}

// TurnTaken is the Conflict of a request whose turn another one has.
func TurnTaken() error { return fault.New(fault.Conflict, "another request has taken this turn over") }

// TurnReplaced is the Conflict of a turn whose message was deleted, or whose place another turn has taken.
func TurnReplaced() error {
	return fault.New(fault.Conflict, "the message of this turn was deleted, or another turn has taken its place: its "+
		"answer is not stored")
}

// NextDay is when the day of a time ends, in UTC. A user has new tokens then.
func NextDay(now time.Time) time.Time { return now.UTC().Truncate(24 * time.Hour).Add(24 * time.Hour) }

// QuotaSpent is the RateLimited error of a user who has no tokens left today.
func QuotaSpent(now time.Time) error {
	f := fault.New(fault.RateLimited, "today's tokens of this user are spent; there are new ones at 00:00 UTC")
	f.RetryAfter = NextDay(now).Sub(now)
	return f
}
