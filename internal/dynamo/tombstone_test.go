package dynamo_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

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

// TestTombstones checks that tombstones of messages and sessions are listed when they are due, until they are closed.
func TestTombstones(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	_, m := newSession(t, s, coach, "a", "1", "2")
	newSession(t, s, "workout_log", "b", "3")
	var want []string
	for i, minutes := range []int{3, 1} {
		deleted, err := s.Deletion.DeleteMessage(t.Context(), alice, m[i], []string{m[i].ID},
			start.Add(time.Duration(minutes)*time.Minute))
		if err != nil || cmp.Diff([]string{m[i].ID}, deleted.Vectors) != "" {
			t.Fatalf("delete a message: %+v, %v", deleted, err)
		}
		want = append([]string{deleted.ID}, want...)
	}
	check.Got(s.Deletion.DeleteSession(t.Context(), alice, "b", start.Add(10*time.Minute)))(t)
	due := func(minutes int) (ids []string, tombstones []erasure.Tombstone) {
		t.Helper()
		tombstones = tombstonesDue(t, s, start.Add(time.Duration(minutes)*time.Minute))
		for _, deleted := range tombstones {
			ids = append(ids, deleted.ID)
		}
		return ids, tombstones
	}
	for _, c := range []struct{ minutes, n int }{{0, 0}, {2, 1}, {3, 2}} {
		if got, _ := due(c.minutes); cmp.Diff(want[:c.n], append([]string{}, got...)) != "" {
			t.Errorf("due after %d minutes: %v, want %v", c.minutes, got, want[:c.n])
		}
	}
	_, tombstones := due(9)
	first := tombstones[0]
	first.Emptied, first.Sweeps = true, 1
	check.OK(t, s.Tombstones.SaveTombstone(t.Context(), first, start.Add(5*time.Minute)))
	got, tombstones := due(9)
	if len(got) != 2 || got[1] != first.ID || !tombstones[1].Emptied || tombstones[1].Sweeps != 1 {
		t.Errorf("due after one was postponed: %+v", tombstones)
	}
	for range 2 {
		check.OK(t, s.Tombstones.DeleteTombstone(t.Context(), first))
	}
	if got, _ := due(9); len(got) != 1 {
		t.Errorf("due after one was closed: %v", got)
	}
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
