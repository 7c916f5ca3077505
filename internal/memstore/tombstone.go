package memstore

import (
	"context"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/erasure"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/sweep"
)

// Tombstones keeps the records of deletions.
type Tombstones struct{ *DB }

var _ erasure.TombstoneStore = Tombstones{}

// SaveTombstone stores how far a deletion has come. It does nothing when the tombstone is gone.
func (s Tombstones) SaveTombstone(_ context.Context, t erasure.Tombstone, due time.Time) error {
	u, unlock := s.lock(t.User)
	defer unlock()
	if t.Generation != u.generation {
		return nil
	}
	if t.Namespace {
		u.erasing.sweeps = t.Sweeps
		u.erasureDue = &mark{queue: sweep.Deletions, at: conversation.Milliseconds(due)}
	} else if _, ok := u.tombstones[t.ID]; ok {
		u.save(t, due)
	}
	return nil
}

// SaveVectorTombstone stores the tombstone of vectors, unless the user has been erased since.
func (s Tombstones) SaveVectorTombstone(_ context.Context, t erasure.Tombstone, due time.Time) error {
	u, unlock := s.lock(t.User)
	defer unlock()
	if t.Generation == u.generation {
		u.addVectorTombstone(t.Vectors, t.DeletedAt, due)
	}
	return nil
}

// DeleteTombstone deletes a tombstone. That of an erased user stays and is no longer due.
func (s Tombstones) DeleteTombstone(_ context.Context, t erasure.Tombstone) error {
	u, unlock := s.lock(t.User)
	defer unlock()
	if !t.Namespace {
		delete(u.tombstones, t.ID)
	}
	if !t.Namespace || t.Generation == u.generation {
		u.removeDue(t.ID)
	}
	return nil
}

// Tombstone reads the tombstone of a due record.
func (s Tombstones) Tombstone(_ context.Context, d sweep.Due) (erasure.Tombstone, error) {
	u, unlock := s.lock(d.User)
	defer unlock()
	if e := u.erasing; d.ID == erasureID && e != nil {
		return erasure.Tombstone{
			User: u.id, ID: erasureID, Generation: u.generation, Namespace: true, Erasing: !e.Done, Sweeps: e.sweeps,
		}, nil
	}
	if t, ok := u.tombstones[d.ID]; ok {
		return copied(t), nil
	}
	return erasure.Tombstone{}, fault.Missing("tombstone")
}
