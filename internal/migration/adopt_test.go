package migration_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/migration"
	"github.com/throughline/throughline/internal/testing/check"
)

// said returns messages of the user, a second apart, with the seqs from first on.
func said(first int, contents ...string) (out []conversation.Message) {
	for i, content := range contents {
		at := time.Date(2026, 2, 5, 18, 0, first+i, 0, time.UTC)
		id := fmt.Sprint("m", first+i)
		out = append(out, conversation.Message{
			ID: id, Seq: first + i, Role: conversation.RoleUser, Content: content, Timestamp: at,
		})
	}
	return out
}

// TestAdoptIsLimited has an app edit four entries and add two. One step changes or adds no more messages than its
// transaction takes.
func TestAdoptIsLimited(t *testing.T) {
	t.Parallel()
	stored := said(1, "a", "b", "c", "d")
	decoded := said(1, "a2", "b2", "c2", "d2", "e", "f")
	for limit, want := range map[int][2]int{3: {3, 0}, 4: {4, 0}, 5: {4, 1}, 9: {4, 2}} {
		s := conversation.Session{MessageCount: 4, LastSeq: 4, UserSeq: 4, LastMessageAt: stored[3].Timestamp}
		got := migration.Adopt(s, 0, decoded, stored, nil, nil, limit)
		check.Equal(t, want, [2]int{len(got.Changed), len(got.Added)}, "changed and added with the limit %d", limit)
		check.Equal(t, len(decoded), len(got.Entries), "entries with the limit %d", limit)
	}
}

// TestAdoptRaisesCounters has an app put an old record in the session's place, whose counters end before messages of
// the store.
func TestAdoptRaisesCounters(t *testing.T) {
	t.Parallel()
	stored := said(1, "a", "b", "c")
	old := conversation.Session{MessageCount: 1, LastSeq: 1, UserSeq: 1, LastMessageAt: stored[0].Timestamp}
	got := migration.Adopt(old, 0, stored[:1], stored, nil, nil, 9).Session
	want := old
	want.MessageCount, want.LastSeq, want.UserSeq, want.LastMessageAt = 3, 3, 3, stored[2].Timestamp
	check.Same(t, want, got, "session")
}
