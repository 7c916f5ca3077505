package summary_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/throughline/throughline/internal/testing/check"
)

// TestTheUsersDays gives the model the times of messages and attributes in the user's zone: what is said in Tokyo on
// the morning of 20 November, which is the evening of the 19th in UTC, is of the 20th.
func TestTheUsersDays(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Date(2026, 11, 19, 22, 30, 0, 0, time.UTC)))
		f := newFake(t)
		f.timezone = "Asia/Tokyo"
		s := f.service()
		consume(t, s, f.say("chat", "today I ran", "b", "c", "d"))
		check.Contains(t, f.prompts[0], "[2026-11-20 07:30 Friday] user: today I ran\n", "the model reads")
		f.create("form", "workout_log", map[string]any{"completedAt": "2026-11-19T22:00:00.000Z"})
		consume(t, s, f.complete("form"))
		check.Contains(t, f.prompts[1], "- completed at: 20 November 2026, 07:00\n", "the model reads")
	})
}
