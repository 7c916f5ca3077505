package memstore

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/longterm"
)

// Singleton keeps one kind of record of which a user has one.
type Singleton[T any] struct {
	*DB
	name string
	at   func(*records) **T
	// prepared returns a record as it is stored. fallback is what a user has before the first Put, nil where that is
	// NotFound.
	prepared func(T) T
	fallback func() T
}

var _ longterm.Singleton[longterm.Seed] = Singleton[longterm.Seed]{}

func unchanged[T any](v T) T { return v }

// Profiles returns the profiles of a DB.
func Profiles(db *DB) Singleton[longterm.Profile] {
	at := func(r *records) **longterm.Profile { return &r.profile }
	return Singleton[longterm.Profile]{db, "profile", at, unchanged[longterm.Profile], nil}
}

// Seeds returns the seeds of a DB.
func Seeds(db *DB) Singleton[longterm.Seed] {
	at := func(r *records) **longterm.Seed { return &r.seed }
	return Singleton[longterm.Seed]{db, "seed", at, unchanged[longterm.Seed], nil}
}

// Preferences returns the preferences of a DB.
func Preferences(db *DB) Singleton[longterm.Preferences] {
	at := func(r *records) **longterm.Preferences { return &r.preferences }
	prepared := func(p longterm.Preferences) longterm.Preferences {
		all := p.Unshared
		p.Unshared = nil
		for context, is := range all {
			if is {
				p.Separate(context)
			}
		}
		return p
	}
	return Singleton[longterm.Preferences]{db, "preferences", at, prepared, longterm.DefaultPreferences}
}

// Get returns the user's record.
func (s Singleton[T]) Get(_ context.Context, user conversation.UserID) (T, error) {
	u, unlock := s.lock(user)
	defer unlock()
	if v := *s.at(u.records); v != nil {
		return copied(*v), nil
	}
	var none T
	if s.fallback != nil {
		return s.fallback(), nil
	}
	return none, fault.Missing(s.name)
}

// Put replaces the user's record.
func (s Singleton[T]) Put(_ context.Context, user conversation.UserID, record T) (T, error) {
	u, unlock := s.lock(user)
	defer unlock()
	stored := copied(s.prepared(record))
	*s.at(u.records) = &stored
	return copied(stored), nil
}

// UserSummaries keeps user summaries: what the app has stored, and the remarks of spines.
type UserSummaries struct{ *DB }

var _ longterm.Singleton[longterm.UserSummary] = UserSummaries{}

// Get returns the app's user summary with the remarks of the spines.
func (s UserSummaries) Get(_ context.Context, user conversation.UserID) (longterm.UserSummary, error) {
	u, unlock := s.lock(user)
	defer unlock()
	var own longterm.UserSummary
	if u.userSummary != nil {
		own = *u.userSummary
	}
	all := own.With(slices.Collect(maps.Values(u.spines)))
	if u.userSummary == nil && all.IsEmpty() {
		return all, fault.Missing("user summary")
	}
	return copied(all), nil
}

// Put replaces the user summary, with the remarks that the spines have now.
func (s UserSummaries) Put(_ context.Context, user conversation.UserID, in longterm.UserSummary,
) (longterm.UserSummary, error) {
	u, unlock := s.lock(user)
	defer unlock()
	stored := copied(in)
	stored.StoredAt = s.clock()
	u.userSummary = &stored
	return copied(stored), nil
}

// Coaches keeps coaches.
type Coaches struct{ *DB }

var _ longterm.CoachStore = Coaches{}

// Coach returns one coach.
func (s Coaches) Coach(_ context.Context, user conversation.UserID, id string) (longterm.Coach, error) {
	u, unlock := s.lock(user)
	defer unlock()
	if c, ok := u.coaches[id]; ok {
		return c, nil
	}
	return longterm.Coach{}, fault.Missing("coach")
}

// Coaches lists coaches by id.
func (s Coaches) Coaches(_ context.Context, user conversation.UserID, page conversation.Page,
) ([]longterm.Coach, conversation.Position, error) {
	u, unlock := s.lock(user)
	defer unlock()
	l := listing[longterm.Coach]{
		name: "coaches", key: func(c longterm.Coach) string { return c.ID },
		size: func(c longterm.Coach) int { return sizeOfJSON(c) },
	}
	return l.page(slices.Collect(maps.Values(u.coaches)), page)
}

// PutCoach stores a coach.
func (s Coaches) PutCoach(_ context.Context, user conversation.UserID, c longterm.Coach) (longterm.Coach, error) {
	u, unlock := s.lock(user)
	defer unlock()
	size := func(c longterm.Coach) int { return sizeOfJSON(c) }
	if err := longterm.CheckCoach(c, slices.Collect(maps.Values(u.coaches)), size); err != nil {
		return longterm.Coach{}, err
	}
	u.coaches[c.ID] = c
	return c, nil
}

// DeleteCoach deletes a coach.
func (s Coaches) DeleteCoach(_ context.Context, user conversation.UserID, id string) error {
	u, unlock := s.lock(user)
	defer unlock()
	if _, ok := u.coaches[id]; !ok {
		return fault.Missing("coach")
	}
	delete(u.coaches, id)
	return nil
}

// LongTermReader reads all of a user's long-term memory.
type LongTermReader struct{ *DB }

// LongTerm returns the user's live records.
func (s LongTermReader) LongTerm(_ context.Context, user conversation.UserID) (longterm.Snapshot, error) {
	u, unlock := s.lock(user)
	defer unlock()
	now := s.now()
	snapshot := longterm.Snapshot{
		Profile: u.profile, Seed: u.seed, UserSummary: u.userSummary, Spines: u.spines, Coaches: u.coaches,
		Goals: u.goals.needed(goals, now), Memories: u.memories.needed(memories, now), Todos: u.todos.needed(todos, now),
	}
	if all := u.checkIns.needed(checkIns, now); len(all) > 0 {
		c := slices.MaxFunc(all, func(a, b longterm.CheckIn) int {
			return cmp.Or(a.Timestamp.Compare(b.Timestamp), cmp.Compare(b.ID, a.ID))
		})
		snapshot.LatestCheckIn = &c
	}
	return copied(snapshot), nil
}
