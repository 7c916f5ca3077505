package httpapi_test

import (
	"context"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/health"
	"github.com/throughline/throughline/internal/httpapi"
	"github.com/throughline/throughline/internal/sweep"
	"github.com/throughline/throughline/internal/testing/check"
)

// stageHealth is how the stage is.
type stageHealth health.Report

func (h stageHealth) Read(context.Context) health.Report { return health.Report(h) }

func backfilling() stageHealth {
	return stageHealth{
		Queues: []health.Queue{
			{Name: "sessions", Overdue: 100, More: true, Since: noon().Add(-time.Minute)}, {Name: "spines"},
		},
		DeadLetters: map[string]int{"summarize": 2, "remember": 0}, SkippedMessages: 3,
		OldestUncovered: noon().Add(-time.Minute),
		InVain:          []sweep.InVain{{Stage: "extracting", Visits: 12, Since: noon().Add(-time.Minute), At: noon()}},
		Migration: &health.Migrated{
			Stage: "dual", Percent: 25, Backfilled: 10, Progress: health.Progress{
				Action: "backfill", Percent: 40, PerSecond: 500, SecondLeft: 60, Sessions: 7, Messages: 70, Problems: 1,
			},
		},
	}
}

func TestHealth(t *testing.T) {
	t.Parallel()
	b, _ := base()
	for name, tc := range map[string]struct {
		report stageHealth
		want   object
	}{
		"all": {backfilling(), object{
			"queues": []any{
				object{"name": "sessions", "overdue": number("100"), "more": true, "since": "2026-02-05T11:59:00.000Z"},
				object{"name": "spines", "overdue": number("0"), "more": false},
			},
			"deadLetters": []any{
				object{"function": "remember", "messages": number("0")}, object{"function": "summarize", "messages": number("2")},
			},
			"migration": object{
				"stage": "dual", "percent": number("25"), "backfilled": number("10"), "cleaned": false,
				"progress": object{
					"action": "backfill", "done": false, "percent": number("40"), "messagesPerSecond": number("500"),
					"secondsLeft": number("60"), "sessions": number("7"), "messages": number("70"), "problems": number("1"),
				},
			},
			"degraded": []any{}, "skippedMessages": number("3"), "oldestUncovered": "2026-02-05T11:59:00.000Z",
			"inVain": []any{object{
				"stage": "extracting", "visits": number("12"), "since": "2026-02-05T11:59:00.000Z",
			}},
		}},
		"nothing could be read": {stageHealth{Unread: []health.Part{health.QueuesPart, health.MigrationPart}}, object{
			"queues": []any{}, "deadLetters": []any{}, "inVain": []any{}, "degraded": []any{
				object{"source": "queues", "reason": "unavailable"}, object{"source": "migration", "reason": "unavailable"},
			},
		}},
	} {
		h := httpapi.Messages(httpapi.MessagesDeps{Base: b, Health: tc.report, Cursors: cursorKey(t, "1")})
		got := answer(t, h, 200, as("ann", "GET", "/v1/health"))
		check.Same(t, tc.want, got, "%s", name)
	}
}
