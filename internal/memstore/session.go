package memstore

import (
	"context"
	"slices"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/summary"
	"github.com/throughline/throughline/internal/sweep"
)

// SessionReader reads sessions, and what a user allows.
type SessionReader struct{ *DB }

// Session reads a session.
func (s SessionReader) Session(_ context.Context, user conversation.UserID, id string) (conversation.Session, error) {
	u, unlock := s.lock(user)
	defer unlock()
	if x, ok := u.session(id, nil); ok {
		return u.read(x), nil
	}
	return conversation.Session{}, fault.Missing("session")
}

// SessionIn reads a session of a context.
func (s SessionReader) SessionIn(ctx context.Context, user conversation.UserID, context, id string,
) (conversation.Session, error) {
	session, err := s.Session(ctx, user, id)
	if err == nil && session.Context != context {
		return conversation.Session{}, fault.Missing("session")
	}
	return session, err
}

// Access reads what a user allows.
func (s SessionReader) Access(_ context.Context, user conversation.UserID) (longterm.Access, error) {
	u, unlock := s.lock(user)
	defer unlock()
	return u.access(), nil
}

func (u *user) access() longterm.Access {
	a := longterm.Access{Preferences: longterm.DefaultPreferences(), Generation: u.generation}
	if u.preferences != nil {
		a.Preferences = copied(*u.preferences)
	}
	return a
}

// Open reads a session of a context with what its user allows.
func (s SessionReader) Open(ctx context.Context, user conversation.UserID, context, sessionID string,
) (conversation.Session, longterm.Access, error) {
	session, err := s.SessionIn(ctx, user, context, sessionID)
	if err != nil {
		return session, longterm.Access{}, err
	}
	access, err := s.Access(ctx, user)
	return session, access, err
}

// all returns copies of a user's sessions.
func (s SessionReader) all(user conversation.UserID) []conversation.Session {
	u, unlock := s.lock(user)
	defer unlock()
	var out []conversation.Session
	for _, x := range u.sessions {
		out = append(out, u.read(x))
	}
	return out
}

// latestFirst is a list of sessions by their activity. It sorts by the time itself, which is finer than
// conversation.ActivityStep.
func latestFirst(name string) listing[conversation.Session] {
	return listing[conversation.Session]{name: name, descending: true, key: func(s conversation.Session) string {
		at := s.LastActiveAt()
		if at.IsZero() {
			at = s.CreatedAt
		}
		return conversation.FormatTime(at) + "/" + s.ID
	}}
}

// RecentSessions lists the sessions of some contexts with a message since a time.
func (s SessionReader) RecentSessions(_ context.Context, user conversation.UserID, recent conversation.RecentSessions,
	page conversation.Page,
) ([]conversation.Session, conversation.Position, error) {
	l := latestFirst("recent sessions")
	l.picks = func(x conversation.Session) bool {
		isWanted := len(recent.Contexts) == 0 || slices.Contains(recent.Contexts, x.Context)
		return isWanted && x.HasContent() && !x.LastActiveAt().Before(recent.Since)
	}
	return l.page(s.all(user), page)
}

// CoachSessions lists the sessions with a coach. It asks Allows without the lock: the caller may read the store then.
func (s SessionReader) CoachSessions(ctx context.Context, user conversation.UserID, of conversation.CoachSessions,
	page conversation.Page,
) (sessions []conversation.Session, next conversation.Position, err error) {
	l := latestFirst("sessions of a coach")
	l.picks = func(x conversation.Session) bool {
		if x.CoachID != of.CoachID || x.ID == of.Except || !x.HasContent() || err != nil {
			return false
		}
		if of.Allows == nil {
			return true
		}
		var allowed bool
		allowed, err = of.Allows(ctx, x.Context)
		return allowed && err == nil
	}
	sessions, next, pageErr := l.page(s.all(user), page)
	if err == nil {
		err = pageErr
	}
	if err != nil {
		return nil, "", err
	}
	return sessions, next, nil
}

// Sessions creates, lists and changes sessions.
type Sessions struct{ SessionReader }

var _ conversation.SessionStore = Sessions{}

// CreateSession stores a new session.
func (s Sessions) CreateSession(_ context.Context, user conversation.UserID, in conversation.NewSession,
	idem conversation.Idempotency,
) (conversation.Created, error) {
	in, err := in.Prepare()
	if err != nil {
		return conversation.Created{}, err
	}
	u, unlock := s.lock(user)
	defer unlock()
	now := s.clock()
	first, err := u.callOf(idem, now)
	if err != nil {
		return conversation.Created{}, err
	}
	if first != nil {
		return conversation.Created{Session: copied(first.created), Replayed: true}, nil
	}
	id := in.ID
	if id == "" {
		id = s.newID("ses", now)
	}
	if _, exists := u.sessions[id]; exists {
		return conversation.Created{}, conversation.SessionExists()
	}
	created := copied(in).Session(id, now)
	created.Generation = u.generation
	u.sessions[id] = &session{Session: created}
	u.remember(idem, now, &call{created: created})
	return conversation.Created{Session: copied(created)}, nil
}

// Sessions lists sessions by their activity.
func (s Sessions) Sessions(_ context.Context, user conversation.UserID, filter conversation.SessionFilter,
	page conversation.Page,
) ([]conversation.Session, conversation.Position, error) {
	l := latestFirst("sessions")
	l.picks = func(x conversation.Session) bool {
		return (filter.Status == "" || x.Status == filter.Status) && (filter.Context == "" || x.Context == filter.Context)
	}
	return l.page(s.all(user), page)
}

// UpdateSession changes a session.
func (s Sessions) UpdateSession(_ context.Context, user conversation.UserID, id string,
	change conversation.SessionChange,
) (conversation.Session, error) {
	u, unlock := s.lock(user)
	defer unlock()
	x, ok := u.session(id, nil)
	if !ok {
		return conversation.Session{}, fault.Missing("session")
	}
	after, err := x.Edit(change, s.now())
	if err != nil {
		return conversation.Session{}, err
	}
	isCompletion := after.Status == conversation.Completed && x.Status != conversation.Completed
	x.Session = copied(after)
	if isCompletion && after.LastSeq > 0 || summary.IsOutdated(after) {
		u.setDueIfNone(sweep.Sessions, sessionDueID(id), s.dueAfterIdle())
	}
	return u.read(x), nil
}

// LeaveSession records that the user left a session.
func (s Sessions) LeaveSession(_ context.Context, user conversation.UserID, id string, at time.Time) error {
	u, unlock := s.lock(user)
	defer unlock()
	x, ok := u.session(id, nil)
	if !ok {
		return fault.Missing("session")
	}
	x.LeftAt = conversation.Milliseconds(at)
	return nil
}
