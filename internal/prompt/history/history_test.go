package history_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/prompt/history"
)

// now is the clock of the tests.
var now = time.Date(2026, 2, 5, 18, 30, 0, 0, time.UTC)

// divide divides the messages of sessions. The first session is that of the current message, which is said now.
func divide(sessions []conversation.Session, messages map[string][]*conversation.Message) *history.History {
	return history.Divide(sessions, messages, history.Reach{}, now, now, time.UTC)
}

// tiersOf are the sittings of the tiers that are written in full, and when the thread began.
func tiersOf(h *history.History) []any {
	return []any{h.SittingsIn(history.ThreadTier), h.SittingsIn(history.TodayTier), h.ThreadBegan()}
}

// drawSessions draws up to five sessions whose messages have pauses of all kinds, many of them about as long as a
// sitting's longest one. All messages are before now.
func drawSessions(t *rapid.T) ([]conversation.Session, map[string][]*conversation.Message) {
	pauses := []time.Duration{
		time.Millisecond, time.Minute, 29 * time.Minute, 30 * time.Minute, 30*time.Minute + time.Millisecond,
		31 * time.Minute, 59 * time.Minute, 61 * time.Minute, 26 * time.Hour,
	}
	var sessions []conversation.Session
	messages := map[string][]*conversation.Message{}
	for i := range rapid.IntRange(1, 5).Draw(t, "sessions") {
		s := conversation.Session{ID: fmt.Sprint("s", i)}
		at := now
		for j := range rapid.IntRange(0, 9).Draw(t, "messages") {
			at = at.Add(-rapid.SampledFrom(pauses).Draw(t, "pause"))
			id := fmt.Sprint(s.ID, ".", j)
			messages[s.ID] = append(messages[s.ID], &conversation.Message{ID: id, SessionID: s.ID, Timestamp: at})
		}
		slices.Reverse(messages[s.ID])
		for j, m := range messages[s.ID] {
			m.Seq, s.LastMessageAt = j+1, m.Timestamp
		}
		s.LastSeq, s.MessageCount = len(messages[s.ID]), len(messages[s.ID])
		sessions = append(sessions, s)
	}
	return sessions, messages
}

// Every message is in exactly one sitting. Within a sitting no pause is longer than half an hour, between two of a
// session each one is.
func TestEveryMessageIsInOneSitting(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		sessions, messages := drawSessions(t)
		h := divide(sessions, messages)
		for _, s := range sessions {
			var shown []*conversation.Message
			for i, sitting := range h.SittingsOf(s.ID) {
				shown = append(shown, sitting.Messages...)
				for j, m := range sitting.Messages {
					if j > 0 && m.Timestamp.Sub(sitting.Messages[j-1].Timestamp) > 30*time.Minute {
						t.Fatalf("a pause within a sitting, before %s", m.ID)
					}
				}
				if i > 0 && sitting.First.Sub(h.SittingsOf(s.ID)[i-1].Last) <= 30*time.Minute {
					t.Fatalf("no pause before the sitting of %s", sitting.First)
				}
			}
			if diff := cmp.Diff(messages[s.ID], shown); diff != "" {
				t.Fatalf("messages of %s (-want +got):\n%s", s.ID, diff)
			}
		}
	})
}

// The messages of a thread, of all its sessions together, have no pause of more than half an hour up to now. No sitting
// outside it is as near to it as that.
func TestThreadHasNoLongPause(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		sessions, messages := drawSessions(t)
		h := divide(sessions, messages)
		edge := h.ThreadBegan()
		times, first := []time.Time{now}, now
		for _, s := range h.Sittings() {
			if !s.InThread {
				continue
			}
			if s.First.Before(first) {
				first = s.First
			}
			for _, m := range s.Messages {
				times = append(times, m.Timestamp)
			}
		}
		slices.SortFunc(times, time.Time.Compare)
		for i := 1; i < len(times); i++ {
			if pause := times[i].Sub(times[i-1]); pause > 30*time.Minute {
				t.Fatalf("a pause of %v in the thread, before %v", pause, times[i])
			}
		}
		if !edge.Equal(first) {
			t.Fatalf("the thread begins at %v, its first message is of %v", edge, first)
		}
		for _, s := range h.Sittings() {
			if !s.InThread && edge.Sub(s.Last) <= 30*time.Minute {
				t.Fatalf("the sitting of %s that ends at %v is not in the thread that begins at %v", s.Session.ID, s.Last, edge)
			}
		}
	})
}

// The order in which the sessions were read changes nothing. The first two tiers have different sittings, each in the
// order in which they began.
func TestOrderOfSittingsIsStable(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		sessions, messages := drawSessions(t)
		first := divide(sessions, messages)
		shuffled := append(sessions[:1:1], rapid.Permutation(sessions[1:]).Draw(t, "order")...)
		second := divide(shuffled, messages)
		if diff := cmp.Diff(tiersOf(first), tiersOf(second)); diff != "" {
			t.Fatalf("another order of sessions (-first +second):\n%s", diff)
		}
		seen := map[string]bool{}
		for _, tier := range []history.Tier{history.ThreadTier, history.TodayTier} {
			sittings := first.SittingsIn(tier)
			if !slices.IsSortedFunc(sittings, func(a, b *history.Sitting) int { return a.First.Compare(b.First) }) {
				t.Fatalf("the sittings are not in the order in which they began")
			}
			for _, s := range sittings {
				if id := s.Messages[0].ID; !s.Tier.IsFull() || seen[id] {
					t.Fatalf("the sitting that begins with %s: full %v, shown before %v", id, s.Tier.IsFull(), seen[id])
				} else {
					seen[id] = true
				}
			}
		}
	})
}
