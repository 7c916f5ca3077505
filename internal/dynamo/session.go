package dynamo

import (
	"context"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo/table"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/longterm"
)

const (
	sessionIDKind = "ses"
	// freshLife is how long after its creation a session is listed from the table. By then the index shows it.
	freshLife = 15 * time.Minute
)

// SessionReader reads single sessions, and what a user may access. It is safe for concurrent use.
type SessionReader struct{ db *DB }

// NewSessionReader returns what reads the sessions of a DB.
func NewSessionReader(db *DB) *SessionReader { return &SessionReader{db} }

// Session reads a session by its id alone, consistently, in one call. An id is in one context at most, so the keys of
// all contexts are asked for together. Where the cache knows the context, that key is asked for first.
func (r *SessionReader) Session(ctx context.Context, user conversation.UserID, id string,
) (conversation.Session, error) {
	if !conversation.ValidID(id) {
		return conversation.Session{}, fault.Missing("session")
	}
	if cached, ok := r.db.cache.session(user, id); ok {
		session, err := r.SessionIn(ctx, user, cached.Context, id)
		if !fault.Is(err, fault.NotFound) {
			return session, err
		}
		r.db.cache.removeSession(user, id)
	}
	return r.sessionAt(ctx, user, table.SessionKeys(user, id)...)
}

// SessionIn reads a session of a known context, consistently.
func (r *SessionReader) SessionIn(ctx context.Context, user conversation.UserID, context, id string,
) (conversation.Session, error) {
	sk, ok := table.SessionSK(context, id)
	if !ok {
		return conversation.Session{}, fault.Missing("session")
	}
	return r.sessionAt(ctx, user, table.UserKey(user, sk))
}

// sessionAt returns the session that is at one of the keys.
func (r *SessionReader) sessionAt(ctx context.Context, user conversation.UserID, keys ...table.Key,
) (conversation.Session, error) {
	records, err := r.db.ReadCurrent(ctx, "read session", user, keys...)
	if err != nil {
		return conversation.Session{}, err
	}
	for _, k := range keys {
		if session, ok := r.db.Session(records, user, k); ok {
			r.db.cache.saveSession(user, session)
			return session, nil
		}
	}
	return conversation.Session{}, fault.Missing("session")
}

// record reads a session and its record, consistently.
func (r *SessionReader) record(ctx context.Context, user conversation.UserID, k table.Key,
) (conversation.Session, table.Item, error) {
	records, err := r.db.ReadCurrent(ctx, "read session", user, k)
	if err != nil {
		return conversation.Session{}, nil, err
	}
	session, ok := r.db.Session(records, user, k)
	if !ok {
		return session, nil, fault.Missing("session")
	}
	return session, records[k], nil
}

// Access reads the user's preferences and generation, consistently, in one call.
func (r *SessionReader) Access(ctx context.Context, user conversation.UserID) (longterm.Access, error) {
	records, err := r.db.ReadCurrent(ctx, "read preferences", user, preferencesKey(user))
	if err != nil {
		return longterm.Access{}, err
	}
	return r.access(ctx, records, user)
}

// Open reads a session of a known context together with the user's preferences and generation, consistently, in one
// call.
func (r *SessionReader) Open(ctx context.Context, user conversation.UserID, context, sessionID string,
) (conversation.Session, longterm.Access, error) {
	sk, ok := table.SessionSK(context, sessionID)
	if !ok {
		return conversation.Session{}, longterm.Access{}, fault.Missing("session")
	}
	k := table.UserKey(user, sk)
	records, err := r.db.ReadCurrent(ctx, "open session", user, k, preferencesKey(user))
	if err != nil {
		return conversation.Session{}, longterm.Access{}, err
	}
	session, ok := r.db.Session(records, user, k)
	if !ok {
		return conversation.Session{}, longterm.Access{}, fault.Missing("session")
	}
	access, err := r.access(ctx, records, user)
	return session, access, err
}

func preferencesKey(user conversation.UserID) table.Key {
	return table.UserKey(user, table.PreferencesSK)
}

func (r *SessionReader) access(ctx context.Context, records table.RecordSet, user conversation.UserID,
) (longterm.Access, error) {
	a := accessIn(records, user)
	migrated, err := r.db.isMigrated(ctx, user)
	a.NotMigrated = !migrated
	return a, err
}

