package memstore

import (
	"context"
	"maps"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/erasure"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/sweep"
)

// erasing is the last erasure of a user.
type erasing struct {
	erasure.Progress
	lease  time.Time
	sweeps int
}

// Erasures erases users.
type Erasures struct{ *DB }

var _ erasure.UserStore = Erasures{}

// BeginErasure sets the user's records aside, or goes on with an erasure that is not done.
func (s Erasures) BeginErasure(_ context.Context, user conversation.UserID, until time.Time,
) (erasure.Progress, bool, error) {
	u, unlock := s.lock(user)
	defer unlock()
	now, end := s.clock(), conversation.Milliseconds(until.Add(erasure.LeaseReserve))
	if e := u.erasing; e != nil && !e.Done {
		held := !e.lease.After(now)
		if held {
			e.lease, u.erasureDue.at = end, end
		}
		return copied(e.Progress), held, nil
	}
	u.generation++
	u.erased = append(u.erased, u.records)
	u.records = newRecords()
	p := erasure.Progress{Counts: map[string]int{}, ErasedAt: now, Generation: u.generation}
	u.erasing = &erasing{Progress: p, lease: end}
	u.erasureDue = &mark{queue: sweep.Deletions, at: end}
	return copied(p), true, nil
}

// ResumeErasure goes on with an erasure that is not done.
func (s Erasures) ResumeErasure(_ context.Context, user conversation.UserID, until time.Time,
) (erasure.Progress, bool, error) {
	u, unlock := s.lock(user)
	defer unlock()
	e := u.erasing
	if e == nil || e.Done || e.lease.After(s.clock()) {
		return erasure.Progress{Done: true, Counts: map[string]int{}}, false, nil
	}
	e.lease = until.Add(erasure.LeaseReserve)
	return copied(e.Progress), true, nil
}

// Erasure returns how far the user's last erasure has come.
func (s Erasures) Erasure(_ context.Context, user conversation.UserID) (erasure.Progress, error) {
	u, unlock := s.lock(user)
	defer unlock()
	if u.erasing == nil {
		return erasure.Progress{}, fault.Missing("erasure")
	}
	return copied(u.erasing.Progress), nil
}

// EraseRecords deletes the records of earlier generations, unless the time is over.
func (s Erasures) EraseRecords(_ context.Context, user conversation.UserID, _ int64, until time.Time,
	deleted func(kind string, n int),
) (bool, error) {
	if !s.now().Before(until) {
		return false, nil
	}
	for kind, n := range s.deleteErased(user) {
		deleted(kind, n)
	}
	return true, nil
}

func (s Erasures) deleteErased(user conversation.UserID) map[string]int {
	u, unlock := s.lock(user)
	defer unlock()
	counts := map[string]int{}
	for _, r := range u.erased {
		for kind, n := range r.counts() {
			counts[kind] += n
		}
	}
	u.erased = nil
	return counts
}

// Left counts what an erasure has left, which is nothing but what it has still to delete.
func (s Erasures) Left(_ context.Context, user conversation.UserID, _ int64) (map[string]int, int, error) {
	u, unlock := s.lock(user)
	defer unlock()
	remaining := 0
	for _, r := range u.erased {
		for n := range maps.Values(r.counts()) {
			remaining += n
		}
	}
	return map[string]int{}, remaining, nil
}

// SaveErasure stores the progress and gives the lease back.
func (s Erasures) SaveErasure(_ context.Context, user conversation.UserID, p erasure.Progress, due time.Time) error {
	u, unlock := s.lock(user)
	defer unlock()
	if u.erasing == nil || p.Generation != u.generation {
		return fault.New(fault.Conflict, "another erasure has begun")
	}
	p.ErasedAt = u.erasing.ErasedAt
	u.erasing.Progress, u.erasing.lease = copied(p), s.clock()
	if p.Done {
		u.erasing.sweeps = 0
		u.erasureDue = &mark{queue: sweep.Deletions, at: conversation.Milliseconds(due)}
	}
	return nil
}
