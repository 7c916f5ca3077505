package choose

import (
	"testing"
	"time"

	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/prompt/gather"
	"github.com/throughline/throughline/internal/testing/check"
)

// A line says in the user's days when a fact was said and until when it holds, and when a promise is due.
func TestNotes(t *testing.T) {
	t.Parallel()
	tokyo := time.FixedZone("", 9*3600)
	now := time.Date(2026, 11, 19, 20, 0, 0, 0, time.UTC) // the 20th in Tokyo
	c := &chooser{Sources: &gather.Sources{Now: now, Zone: tokyo}}
	for _, tt := range []struct {
		memory longterm.Memory
		want   string
	}{
		{longterm.Memory{}, ""},
		{longterm.Memory{Status: longterm.Stated, SaidAt: now}, "said on 20 November 2026"},
		{
			longterm.Memory{Status: longterm.Planned, Until: longterm.Moment{Day: "2026-12-01"}, SaidAt: now},
			"planned, until 1 December 2026, said on 20 November 2026",
		},
		{
			longterm.Memory{Status: longterm.Reported, Until: longterm.Moment{Time: now.Add(time.Hour)}},
			"reported, until 20 November 2026, 06:00",
		},
		{longterm.Memory{Until: longterm.Moment{Time: now}}, "until 20 November 2026, 05:00, over"},
		{longterm.Memory{From: longterm.Moment{Day: "2026-11-20"}, SaidAt: now}, "said on 20 November 2026"},
		{
			longterm.Memory{From: longterm.Moment{Day: "2026-11-21"}, SaidAt: now},
			"planned, from 21 November 2026, said on 20 November 2026",
		},
	} {
		check.Equal(t, tt.want, c.memoryNote(tt.memory), "%+v", tt.memory)
	}
	for _, tt := range []struct {
		todo longterm.Todo
		want string
	}{
		{longterm.Todo{Status: longterm.Pending}, ""},
		{longterm.Todo{Status: longterm.Pending, CreatedAt: now.AddDate(-1, 0, 0)}, ""}, // the app keeps its own
		{longterm.Todo{Status: longterm.Pending, CreatedAt: now.Add(-time.Hour), MessageIDs: []string{"m"}}, ""},
		{
			longterm.Todo{
				Status: longterm.Pending, CreatedAt: now.Add(-6 * time.Hour), MessageIDs: []string{"m"}, By: longterm.ByAssistant,
			},
			"said on 19 November 2026, you promised it",
		},
		{longterm.Todo{Status: longterm.Pending, Due: longterm.Moment{Day: "2026-11-20"}}, "due today"},
		{longterm.Todo{Status: longterm.Pending, Due: longterm.Moment{Day: "2026-11-21"}}, "due 21 November 2026"},
		{
			longterm.Todo{Status: longterm.Pending, Due: longterm.Moment{Day: "2026-11-16"}, Every: longterm.Weekly},
			"due 23 November 2026, every week",
		},
		{
			longterm.Todo{Status: longterm.Pending, Due: longterm.Moment{Day: "2026-11-13"}, Every: longterm.Weekly},
			"due today, every week",
		},
		{
			longterm.Todo{Status: longterm.Pending, Due: longterm.Moment{Day: "2026-11-19"}, By: longterm.ByAssistant},
			"overdue since 19 November 2026, you promised it",
		},
		{
			longterm.Todo{Status: longterm.TodoCompleted, Due: longterm.Moment{Day: "2026-11-19"}, CompletedAt: now},
			"done on 20 November 2026",
		},
	} {
		check.Equal(t, tt.want, c.todoNote(tt.todo), "%+v", tt.todo)
	}
}
