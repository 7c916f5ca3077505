package prompt_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/prompt"
	"github.com/throughline/throughline/internal/testing/check"
)

// on is a time of the month in which the tests' now is, or of the month before for a day over now's.
func on(day, hour, minutes int) time.Time {
	month := time.February
	if day > now.Day() {
		month = time.January
	}
	return time.Date(2026, month, day, hour, minutes, 0, 0, time.UTC)
}

// spoken is a conversation whose lines are said at the given times.
func spoken(p *person, id, in string, start time.Time, lines map[time.Time]string) {
	var all []line
	for at := start; !at.After(now); at = at.Add(minute) {
		if text, ok := lines[at]; ok {
			say := says
			if rest, isAnswer := strings.CutPrefix(text, "> "); isAnswer {
				say, text = answers, rest
			}
			all = append(all, say(at.Sub(start), text))
		}
	}
	p.converse(id, in, "c", start, all...)
}

func request(recipe string) prompt.Request {
	return prompt.Request{
		Recipe: recipe, Context: "coach_conversation", SessionID: "here", CoachID: "c", Message: "next",
	}
}

// A history of weeks is in the prompt as the specification's rules say, worked out by hand.
func TestHistoriesOfWeeks(t *testing.T) {
	t.Parallel()
	histories := map[string]func(*person){
		"back after 9 days": func(p *person) {
			spoken(p, "here", "coach_conversation", on(27, 0, 46), map[time.Time]string{
				on(27, 0, 46): "I can't sleep.", on(27, 0, 47): "> Try reading.",
			})
			spoken(p, "design", "program_designer", on(5, 16, 0), map[time.Time]string{
				on(5, 16, 0): "Swap the squats.", on(5, 16, 30): "> Swapped.",
			})
			summarize(p.converse("swings", "workout_log", "c", on(4, 12, 0), says(0, "swings")), "They logged swings.")
			summarize(p.converse("rows", "workout_log", "c", on(29, 9, 0), says(0, "rows")), "They logged rows.")
			summarize(p.converse("old", "workout_log", "c", on(28, 9, 0), says(0, "old")), "They logged nothing.")
			p.converse("tom", "workout_log", "tom", on(5, 18, 20), says(0, "for tom"))
		},
		"in the middle of a thread": func(p *person) {
			spoken(p, "here", "coach_conversation", on(20, 9, 0), map[time.Time]string{
				on(20, 9, 0): "Hello.", on(4, 20, 0): "Good night.", on(5, 15, 59): "How was lunch?",
				on(5, 18, 20): "Is that enough?",
			})
			summarize(&p.sessions[len(p.sessions)-1], "They talk about sleep.")
			spoken(p, "design", "program_designer", on(5, 17, 20), map[time.Time]string{
				on(5, 17, 20): "Only two days a week.", on(5, 17, 50): "> Two days it is.",
			})
			spoken(p, "runs", "workout_log", on(2, 8, 0), map[time.Time]string{
				on(2, 8, 0): "Ran 3 km.", on(5, 8, 0): "Ran 5 km.",
			})
			summarize(&p.sessions[len(p.sessions)-1], "They log runs.")
		},
	}
	golden := check.Got(txtar.ParseFile("testdata/weeks/history.txtar"))(t)
	for _, want := range golden.Files {
		t.Run(want.Name, func(t *testing.T) {
			t.Parallel()
			w := newFixture()
			histories[want.Name](w.user("u"))
			_, got, _ := strings.Cut(build(t, w.service(now), "u", request(prompt.TieredHistory)).System,
				"<conversation-history>\n")
			check.Same(t, string(want.Data), got+"\n", "the result")
		})
	}
}

// Role messages carry no times, so unified says of which days they are.
func TestDaysOfRecentMessages(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		lines map[time.Time]string
		want  string
	}{
		"of one day": {map[time.Time]string{on(27, 0, 46): "a"}, "of 27 January (9 days ago), 00:46"},
		"of today":   {map[time.Time]string{on(5, 9, 0): "a"}, ""},
		"of several days": {
			map[time.Time]string{on(27, 0, 46): "a", on(5, 9, 0): "b"},
			"of 27 January (9 days ago), 00:46, to today, 09:00",
		},
		"of one afternoon": {
			map[time.Time]string{on(4, 15, 0): "a", on(4, 15, 9): "b"},
			"of 4 February (yesterday), 15:00 to 15:09",
		},
	} {
		w := newFixture()
		spoken(w.user("u"), "here", "coach_conversation", on(27, 0, 46), tt.lines)
		got := systemText(build(t, w.service(now), "u", request(prompt.Unified)))
		_, after, found := strings.Cut(got, "- The messages before this one: ")
		line, _, _ := strings.Cut(after, "\n")
		if found != (tt.want != "") || line != tt.want {
			t.Errorf("%s: %q, want %q", name, line, tt.want)
		}
	}
}

