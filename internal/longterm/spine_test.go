package longterm_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/testing/check"
)

// TestUserSummaryWithSpines checks that the app's own remarks come first, that nothing is repeated, and that what the
// app has stored replaces earlier remarks.
func TestUserSummaryWithSpines(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 2, 5, 18, 0, 0, 0, time.UTC)
	spine := func(coach string, minutes int, wins ...string) longterm.Spine {
		return longterm.Spine{CoachID: coach, Wins: wins, UpdatedAt: at.Add(time.Duration(minutes) * time.Minute)}
	}
	var many []string
	for i := range 2 * longterm.MaxRemarks {
		many = append(many, fmt.Sprint("many ", i))
	}
	full := append([]string{"own"}, many[:longterm.MaxRemarks]...)
	app := longterm.UserSummary{Patterns: []string{"p"}, Wins: []string{"own"}, StoredAt: at, LastUpdated: at}
	tests := map[string]struct {
		spines []longterm.Spine
		want   []string
		at     int
	}{
		"none":           {nil, []string{"own"}, 0},
		"latest first":   {[]longterm.Spine{spine("a", 1, "old"), spine("b", 2, "new")}, []string{"own", "new", "old"}, 2},
		"each once":      {[]longterm.Spine{spine("a", 1, "Own.", "x"), spine("b", 1, "X")}, []string{"own", "x"}, 1},
		"replaced":       {[]longterm.Spine{spine("a", 0, "gone"), spine("b", -1, "gone, too")}, []string{"own"}, 0},
		"without text":   {[]longterm.Spine{spine("a", 9)}, []string{"own"}, 0},
		"not too many":   {[]longterm.Spine{spine("a", 2, many...)}, full, 2},
		"not any number": {[]longterm.Spine{spine("b", 2, many...), spine("a", 1, "z")}, full, 2},
	}
	for name, test := range tests {
		got := app.With(test.spines)
		want := longterm.UserSummary{
			Patterns: []string{"p"}, Wins: test.want, StoredAt: at, LastUpdated: at.Add(time.Duration(test.at) * time.Minute),
		}
		check.Same(t, want, got, "%s", name)
	}
	check.Same(t, []string{"own"}, app.Wins, "the app's own changed")
	if (longterm.UserSummary{}).IsEmpty() == app.IsEmpty() {
		t.Error("a user summary with remarks is empty, or one without is not")
	}
}
