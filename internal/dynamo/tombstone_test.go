package dynamo_test

import (
	"slices"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/erasure"
	"github.com/throughline/throughline/internal/sweep"
	"github.com/throughline/throughline/internal/testing/check"
)

// tombstonesDue reads the tombstones that are due at a time, earliest first.
func tombstonesDue(t *testing.T, s *fixture, at time.Time) []erasure.Tombstone {
	t.Helper()
	var out []erasure.Tombstone
	for _, d := range listDue(t, s, sweep.Deletions, at) {
		tombstone, err := s.Tombstones.Tombstone(t.Context(), d)
		check.OK(t, err)
		out = append(out, tombstone)
	}
	return out
}

// TestVectorTombstones saves a tombstone of vectors twice, and one of a generation that the user does not have.
func TestVectorTombstones(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	deleted := erasure.Tombstone{User: alice, Vectors: []string{"v1", "v2"}, Emptied: true, DeletedAt: start}
	other := deleted
	other.Generation, other.Vectors = 7, []string{"v3"}
	for _, left := range []erasure.Tombstone{deleted, deleted, other} {
		check.OK(t, s.Tombstones.SaveVectorTombstone(t.Context(), left, start))
	}
	due := tombstonesDue(t, s, start.Add(time.Hour))
	if len(due) != 1 || !slices.Equal(due[0].Vectors, deleted.Vectors) || !due[0].Emptied ||
		due[0].User != alice {
		t.Fatalf("due are %+v", due)
	}
	check.OK(t, s.Tombstones.DeleteTombstone(t.Context(), due[0]))
	if due = tombstonesDue(t, s, start.Add(time.Hour)); len(due) != 0 {
		t.Errorf("due after it was closed: %+v", due)
	}
}
