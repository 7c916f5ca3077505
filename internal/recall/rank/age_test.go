package rank_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/recall/rank"
)

// TestNewerOfAnOldHistory checks that of messages with the same words the newest come first, however long ago they were
// written, and whether others were written since: who comes back after years goes on where they stopped.
func TestNewerOfAnOldHistory(t *testing.T) {
	t.Parallel()
	asked := rank.NewQuery("Let us go on with the squat plan", now)
	said := func(id, text string, at time.Time) rank.Candidate {
		return rank.Candidate{ID: id, Session: id, Role: "user", Text: text, Time: at, Score: 0.5}
	}
	for _, old := range []time.Time{now, now.AddDate(-3, 0, 0)} {
		pool := []rank.Candidate{said("x1", "Good morning, sunny today", now), said("x2", "Rain tomorrow?", now)}
		for n := range 40 {
			pool = append(pool, said(fmt.Sprintf("%02d", n), "the squat plan, next step", old.AddDate(0, 0, -n)))
		}
		results := rank.Default().Rank(asked, pool)
		if gain := results[0].Probability / results[39].Probability; results[0].ID != "00" || gain < 1.2 {
			t.Errorf("from %v on: %s is first, %.2f times as likely as the oldest", old, results[0].ID, gain)
		}
	}
}
