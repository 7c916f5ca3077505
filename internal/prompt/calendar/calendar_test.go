package calendar_test

import (
	"testing"
	"time"

	"github.com/throughline/throughline/internal/prompt/calendar"
	"github.com/throughline/throughline/internal/testing/check"
)

// A day has its date, with the year if it is another one. The clock of a message may be ahead of ours by midnight.
func TestDaysAreNamed(t *testing.T) {
	t.Parallel()
	for at, want := range map[string]string{
		"2026-01-01T23:59:00Z": "today", "2026-01-02T00:01:00Z": "2 January (tomorrow)",
		"2025-12-31T23:59:00Z": "31 December 2025 (yesterday)", "2025-12-26T12:00:00Z": "26 December 2025 (Friday)",
		"2025-12-25T12:00:00Z": "25 December 2025 (7 days ago)", "2025-11-01T12:00:00Z": "1 November 2025 (2 months ago)",
	} {
		said := check.Got(time.Parse(time.RFC3339, at))(t)
		check.Equal(t, want, calendar.Day(said, time.Date(2026, 1, 1, 23, 58, 0, 0, time.UTC), time.UTC), "%s", at)
	}
	for at, want := range map[string]string{
		"2026-01-02T00:00:00Z": "30 days ago", "2026-01-01T23:59:00Z": "1 January 2026",
		"2025-02-01T09:00:00Z": "1 February 2025",
	} {
		said := check.Got(time.Parse(time.RFC3339, at))(t)
		check.Equal(t, want, calendar.AgeOrDate(said, time.Date(2026, 2, 1, 9, 0, 0, 0, time.UTC), time.UTC), "%s", at)
	}
	january := time.Date(2026, 1, 20, 9, 0, 0, 0, time.UTC)
	check.Equal(t, "19 January (yesterday)", calendar.Day(january.Add(-24*time.Hour), january, time.UTC),
		"a day of this year")
}
