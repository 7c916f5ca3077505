package longterm_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/testing/check"
)

// TestTodosRecur checks when a todo is due again after it was done.
func TestTodosRecur(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 25, 10, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		due  string
		each longterm.Period
		want string
	}{
		{"2026-11-23", longterm.Weekly, "2026-11-30"},
		{"2026-11-25", longterm.Weekly, "2026-12-02"}, // done on its day
		{"2026-11-30", longterm.Weekly, "2026-11-30"}, // done before its day
		{"2026-11-25", longterm.Daily, "2026-11-26"},
		{"2026-10-31", longterm.Monthly, "2026-11-30"}, // which has no 31st
		{"2026-11-30", longterm.Monthly, "2026-11-30"},
		{"2026-10-30", longterm.Monthly, "2026-11-30"},
		{"2026-11-23", "", "2026-11-23"},
		{"2026-11-23", "year", "2026-11-23"},
	} {
		todo := longterm.Todo{Status: longterm.Pending, Due: longterm.Moment{Day: tt.due}, Every: tt.each}
		check.Equal(t, tt.want, todo.DueAfter(at).String(), "%s every %q is due", tt.due, tt.each)
		if want := tt.each == "" && tt.due < "2026-11-25"; todo.IsOverdue(at) != want {
			t.Errorf("%s every %q: overdue is %v", tt.due, tt.each, !want)
		}
	}
}

// TestDoneAtNight has a daily todo done around midnight: until the small hours that is of the day before, if it was due
// then.
func TestDoneAtNight(t *testing.T) {
	t.Parallel()
	berlin := check.Got(time.LoadLocation("Europe/Berlin"))(t)
	for _, tt := range []struct{ due, at, want string }{
		{"2027-03-27", "2027-03-27 23:50", "2027-03-28"},
		{"2027-03-27", "2027-03-28 00:10", "2027-03-28"},
		{"2027-03-26", "2027-03-28 00:10", "2027-03-28"}, // missed once
		{"2027-03-28", "2027-03-28 00:10", "2027-03-29"}, // done early
		{"2027-03-27", "2027-03-28 09:00", "2027-03-29"},
	} {
		at := check.Got(time.ParseInLocation("2006-01-02 15:04", tt.at, berlin))(t)
		todo := longterm.Todo{Status: longterm.Pending, Due: longterm.Moment{Day: tt.due}, Every: longterm.Daily}
		check.Equal(t, tt.want, todo.DoneAt(at).Due.Day, "due on %s and done at %s it is due again", tt.due, tt.at)
	}
}

// TestTheNextDay compares the day with the first of all days from the beginning that is after today, and asks a hundred
// thousand times for a day of a todo of the year 1, which must not be counted from there.
func TestTheNextDay(t *testing.T) {
	t.Parallel()
	add := map[longterm.Period][2]int{longterm.Daily: {0, 1}, longterm.Weekly: {0, 7}, longterm.Monthly: {1, 0}}
	rapid.Check(t, func(t *rapid.T) {
		first := time.Date(2024, 1, rapid.IntRange(1, 400).Draw(t, "first"), 0, 0, 0, 0, time.UTC)
		at := time.Date(2024, 1, rapid.IntRange(1, 900).Draw(t, "at"), rapid.IntRange(0, 23).Draw(t, "hour"), 0, 0, 0,
			time.FixedZone("", rapid.IntRange(-12, 14).Draw(t, "zone")*3600))
		every := rapid.SampledFrom([]longterm.Period{longterm.Daily, longterm.Weekly, longterm.Monthly}).Draw(t, "every")
		want := first
		for n := 1; want.Format(time.DateOnly) <= at.Format(time.DateOnly); n++ {
			want = first.AddDate(0, n*add[every][0], n*add[every][1])
			if every == longterm.Monthly && want.Day() != first.Day() {
				want = want.AddDate(0, 0, -want.Day()) // the month does not have the day
			}
		}
		todo := longterm.Todo{Due: longterm.Moment{Day: first.Format(time.DateOnly)}, Every: every}
		if got := todo.DueAfter(at).Day; got != want.Format(time.DateOnly) {
			t.Fatalf("%s every %s is due %s at %s, want %s", todo.Due, every, got, at, want.Format(time.DateOnly))
		}
	})
	at := time.Date(2026, 11, 25, 10, 0, 0, 0, time.UTC)
	todo := longterm.Todo{Due: longterm.Moment{Day: "0001-01-01"}}
	for n := range 100_000 {
		todo.Every = []longterm.Period{longterm.Daily, longterm.Weekly, longterm.Monthly}[n%3]
		if due := todo.DueAfter(at).Day; due <= "2026-11-25" || due > "2026-12-25" {
			t.Fatalf("every %s: %s", todo.Every, due)
		}
	}
}

// TestMonthsEnd has a todo of the last day of each month done again and again: short months do not move it for good. A
// day that it is moved to stays.
func TestMonthsEnd(t *testing.T) {
	t.Parallel()
	todo := longterm.Todo{Due: longterm.Moment{Day: "2026-12-31"}, Every: longterm.Monthly}
	for _, want := range []string{"2027-01-31", "2027-02-28", "2027-03-31", "2027-04-30", "2027-05-31"} {
		if todo = todo.Again(todo.Due.Start(time.UTC)); todo.Due.Day != want {
			t.Errorf("due %s, want %s", todo.Due, want)
		}
	}
	todo.Due = longterm.Moment{Day: "2027-06-10"}
	for _, want := range []string{"2027-07-10", "2027-08-10"} {
		if todo = todo.Again(todo.Due.Start(time.UTC)); todo.Due.Day != want {
			t.Errorf("moved: due %s, want %s", todo.Due, want)
		}
	}
}
