package adk

import (
	"iter"
	"maps"
	"slices"
	"sync"
	"time"

	"google.golang.org/adk/v2/session"
)

// Session is a session as it was read, with the events that were appended to it since.
type Session struct {
	id, app, user string

	mu      sync.RWMutex // guards what follows
	state   map[string]any
	events  []*session.Event
	updated time.Time
}

var _ session.Session = (*Session)(nil)

// ID returns the id that the app gave the session.
func (s *Session) ID() string { return s.id }

// AppName returns the name of the app.
func (s *Session) AppName() string { return s.app }

// UserID returns the user's id in the app.
func (s *Session) UserID() string { return s.user }

// State returns the state, of which Set changes the copy in this process only: what is to be stored is in an event.
func (s *Session) State() session.State { return (*state)(s) }

// Events returns the events, the oldest first.
func (s *Session) Events() session.Events {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return events(slices.Clone(s.events))
}

// LastUpdateTime returns the time of the last event.
func (s *Session) LastUpdateTime() time.Time {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.updated
}

// keep drops the events before the newest n, if n is not 0, and those before a time, if it is not zero.
func (s *Session) keep(n int, after time.Time) {
	if n > 0 {
		s.events = s.events[max(0, len(s.events)-n):]
	}
	if !after.IsZero() {
		s.events = slices.DeleteFunc(s.events, func(e *session.Event) bool { return e.Timestamp.Before(after) })
	}
}

// apply adds an event as it was stored. Its temporary state is in the session until it is read again.
func (s *Session) apply(event, stored *session.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.Copy(s.state, event.Actions.StateDelta)
	s.events, s.updated = append(s.events, stored), event.Timestamp
}

type state Session

// Get returns the value of a key, or session.ErrStateKeyNotExist.
func (s *state) Get(key string) (any, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	value, ok := s.state[key]
	if !ok {
		return nil, session.ErrStateKeyNotExist
	}
	return value, nil
}

// Set changes the copy in this process.
func (s *state) Set(key string, value any) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state[key] = value
	return nil
}

// All returns the keys and values in no order.
func (s *state) All() iter.Seq2[string, any] {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return maps.All(maps.Clone(s.state))
}

type events []*session.Event

// All returns the events in order.
func (e events) All() iter.Seq[*session.Event] { return slices.Values(e) }

// Len returns how many there are.
func (e events) Len() int { return len(e) }

// At returns the event at an index, or nil.
func (e events) At(i int) *session.Event {
	if i < 0 || i >= len(e) {
		return nil
	}
	return e[i]
}
