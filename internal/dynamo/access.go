package dynamo

import (
	"context"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/longterm"
)

// Access reads what decides what may be read: preferences and generation, consistently, in one call.
func (s *Store) Access(ctx context.Context, user conversation.UserID) (longterm.Access, error) {
	f, err := s.readOf(ctx, "read preferences", user, preferencesKey(user))
	if err != nil {
		return longterm.Access{}, err
	}
	return f.access(user), nil
}

// Open reads a session of a known context together with preferences and generation, consistently, in one call.
func (s *Store) Open(ctx context.Context, user conversation.UserID, context, sessionID string) (conversation.Session, longterm.Access, error) {
	sk, ok := sessionSK(context, sessionID)
	if !ok {
		return conversation.Session{}, longterm.Access{}, fault.Missing("session")
	}
	k := key{partition(user), sk}
	f, err := s.readOf(ctx, "open session", user, k, preferencesKey(user))
	if err != nil {
		return conversation.Session{}, longterm.Access{}, err
	}
	it, _ := f.of(user, k)
	session, ok := decodeSession(it)
	if !ok {
		return conversation.Session{}, longterm.Access{}, fault.Missing("session")
	}
	return session, f.access(user), nil
}

func preferencesKey(user conversation.UserID) key { return key{partition(user), preferencesSK} }

func (f found) access(user conversation.UserID) longterm.Access {
	a := longterm.Access{Preferences: longterm.DefaultPreferences(), Generation: f.generation(user)}
	if it, ok := f.of(user, preferencesKey(user)); ok {
		a.Preferences = decodePreferences(it)
	}
	return a
}
