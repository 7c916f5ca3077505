package choose

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/prompt/gather"
)

// TestUrgentLoopsComeFirst has a promise that is due today, older than many without a day, and one of last year.
func TestUrgentLoopsComeFirst(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 28, 10, 0, 0, 0, time.UTC)
	todo := func(content, due string, age time.Duration) longterm.Todo {
		return longterm.Todo{
			ID: content, Content: content, Status: longterm.Pending, Due: longterm.Moment{Day: due}, CreatedAt: now.Add(-age),
		}
	}
	todos := []longterm.Todo{
		todo("pay the bill", "2026-11-28", 20*time.Hour), todo("call Ana", "2026-11-25", 30*time.Hour),
		todo("museum", "2026-01-01", 300*24*time.Hour), todo("almost lapsed", "2026-10-29", 60*24*time.Hour),
		todo("lapsed", "2026-10-28", 60*24*time.Hour), todo("next week", "2026-12-04", time.Hour),
	}
	for i := range 6 {
		todos = append(todos, todo(fmt.Sprint("some time ", i), "", time.Duration(i+2)*time.Minute))
	}
	c := &chooser{
		Sources: &gather.Sources{Now: now, Zone: time.UTC, Snapshot: longterm.Snapshot{Todos: todos}},
		claims:  map[dedupeKey]string{},
	}
	var got []string
	for _, e := range chooseLoops(c, &Slot{Block: "open_loops", Items: 5}) {
		if e.Left == "" {
			got = append(got, e.Text)
		}
	}
	want := []string{"pay the bill", "call Ana", "almost lapsed", "some time 0", "some time 1"}
	if diff := cmp.Diff(want, got); diff != "" || slices.Contains(got, "museum") {
		t.Errorf("open loops (-want +got):\n%s", diff)
	}
}
