package httpapi_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/httpapi"
	"github.com/throughline/throughline/internal/longterm"
)

// fakeSingleton stores one record per user.
type fakeSingleton[T any] struct {
	mu      sync.Mutex
	records map[conversation.UserID]T
	// fallback returns the record before the first Put, if set.
	fallback func() T
}

func newFakeSingleton[T any](fallback func() T) *fakeSingleton[T] {
	return &fakeSingleton[T]{records: map[conversation.UserID]T{}, fallback: fallback}
}

func (o *fakeSingleton[T]) Get(_ context.Context, user conversation.UserID) (T, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	r, ok := o.records[user]
	if !ok && o.fallback != nil {
		return o.fallback(), nil
	}
	if !ok {
		return r, fault.Missing("record")
	}
	return r, nil
}

func (o *fakeSingleton[T]) Put(_ context.Context, user conversation.UserID, record T) (T, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.records[user] = record
	return record, nil
}

// record is a record that sets its own creation time.
type record[T any] interface{ Created(at time.Time) T }

// fakeCollection stores many records per user. id returns the address of a record's id.
type fakeCollection[T record[T]] struct {
	mu      sync.Mutex
	id      func(*T) *string
	records map[conversation.UserID][]T
	calls   map[string]T
}

func newFakeCollection[T record[T]](id func(*T) *string) *fakeCollection[T] {
	return &fakeCollection[T]{id: id, records: map[conversation.UserID][]T{}, calls: map[string]T{}}
}

func (s *fakeCollection[T]) find(user conversation.UserID, id string) int {
	return slices.IndexFunc(s.records[user], func(r T) bool { return *s.id(&r) == id })
}

func (s *fakeCollection[T]) Create(
	_ context.Context, user conversation.UserID, record T, idem conversation.Idempotency,
) (T, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	call := fmt.Sprint(user, idem)
	if first, ok := s.calls[call]; ok && idem.Set() {
		return first, true, nil
	}
	record = record.Created(noon())
	*s.id(&record) = fmt.Sprintf("rec_%s_%d", user, len(s.records[user])+1)
	s.records[user] = append(s.records[user], record)
	s.calls[call] = record
	return record, false, nil
}

func (s *fakeCollection[T]) Get(_ context.Context, user conversation.UserID, id string) (record T, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.find(user, id)
	if i < 0 {
		return record, fault.Missing("record")
	}
	return s.records[user][i], nil
}

func (s *fakeCollection[T]) List(
	_ context.Context, user conversation.UserID, page conversation.Page,
) ([]T, conversation.Position, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := slices.Clone(s.records[user])
	slices.Reverse(all)
	return paged(all, page, nil)
}

func (s *fakeCollection[T]) Update(
	_ context.Context, user conversation.UserID, id string, change func(*T) error,
) (record T, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.find(user, id)
	if i < 0 {
		return record, fault.Missing("record")
	}
	record = s.records[user][i]
	if err := change(&record); err != nil {
		return record, err
	}
	s.records[user][i] = record
	return record, nil
}

func (s *fakeCollection[T]) Delete(_ context.Context, user conversation.UserID, id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.find(user, id)
	if i < 0 {
		return fault.Missing("record")
	}
	s.records[user] = slices.Delete(s.records[user], i, i+1)
	return nil
}

// fakeCoaches stores coaches.
type fakeCoaches struct {
	mu      sync.Mutex
	coaches map[conversation.UserID][]longterm.Coach
}

func (s *fakeCoaches) find(user conversation.UserID, id string) int {
	return slices.IndexFunc(s.coaches[user], func(c longterm.Coach) bool { return c.ID == id })
}

func (s *fakeCoaches) Coach(_ context.Context, user conversation.UserID, id string) (longterm.Coach, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.find(user, id)
	if i < 0 {
		return longterm.Coach{}, fault.Missing("coach")
	}
	return s.coaches[user][i], nil
}

func (s *fakeCoaches) Coaches(
	_ context.Context, user conversation.UserID, page conversation.Page,
) ([]longterm.Coach, conversation.Position, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return paged(s.coaches[user], page, nil)
}

func (s *fakeCoaches) PutCoach(_ context.Context, user conversation.UserID, c longterm.Coach) (longterm.Coach, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := s.find(user, c.ID); i >= 0 {
		s.coaches[user][i] = c
	} else {
		s.coaches[user] = append(s.coaches[user], c)
	}
	return c, nil
}

func (s *fakeCoaches) DeleteCoach(_ context.Context, user conversation.UserID, id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.find(user, id)
	if i < 0 {
		return fault.Missing("coach")
	}
	s.coaches[user] = slices.Delete(s.coaches[user], i, i+1)
	return nil
}

func newLongTerm() httpapi.LongTerm {
	return httpapi.LongTerm{
		Profile: newFakeSingleton[longterm.Profile](
			nil,
		), Seed: newFakeSingleton[longterm.Seed](nil), UserSummary: newFakeSingleton[longterm.UserSummary](nil),
		Preferences: newFakeSingleton(longterm.DefaultPreferences),
		Coaches:     &fakeCoaches{coaches: map[conversation.UserID][]longterm.Coach{}},
		Goals:       newFakeCollection(func(g *longterm.Goal) *string { return &g.ID }),
		CheckIns:    newFakeCollection(func(c *longterm.CheckIn) *string { return &c.ID }),
		Memories:    newFakeCollection(func(m *longterm.Memory) *string { return &m.ID }),
		Todos:       newFakeCollection(func(t *longterm.Todo) *string { return &t.ID }),
	}
}
