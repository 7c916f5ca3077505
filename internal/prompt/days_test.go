package prompt_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/prompt"
	"github.com/throughline/throughline/internal/prompt/block"
	"github.com/throughline/throughline/internal/testing/check"
)

// keptOpen is a session of 28 days with one exchange a day, of which the last nine have summaries. Its last day is that
// many days ago.
func keptOpen(p *person, id, in string, daysAgo int) *conversation.Session {
	var lines []line
	const days = 28
	start := time.Date(2026, 2, 5, 12, 0, 0, 0, time.UTC).AddDate(0, 0, -daysAgo-days+1)
	for i := range days {
		after := time.Duration(i) * 24 * time.Hour
		lines = append(lines, says(after, fmt.Sprintf("%s says d%d", id, i)), answers(after+minute, "fine"))
	}
	s := summarize(p.converse(id, in, "c", start, lines...), "A fever of weeks ago.")
	for i := days - 9; i < days; i++ {
		from := start.AddDate(0, 0, i)
		s.Summary.Days = append(s.Summary.Days, conversation.DaySummary{
			From: from, To: from.Add(minute), Text: fmt.Sprintf("%s came to d%d.", id, i),
		})
	}
	return s
}

// headsOf are the days of summaries in a prompt, by their texts.
func headsOf(text string) map[string]string {
	heads, head := map[string]string{}, ""
	for l := range strings.Lines(text) {
		l = strings.TrimSpace(l)
		if strings.HasPrefix(l, "<conversation ") {
			head = l
		} else if strings.Contains(l, " came to d") || strings.Contains(l, "fever") {
			heads[l] = head
		}
	}
	return heads
}

// The prompt has each of the last seven days of a chat that is kept open for 28 days under its own day, whether it is
// the current one or another, and nothing older.
func TestEachDayOfAnOpenChat(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"here", "other"} {
		w := newFixture()
		p := w.user("u")
		keptOpen(p, id, "coach_conversation", 1)
		if id != "here" {
			p.converse("here", "coach_conversation", "c", now)
		}
		heads := headsOf(build(t, w.service(now), "u", request(prompt.TieredHistory)).System)
		want := map[string]string{}
		for i := 21; i < 28; i++ {
			day := on(4, 12, 0).AddDate(0, 0, i-27)
			when := day.Weekday().String()
			if daysAgo := 28 - i; daysAgo == 1 {
				when = "yesterday"
			} else if daysAgo == 7 {
				when = "7 days ago"
			}
			want[fmt.Sprintf("%s came to d%d.", id, i)] = fmt.Sprintf(
				`<conversation context="Coach" date="%s" from="12:00" to="12:01" when="%s" type="summary">`,
				day.Format(time.DateOnly), when)
		}
		if id == "here" { // its last sitting is there in full
			delete(want, "here came to d27.")
		}
		check.Same(t, want, heads, "%s: days", id)
	}
}

// Recent activity has what was said in the last 48 hours on a screen that is kept open, each day once. The earlier
// sessions of the prompt have the days before.
func TestActivityOfAnOpenScreen(t *testing.T) {
	t.Parallel()
	w := newFixture()
	p := w.user("u")
	keptOpen(p, "design", "program_designer", 1)
	p.converse("here", "coach_conversation", "c", now)
	got := build(t, w.service(now), "u", request(prompt.Unified))
	text := systemText(got)
	activity := section(text, "The user recently had the following interactions in other parts of the platform.\n"+
		"Use this for continuity, but don't assume actions were completed unless confirmed.")
	if !strings.Contains(activity, "[Program Designer - yesterday]: design came to d27.") ||
		strings.Contains(activity, "fever") || strings.Contains(activity, "d25") {
		t.Errorf("recent activity is\n%s", activity)
	}
	for i := 18; i < 28; i++ {
		times := 1
		if i < 21 {
			times = 0
		}
		if n := strings.Count(text, fmt.Sprintf("design came to d%d.", i)); n != times {
			t.Errorf("day %d is in the prompt %d times, want %d:\n%s", i, n, times, text)
		}
	}
	var days []string
	for _, item := range blockOf(t, got, block.SessionSummaries).Items {
		days = append(days, item.ID+" "+string(item.Decision))
	}
	want := []string{
		"design#2026-02-04 dropped", "design#2026-02-03 included", "design#2026-02-02 included",
		"design#2026-02-01 included", "design#2026-01-31 included", "design#2026-01-30 included",
		"design#2026-01-29 included",
	}
	check.Same(t, want, days, "the manifest's days")
}

// A summary that covers several days says since when.
func TestSummariesOfSeveralDays(t *testing.T) {
	t.Parallel()
	w := newFixture()
	p := w.user("u")
	keptOpen(p, "old", "coach_conversation", 1).Summary.Days = nil
	p.converse("here", "coach_conversation", "c", now)
	for recipe, want := range map[string]string{
		prompt.TieredHistory: `date="2026-02-04" since="2026-01-08" to="12:01" when="yesterday" type="summary">` +
			"\nA fever",
		prompt.Unified: "[Coach - yesterday, since 8 January]: A fever of weeks ago.",
	} {
		check.Contains(t, systemText(build(t, w.service(now), "u", request(recipe))), want, "%s: the prompt", recipe)
	}
}

// Recent activity names each day of a screen whose label names the last one. After the user has moved to the west, two
// days of the old zone have the same date: both are in the prompt.
func TestDaysAreNamedAfterAMove(t *testing.T) {
	t.Parallel()
	w := newFixture()
	p := w.user("u")
	s := summarize(p.converse("design", "program_designer", "c", on(3, 21, 0), says(0, "a"), says(6*time.Hour, "b"),
		says(16*time.Hour, "c"), says(39*time.Hour, "d")), "All of it.")
	s.Summary.Days = []conversation.DaySummary{
		{From: on(3, 21, 0), To: on(4, 3, 0), Text: "The first day there."},
		{From: on(4, 13, 0), To: on(4, 13, 0), Text: "The first day here."},
		{From: on(5, 12, 0), To: on(5, 12, 0), Text: "Today."},
	}
	p.converse("here", "coach_conversation", "c", now)
	got := systemText(build(t, w.service(now), "u", request(prompt.Unified)))
	const want = "[Program Designer - 6 hours ago]: 4 February (yesterday): The first day there. The first day here. " +
		"today: Today."
	check.Contains(t, got, want, "the prompt")
	got = build(t, w.service(now), "u", request(prompt.TieredHistory)).System
	for _, day := range []string{"The first day there.", "The first day here."} {
		if strings.Count(got, day) != 1 {
			t.Errorf("%q is not in the prompt exactly once:\n%s", day, got)
		}
	}
}
