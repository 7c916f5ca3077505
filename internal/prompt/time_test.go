package prompt_test

import (
	"strings"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/prompt"
)

// A message at 23:50 is "yesterday" at 00:10, where the user is, also when the clocks change in between.
func TestMidnightIsYesterday(t *testing.T) {
	t.Parallel()
	tests := map[string][]string{
		"America/New_York": {"2026-02-05", "2026-03-08", "2026-03-09", "2026-11-01", "2026-11-02"},
		"Asia/Kolkata":     {"2026-02-05", "2026-12-31"},
		"Pacific/Auckland": {"2026-02-05", "2026-04-05", "2026-04-06", "2026-09-27", "2026-09-28"},
	}
	for zone, days := range tests {
		place, err := time.LoadLocation(zone)
		if err != nil {
			t.Fatal(err)
		}
		for _, day := range days {
			midnight, err := time.ParseInLocation(time.DateOnly, day, place)
			if err != nil {
				t.Fatal(err)
			}
			t.Run(zone+" "+day, func(t *testing.T) { checkMidnight(t, zone, midnight.Add(-10*minute), midnight.Add(10*minute)) })
		}
	}
}

func checkMidnight(t *testing.T, zone string, said, asked time.Time) {
	w := newFixture()
	p := w.user("u")
	summarize(p.converse("design", "program_designer", "c", said.UTC(), says(0, "swap it")), "The user wants a swap.")
	summarize(p.converse("earlier", "workout_log", "c", said.Add(-2*time.Hour).UTC(), says(0, "logged")),
		"A workout was logged.")
	p.converse("chat", "coach_conversation", "c", asked.UTC())
	r := prompt.Request{Context: "coach_conversation", SessionID: "chat", CoachID: "c", Message: "well?", Timezone: zone}
	unified := systemText(build(t, w.service(asked.UTC()), "u", r))
	for _, want := range []string{
		"[Program Designer - yesterday]: The user wants a swap.",
		"[Workout Log - yesterday]: A workout",
	} {
		if !strings.Contains(unified, want) {
			t.Errorf("unified lacks %q:\n%s", want, unified)
		}
	}
	r.Recipe = prompt.TieredHistory
	tiered := build(t, w.service(asked.UTC()), "u", r).System
	for _, want := range []string{
		`<conversation context="Program Designer" date="` + said.Format(time.DateOnly) +
			`" from="23:50" to="23:50" when="yesterday">` + "\n[human 23:50] swap it",
		`<conversation context="Workout Log" date="` + said.Format(time.DateOnly) +
			`" to="21:50" when="yesterday" type="summary">` + "\nA workout",
		"00:10 (" + zone + "). This continues an active thread of 2 conversations that began 20 minutes ago.",
	} {
		if !strings.Contains(tiered, want) {
			t.Errorf("tiered-history lacks %q:\n%s", want, tiered)
		}
	}
}

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
		if strings.Contains(system, not) {
			t.Errorf("has %q:\n%s", not, system)
		}
	}
}

// The character budget fills in tier order and stops at the first that does not fit.
func TestTieredHistoryKeepsItsCharacters(t *testing.T) {
	t.Parallel()
	w := newFixture()
	p := w.user("u")
	text := strings.Repeat("The run was easy and the weather good. ", 50) // 1,950 characters
	for i := range 6 {
		var lines []line
		for j := range 12 {
			lines = append(lines, says(time.Duration(j)*minute, text))
		}
		p.converse("s"+string(rune('a'+i)), "workout_log", "c", now.Add(-time.Duration(i+1)*time.Hour), lines...)
	}
	summarize(p.converse("old", "workout_log", "c", now.Add(-30*time.Hour), says(0, "x")), "short")
	p.converse("chat", "coach_conversation", "c", now)
	r := prompt.Request{
		Recipe: prompt.TieredHistory, Context: "coach_conversation", SessionID: "chat", CoachID: "c",
		Message: "next",
	}
	got := build(t, w.service(now), "u", r)
	if n := len([]rune(got.System)); n > prompt.MaxContextChars || n < prompt.MaxContextChars-3000 {
		t.Errorf("%d characters", n)
	}
	if strings.Contains(got.System, "short") {
		t.Error("a lower tier is in the prompt although a higher one did not fit")
	}
	if real := realTokens(got); real > got.Tokens.Total || got.Tokens.Total > 30_000 {
		t.Errorf("%d tokens, %d real", got.Tokens.Total, real)
	}
	r.Budget = &prompt.Budget{Tokens: 2000}
	if got := build(t, w.service(now), "u", r); realTokens(got) > 2000 || realTokens(got) < 1500 {
		t.Errorf("%d tokens of 2000", realTokens(got))
	}
}

// Of sessions that overlap, the first beginning counts for what came before them.
func TestThreadOfOverlappingSessions(t *testing.T) {
	t.Parallel()
	w := newFixture()
	p := w.user("u")
	p.converse("before", "workout_log", "c", now.Add(-59*minute), says(0, "said before"))
	p.converse("within", "program_designer", "c", now.Add(-20*minute), says(0, "said within"))
	p.converse("chat", "coach_conversation", "c", now.Add(-30*minute), says(0, "hello"), answers(29*minute, "hi"))
	system := build(t, w.service(now), "u", prompt.Request{
		Recipe: prompt.TieredHistory, Context: "coach_conversation", SessionID: "chat", CoachID: "c", Message: "next",
	}).System
	if want := "an active thread of 3 conversations that began 59 minutes ago"; !strings.Contains(system, want) {
		t.Errorf("the prompt lacks %q:\n%s", want, system)
	}
}
