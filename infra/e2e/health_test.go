package e2e_test

import (
	"net/http"
	"testing"

	"github.com/throughline/throughline/infra/client"
	"github.com/throughline/throughline/internal/testing/check"
)

// stageHealth is the state of the background work, as far as the tests read it.
type stageHealth struct {
	Queues []struct {
		Name    string
		Overdue int
	}
	DeadLetters []struct {
		Function string
		Messages int
	}
	Migration struct {
		Stage    string
		Progress struct {
			Action             string
			Done               bool
			Sessions, Problems int
		}
	}
	Degraded []struct{ Source, Reason string }
}

// healthOf reads the state, all of it.
func healthOf(t *testing.T, api *client.Client) stageHealth {
	t.Helper()
	var out stageHealth
	do(t, api, http.MethodGet, "/v1/health", nil, &out)
	if len(out.Degraded) > 0 {
		t.Errorf("degraded %+v", out.Degraded)
	}
	return out
}

// TestHealth lets a session fall due while no sweep runs, and then lets the sweep run.
func TestHealth(t *testing.T) {
	t.Parallel()
	stack := startStack(t, "TRIGGERS=messages=20,idle=1s,sweep=1h")
	ann := check.Got(client.New(stack.Base).As(t.Context(), "ann"))(t)
	open(t, ann, "coach_conversation", "s")
	say(t, ann, "s", "My knee hurts.")
	var got stageHealth
	for len(got.Queues) == 0 || got.Queues[0].Overdue == 0 {
		got = healthOf(t, ann)
	}
	if got.Queues[0].Name != "sessions" || got.Queues[0].Overdue != 1 || len(got.DeadLetters) != 2 ||
		got.Migration.Stage != "shared" {
		t.Errorf("got %+v", got)
	}
	var settled struct{ Settled bool }
	do(t, client.New(stack.Base), http.MethodPost, "/dev/settle", object{"timeoutMs": 20_000}, &settled)
	if got := healthOf(t, ann); !settled.Settled || got.Queues[0].Overdue != 0 {
		t.Errorf("settled %t, overdue %+v", settled.Settled, got.Queues)
	}
}

// checkHealth expects that the API says of the migration that an action is done and has found nothing.
func (m *migrationCase) checkHealth(action string) {
	m.Helper()
	api := check.Got(client.New(m.base).As(m.Context(), "operator"))(m)
	got := healthOf(m.T, api).Migration
	if p := got.Progress; p.Action != action || !p.Done || p.Problems != 0 || p.Sessions < m.table.Sessions {
		m.Errorf("the API says of the migration %+v", got)
	}
}
