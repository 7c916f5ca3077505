package erasure

import (
	"context"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
)

// LedgerTime is how long the ledger keeps an entry: as long as a backup can bring back what was erased, and a week more
// for the restore itself.
const LedgerTime = DefaultBackups + 7*24*time.Hour

// Erased is an entry of the ledger: a user, a session or a message that was erased. It names them and holds nothing of
// what they said.
type Erased struct {
	User conversation.UserID
	// Generation is the user's since an erasure. It is 0 where a session or a message was deleted.
	Generation int64 `stored:"generation"`
	// SessionID is the deleted session, or that of the deleted message. CreatedAt distinguishes the session from others of
	// its id.
	SessionID string    `stored:"sessionId,omitempty"`
	CreatedAt time.Time `stored:"createdAt,omitempty"`
	// MessageID is the deleted message, or empty.
	MessageID string    `stored:"messageId,omitempty"`
	At        time.Time `stored:"erasedAt"`
}

// Ledger keeps what was erased, apart from the table, so that it can be erased again after the table was restored from
// a backup.
type Ledger interface {
	// RecordErased stores an entry. An entry that is there is replaced, unless it is of a later erasure.
	RecordErased(ctx context.Context, e Erased) error
}

// record stores an entry of the ledger. No erasure or deletion succeeds without it.
func (s *Service) record(ctx context.Context, e Erased) error {
	if s.Ledger == nil {
		return nil
	}
	e.At = s.Now()
	return s.Ledger.RecordErased(ctx, e)
}

// recordDeletion stores the entry of a deleted session, or those of deleted messages.
func (s *Service) recordDeletion(ctx context.Context, t Tombstone) error {
	switch {
	case t.Session != nil:
		return s.record(ctx, Erased{User: t.User, SessionID: t.Session.ID, CreatedAt: t.Session.CreatedAt})
	case t.Message != nil:
		for _, id := range append([]string{t.Message.ID}, t.Others...) {
			if err := s.record(ctx, Erased{User: t.User, SessionID: t.Message.SessionID, MessageID: id}); err != nil {
				return err
			}
		}
	}
	return nil
}

// Repeater erases again what a restored table has again. The table must have no other writer.
type Repeater struct {
	*Service
	// Session reads a session. It is NotFound where there is none.
	Session func(ctx context.Context, user conversation.UserID, id string) (conversation.Session, error)
}

// errNotDone says that an erasure needs another call.
var errNotDone = fault.New(fault.Unavailable, "the user is not erased yet")

// EraseAgain erases what an entry of the ledger names, where the table has it, and reports whether it had. A repeat
// goes on where a call ended.
func (r *Repeater) EraseAgain(ctx context.Context, e Erased, until time.Time) (bool, error) {
	switch {
	case e.MessageID != "":
		return found(r.DeleteMessage(ctx, e.User, e.SessionID, e.MessageID))
	case e.SessionID != "":
		session, err := r.Session(ctx, e.User, e.SessionID)
		if err != nil || !session.CreatedAt.Equal(e.CreatedAt) {
			return false, fault.IgnoreNotFound(err)
		}
		return found(r.DeleteSession(ctx, e.User, e.SessionID))
	}
	return r.eraseUser(ctx, e, until)
}

// eraseUser raises the user's generation to that of the entry, by as many erasures. It also drops the vectors of that
// generation: they are of what the user said after the erasure, which the backup does not have.
func (r *Repeater) eraseUser(ctx context.Context, e Erased, until time.Time) (again bool, err error) {
	for {
		p, err := r.Users.Erasure(ctx, e.User)
		if err = fault.IgnoreNotFound(err); err != nil {
			return again, err
		}
		if p.Generation >= e.Generation && p.Done {
			break
		}
		again = true
		receipt, err := r.Erase(ctx, e.User, until)
		if err != nil {
			return again, err
		}
		if !receipt.Done {
			return again, errNotDone
		}
	}
	if !again {
		return false, nil
	}
	_, err = r.Index.Drop(ctx, e.User, e.Generation)
	return true, err
}

// found reports whether what was deleted was there.
func found(err error) (bool, error) { return err == nil, fault.IgnoreNotFound(err) }
