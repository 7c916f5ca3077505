package dynamo

import (
	"context"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo/table"
	"github.com/throughline/throughline/internal/fault"
)

// Adoption serves the sessions whose messages are in arrays of an app's own records (docs/adr/0059). The stores ask it
// about sessions that are adopted, and about the stage of the migration. A table without such records needs none.
type Adoption interface {
	AdoptedRecords
	AdoptedMessages
	AdoptedWrites
	AdoptionStage
	AdoptionLists
}

// AdoptedRecords reads and writes the records of adopted sessions.
type AdoptedRecords interface {
	// Session decodes a record at the key of a session that is not of the shared store. generation is the record of the
	// user's generation, nil where it was not read. ok is false where the record is no session, and where an unfinished
	// erasure has still to delete it.
	Session(record, generation table.Item) (s conversation.Session, ok bool)
	// Encode adds what the record of a new session has to have.
	Encode(record table.Item, user conversation.UserID, s conversation.Session)
	// Edited returns a session after an edit of its attributes, as the next reader decodes it.
	Edited(s conversation.Session, change conversation.SessionChange) conversation.Session
}

// AdoptedMessages reads and deletes the messages of adopted sessions.
type AdoptedMessages interface {
	// Messages returns a session as it is now, and those of its messages that are read from its array. It returns a
	// NotFound error for a session that is gone.
	Messages(ctx context.Context, user conversation.UserID, s conversation.Session,
	) (conversation.Session, []conversation.Message, error)
	// Array returns the messages of the array in a session's record.
	Array(record table.Item, s conversation.Session) []conversation.Message
	// Remove adds the removal of a message from the array to the update of the session, and the condition that the app has
	// not replaced the entry. before is the session as it was read, after the session without the message, which comes
	// back as its record then has it. It returns a NotFound error where the array has no such message.
	Remove(u table.Update, record table.Item, before, after conversation.Session, m conversation.Message,
	) (table.Update, table.Condition, conversation.Session, error)
}

// AdoptedWrites changes adopted sessions.
type AdoptedWrites interface {
	// Route returns how an append changes the record of a session. It moves the session first, where the stage of its user
	// says so.
	Route(ctx context.Context, user conversation.UserID, s conversation.Session) (SessionWrite, error)
	// Outgrown moves a session whose record would become too large with an append, and returns it as it is then. It
	// returns a TooLarge error for a session that cannot be moved.
	Outgrown(ctx context.Context, user conversation.UserID, s conversation.Session) (conversation.Session, error)
	// Spanning returns a session that is to be deleted with times that also span the messages that the store has of it.
	Spanning(ctx context.Context, user conversation.UserID, s conversation.Session) (conversation.Session, error)
}

// AdoptionStage is the stage of the migration. Its answers may be migration.SettleTime old.
type AdoptionStage interface {
	// Placed returns what a new session has as its Adopted, nil for one of the shared store.
	Placed(ctx context.Context, user conversation.UserID) (conversation.Adopted, error)
	// IsMigrated reports whether the shared store has the user's history.
	IsMigrated(ctx context.Context, user conversation.UserID) (bool, error)
	// IsInIndexes reports whether the indexes have all sessions of the user.
	IsInIndexes(ctx context.Context, user conversation.UserID) (bool, error)
}

// AdoptionLists is what reads of several records need.
type AdoptionLists interface {
	// Beside returns the key of a record to read beside others. ok is false while what is known of it is fresh.
	Beside(now time.Time) (k table.Key, ok bool)
	// Noted takes the records of a read that began at a time and that had that key.
	Noted(records table.RecordSet, began time.Time)
	// SizeInList returns the size of a session's record without what no list shows.
	SizeInList(record table.Item) int
}

// Session returns the session of a user's record, unless it is absent or of an earlier generation. The record of the
// generation has to be read too.
func (db *DB) Session(r table.RecordSet, user conversation.UserID, k table.Key) (conversation.Session, bool) {
	if it := r[k]; db.adoption != nil && it != nil && !table.IsOfSharedStore(it) {
		return db.adoption.Session(it, r[table.GenerationKey(user)])
	}
	it, _ := r.Current(user, k)
	return table.DecodeShared(it)
}

// DecodeSession decodes the record of a session of any generation. ok is false for records of other kinds.
func (db *DB) DecodeSession(it table.Item) (s conversation.Session, ok bool) {
	if db.adoption != nil && it != nil && !table.IsOfSharedStore(it) {
		return db.adoption.Session(it, nil)
	}
	return table.DecodeShared(it)
}

// message returns a message of a user by its sort key, from the shared store or from the array of an adopted session,
// and the session. The records of both have to be read.
func (db *DB) message(r table.RecordSet, user conversation.UserID, sessionSK, messageSK string,
) (m conversation.Message, s conversation.Session, ok bool) {
	sessionKey, k := table.UserKey(user, sessionSK), table.UserKey(user, messageSK)
	s, isSession := db.Session(r, user, sessionKey)
	if m, ok = table.DecodeMessage(r[k]); ok || !isSession || s.Adopted == nil {
		return m, s, ok
	}
	for _, m := range db.adoption.Array(r[sessionKey], s) {
		if sk, _ := table.ParseMessageID(user, m.ID); sk == messageSK {
			return m, s, true
		}
	}
	return m, s, false
}

// isMigrated reports whether the shared store has the user's history.
func (db *DB) isMigrated(ctx context.Context, user conversation.UserID) (bool, error) {
	if db.adoption == nil {
		return true, nil
	}
	return db.adoption.IsMigrated(ctx, user)
}

// sizeInList is the size of a session's record in a list.
func sizeInList(a Adoption, it table.Item, s conversation.Session) int {
	if s.Adopted == nil {
		return it.Size()
	}
	return a.SizeInList(it)
}

// adoptedMessage reads a message that is not in the shared store.
func (s *DeletionStore) adoptedMessage(ctx context.Context, user conversation.UserID, sessionID, messageSK string,
) (conversation.Message, error) {
	missing := fault.Missing("message")
	session, err := s.sessions.Session(ctx, user, sessionID)
	if fault.Is(err, fault.NotFound) || err == nil && session.Adopted == nil {
		return conversation.Message{}, missing
	}
	if err != nil {
		return conversation.Message{}, err
	}
	sk, _ := table.SessionSK(session.Context, session.ID)
	records, err := s.db.ReadCurrent(ctx, "read message", user,
		table.UserKey(user, sk), table.UserKey(user, messageSK))
	if err != nil {
		return conversation.Message{}, err
	}
	m, _, ok := s.db.message(records, user, sk, messageSK)
	if !ok {
		return conversation.Message{}, missing
	}
	return m, nil
}