func accessIn(records table.RecordSet, user conversation.UserID) longterm.Access {
	a := longterm.Access{
		Preferences: longterm.DefaultPreferences(), Generation: records.Generation(user),
	}
	if it, ok := records.Current(user, preferencesKey(user)); ok {
		a.Preferences = decodePreferences(it)
	}
	return a
}

// SessionStore creates, lists and changes sessions. It is safe for concurrent use.
type SessionStore struct {
	*SessionReader
}

// NewSessionStore returns the sessions of a DB.
func NewSessionStore(db *DB) *SessionStore { return &SessionStore{NewSessionReader(db)} }

// UpdateSession changes a session. When another writer came first, it applies the change to the session as that writer
// left it. A session falls due when it is completed or when its summary no longer agrees with its attributes, so that
// the sweep writes its summary even when the stream's record of the change is lost.
func (s *SessionStore) UpdateSession(ctx context.Context, user conversation.UserID, id string,
	change conversation.SessionChange,
) (after conversation.Session, err error) {
	const op = "update session"
	err = s.db.Retry(ctx, op, func(ctx context.Context, b *table.Backoff) (bool, error) {
		before, err := s.Session(ctx, user, id)
		if err != nil {
			return false, err
		}
		if after, err = before.Edit(change, s.db.Now()); err != nil {
			return false, err
		}
		t, err := s.edit(user, before, after, change)
		if err != nil {
			return false, table.Failed(op, err)
		}
		failures, err := s.db.Commit(ctx, op, t, b)
		return failures == nil, err
	})
	if err != nil {
		return conversation.Session{}, err
	}
	if after.Adopted != nil {
		after = s.db.adoption.Edited(after, change)
	}
	s.db.cache.saveSession(user, after)
	return after, nil
}

// edit returns the transaction that changes a session.
func (s *SessionStore) edit(user conversation.UserID, before, after conversation.Session,
	change conversation.SessionChange,
) (*table.Transaction, error) {
	k := table.KeyOfSession(user, after)
	layout := table.LayoutOf(before)
	u := layout.SetOwn(table.Update{}, before, after, table.AttrVersion, table.AttrStatus, table.AttrMode,
		table.AttrTitle, table.AttrSessionCompletedAt)
	u, err := layout.SetAttributes(u, before, after, change.Attributes)
	if err != nil {
		return nil, err
	}
	if after.IsMigrated() {
		u = u.Set(table.AttrActiveAt, after.ListedAt()).Remove(table.AttrOrigin)
		u = dueAfter(s.db, u, user, before, after, false)
	}
	t := s.db.Transaction()
	t.Update(k, u, table.IsUnchanged(before))
	return t, nil
}

// LeaveSession records that the user navigated away. The stream brings the change to the summarizer. The version stays
// the same, because no append depends on it. The stream's filter lets a leave pass only where no time of one was there:
// where an edit has left something to do since an earlier leave, the time of that one is removed first. Of a session
// that is not migrated nothing is recorded: the write would cost what its array does, and the migration's action index
// makes it due for its summary in any case.
func (s *SessionStore) LeaveSession(ctx context.Context, user conversation.UserID, id string, at time.Time) error {
	session, err := s.Session(ctx, user, id)
	if err != nil {
		return err
	}
	if !session.IsMigrated() {
		return nil
	}
	if !session.LeftAt.IsZero() && session.Uncovered() {
		if err := s.db.updateSession(ctx, "leave session", user, session, table.Remove(table.AttrLeftAt)); err != nil {
			return err
		}
	}
	u := dueAfter(s.db, table.Set(table.AttrLeftAt, at).Remove(table.AttrOrigin), user, session, session,
		false)
	return s.db.updateSession(ctx, "leave session", user, session, u)
}

// updateSession changes a session's record on condition that it is still the same session. A session that is gone is a
// NotFound error.
func (db *DB) updateSession(ctx context.Context, op string, user conversation.UserID, session conversation.Session,
	u table.Update,
) error {
	_, err := db.UpdateItem(ctx, table.KeyOfSession(user, session), u, table.IsIncarnation(session))
	if _, gone := table.ConditionFailed(err); gone {
		return fault.Missing("session")
	}
	return table.Failed(op, err)
}
