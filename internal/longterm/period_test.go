package longterm_test

import (
	"testing"
	"time"

	"github.com/throughline/throughline/internal/longterm"
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
		{"2026-10-31", longterm.Monthly, "2026-12-01"},
		{"2026-11-23", "", "2026-11-23"},
		{"2026-11-23", "year", "2026-11-23"},
	} {
		todo := longterm.Todo{Status: longterm.Pending, Due: longterm.Moment{Day: tt.due}, Every: tt.each}
		if got := todo.DueAfter(at).String(); got != tt.want {
			t.Errorf("%s every %q is due %s, want %s", tt.due, tt.each, got, tt.want)
		}
		if want := tt.each == "" && tt.due < "2026-11-25"; todo.IsOverdue(at) != want {
			t.Errorf("%s every %q: overdue is %v", tt.due, tt.each, !want)
		}
	}
}
