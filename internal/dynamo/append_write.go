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

// Update also says that the user is back: the stream's filter lets a leave pass only where no time of one was there.
func (w plainWrite) Update(user conversation.UserID, after conversation.Session, _ []conversation.Message,
	due time.Time,
) (table.Update, table.Condition, error) {
	u := table.SetCounters(user, after).Remove(table.AttrLeftAt).SetDueIfNone(table.KeyOfSession(user, after), due)
	if after.Status != w.session.Status {
		u = table.LayoutOf(w.session).SetOwn(u, w.session, after, table.AttrStatus, table.AttrSessionCompletedAt)
	}
	return u, table.IsUnchanged(w.session), nil
}
