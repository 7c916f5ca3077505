package dynamo

import (
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo/table"
)

// SessionWrite is how an append changes the record of a session.
type SessionWrite interface {
	// Before returns the session as it was read.
	Before() conversation.Session
	// After returns the session after the append, where Extend has counted its messages.
	After(extended conversation.Session, messages []conversation.NewMessage) conversation.Session
	// Update returns the update of the record, and the condition that it is as it was read. due is when the session falls
	// due, unless it is due already.
	Update(user conversation.UserID, after conversation.Session, messages []conversation.Message, due time.Time,
	) (table.Update, table.Condition, error)
}

// PlainWrite is the write of a session whose counters are at the top of its record.
func PlainWrite(s conversation.Session) SessionWrite { return plainWrite{s} }

type plainWrite struct{ session conversation.Session }

func (w plainWrite) Before() conversation.Session { return w.session }

func (plainWrite) After(s conversation.Session, messages []conversation.NewMessage) conversation.Session {
	s.Summary, s.LeftAt = nil, time.Time{}
	return s.Reopen(messages)
}

// Update implements SessionWrite.
func (w plainWrite) Update(user conversation.UserID, after conversation.Session, _ []conversation.Message,
	due time.Time,
) (table.Update, table.Condition, error) {
	u := comesBack(table.SetCounters(user, after), w.session, after)
	return u.SetDueIfNone(table.KeyOfSession(user, after), due), table.IsUnchanged(w.session), nil
}

// comesBack says that the user is back in a session, which reopens it. The stream's filter lets a leave pass only where
// no time of one was there.
func comesBack(u table.Update, before, after conversation.Session) table.Update {
	u = u.Remove(table.AttrLeftAt)
	if after.Status != before.Status {
		u = table.LayoutOf(before).SetOwn(u, before, after, table.AttrStatus, table.AttrSessionCompletedAt)
	}
	return u
}
