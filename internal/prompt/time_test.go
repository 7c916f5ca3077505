package prompt_test

import (
	"strings"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/prompt"
	"github.com/throughline/throughline/internal/testing/check"
)

// Threads walk back through pauses of at most 30 minutes; what is not in the thread is sorted by the calendar day.
func TestTiers(t *testing.T) {
	t.Parallel()
	w := newFixture()
	p := w.user("u")
	at := func(ago time.Duration) time.Time { return now.Add(-ago) }
	session := func(id string, start time.Duration) {
		summarize(p.converse(id, "workout_log", "c", at(start), says(0, "said in "+id), answers(5*minute, "ok "+id)),
			"sum of "+id)
	}
	session("near", 40*minute)                // ends 35 minutes ago, 25 before chat begins
	session("chained", 75*minute)             // ends 70 minutes ago, 30 before near begins
	session("broken", 110*minute+time.Second) // ends a second more than 30 minutes before chained begins
	session("morning", 8*time.Hour)           // today
	session("last-night", 20*time.Hour)       // yesterday
	session("monday", 3*24*time.Hour)         // Monday
	session("week", 7*24*time.Hour)           // 7 days ago
	session("ancient", 8*24*time.Hour)        // in the prompt no more
	p.converse("chat", "coach_conversation", "c", at(10*minute), says(0, "hello"), answers(minute, "hi"))
	system := build(t, w.service(now), "u", prompt.Request{
		Recipe: prompt.TieredHistory, Context: "coach_conversation", SessionID: "chat", CoachID: "c", Message: "next",
	}).System
	order := []string{
		"said in chained", "said in near", "[human 18:20] hello", // the thread, chronologically
		"said in broken", "said in morning", // today, newest first
		`when="yesterday" type="summary">` + "\nsum of last-night", `when="Monday" type="summary">` + "\nsum of monday",
		`when="7 days ago" type="summary">` + "\nsum of week",
	}
	rest := system
	for _, want := range order {
		_, after, found := strings.Cut(rest, want)
		if !found {
			t.Fatalf("%q is missing or out of order:\n%s", want, system)
		}
		rest = after
	}
	for _, not := range []string{"sum of near", "sum of morning", "said in last-night", "ancient"} {
		check.Lacks(t, system, not, "the prompt")
	}
}