// Where a bound ends a read, the manifest says so and gives no other reason.
func TestBoundsAreNamed(t *testing.T) {
	t.Parallel()
	w := newFixture()
	p := w.user("u")
	for i := range 400 {
		summarize(p.converse(fmt.Sprint("s", i), "workout_log", "c", now.Add(-24*time.Hour-time.Duration(i)*minute),
			says(0, "x")), "x")
	}
	var lines []line
	for i := range 1900 {
		lines = append(lines, says(time.Duration(i)*20*time.Second, "m"))
	}
	p.converse("here", "coach_conversation", "c", now.Add(-700*minute), lines...)
	got := build(t, w.service(now), "u", request(prompt.TieredHistory))
	item := itemOf(t, got, "thread_history", "here")
	if !strings.Contains(item.Reason, "those before were not read: the read ended after") {
		t.Errorf("the sitting: %+v", item)
	}
	warnings := strings.Join(got.Manifest.Warnings, "\n")
	if strings.Count(warnings, "latest 357 sessions") != 1 || !strings.Contains(warnings, "the read ended after") {
		t.Errorf("warnings %q", warnings)
	}
}

// How long ago the last message was is the time that has passed, also over a midnight; of which day it is, is another
// matter, and is the calendar's.
func TestElapsedTimeAndCalendarDays(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 2, 5, 9, 0, 0, 0, time.UTC)
	for ago, want := range map[time.Duration]struct{ elapsed, day string }{
		40 * minute:                            {"40 minutes ago", "today"},
		10 * time.Hour:                         {"10 hours ago", "yesterday"},
		23*time.Hour + 59*minute:               {"23 hours ago", "yesterday"},
		24 * time.Hour:                         {"yesterday", "yesterday"},
		33*time.Hour + minute:                  {"2 days ago", "Tuesday"},
		30 * 24 * time.Hour:                    {"30 days ago", "30 days ago"},
		31 * 24 * time.Hour:                    {"1 month ago (5 January 2026)", "1 month ago"},
		(365 + 365 + 365 + 2) * 24 * time.Hour: {"3 years ago (4 February 2023)", "3 years ago"},
	} {
		w := newFixture()
		w.user("u").converse("here", "coach_conversation", "c", at.Add(-ago), says(0, "Hello."))
		got := build(t, w.service(at), "u", request(prompt.TieredHistory)).System
		local := at.Add(-ago)
		for _, part := range []string{
			"the last message with you was " + want.elapsed + ".",
			`date="` + local.Format(time.DateOnly) + `"`, `when="` + want.day + `"`, "[human " + local.Format("15:04") + "]",
		} {
			check.Contains(t, got, part, "%v ago: the prompt", ago)
		}
	}
}

// TestPlaceOfASessionWithoutMessages has a workout from a form as the last session of the first page. It was saved
// yesterday and is about a day of last month: its place in the list decides whether older sessions are read.
func TestPlaceOfASessionWithoutMessages(t *testing.T) {
	t.Parallel()
	w := newFixture()
	p := w.user("u")
	p.converse("here", "coach_conversation", "c", now)
	for i := range 100 {
		at := now.Add(-time.Duration(24*60+i) * minute)
		s := p.converse(fmt.Sprint("s", i), "workout_log", "c", at, says(0, "x"))
		if i == 59 { // tiered-history reads 60 sessions at first
			*s = conversation.Session{
				ID: "form", Context: "workout_log", CoachID: "c", Status: conversation.Completed, CreatedAt: at, CompletedAt: at,
				Attributes: map[string]any{"workoutId": "w", "completedAt": "2026-01-02T08:00:00Z"},
			}
		}
		summarize(s, fmt.Sprint("summary ", i, "."))
	}
	got := build(t, w.service(now), "u", request(prompt.TieredHistory)).System
	if !strings.Contains(got, "summary 99.") || strings.Contains(got, "summary 59.") {
		t.Errorf("the prompt lacks the last session of yesterday, or has the workout of last month:\n%s", got)
	}
}

// TestThreadThatIsNotReadWhole has a thread of two sessions whose first messages the budget has no room for. The status
// does not say when it began.
func TestThreadThatIsNotReadWhole(t *testing.T) {
	t.Parallel()
	w := newFixture()
	p := w.user("u")
	lines, took := numbered(600, "the long walk in the park today was")
	p.converse("log", "workout_log", "c", now.Add(-3*60*minute), says(0, "Ran 3 km."), says(minute, "Done."))
	p.converse("here", "coach_conversation", "c", now.Add(-took), lines...)
	r := request(prompt.TieredHistory)
	r.Budget = &prompt.Budget{Tokens: 1000}
	const want = "an active thread of 2 conversations that began before the messages of 8 hours ago."
	check.Contains(t, systemText(build(t, w.service(now), "u", r)), want, "the prompt")
}
