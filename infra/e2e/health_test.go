package e2e_test

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/throughline/throughline/infra/client"
)

// stageHealth is the state of the background work, as far as the tests read it.
type stageHealth struct {
	Queues []struct {
		Name    string
		Overdue int
		Since   string
	}
	DeadLetters []struct {
		Function string
		Messages int
	}
	Migration struct {
		Stage    string
		Percent  int
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
	ann, err := client.New(stack.Base).As(t.Context(), "ann")
	if err != nil {
		t.Fatal(err)
	}
	before := time.Now().UTC().Add(-time.Second)
	open(t, ann, "coach_conversation", "s")
	say(t, ann, "s", "My knee hurts.")
	var got stageHealth
	for len(got.Queues) == 0 || got.Queues[0].Overdue == 0 {
		got = healthOf(t, ann)
	}
	sessions := got.Queues[0]
	since, err := time.Parse(time.RFC3339, sessions.Since)
	if sessions.Name != "sessions" || sessions.Overdue != 1 || err != nil || since.Before(before) ||
		since.After(time.Now()) {
		t.Errorf("overdue %+v, %v", sessions, err)
	}
	if len(got.DeadLetters) != 2 || got.DeadLetters[0].Function != "remember" || got.DeadLetters[0].Messages != 0 ||
		got.DeadLetters[1].Function != "summarize" || got.DeadLetters[1].Messages != 0 {
		t.Errorf("dead letters %+v", got.DeadLetters)
	}
	if got.Migration.Stage != "shared" || got.Migration.Percent != 100 {
		t.Errorf("migration %+v", got.Migration)
	}
	var settled struct{ Settled bool }
	do(t, client.New(stack.Base), http.MethodPost, "/dev/settle", object{"timeoutMs": 20_000}, &settled)
	if got := healthOf(t, ann); !settled.Settled || got.Queues[0].Overdue != 0 {
		t.Errorf("settled %t, overdue %+v", settled.Settled, got.Queues)
	}

	user, err := client.New(stack.Base).As(t.Context(), "ann", "throughline/user")
	if err != nil {
		t.Fatal(err)
	}
	var problem *client.Problem
	err = user.Do(t.Context(), http.MethodGet, "/v1/health", nil, nil)
	if !errors.As(err, &problem) || problem.Status != 403 {
		t.Errorf("without the app's scope %v, want 403", err)
	}
}

// checkHealth expects that the API says of the migration that an action is done and has found nothing.
func (m *migrationCase) checkHealth(action string) {
	m.Helper()
	api, err := client.New(m.base).As(m.Context(), "operator")
	if err != nil {
		m.Fatal(err)
	}
	got := healthOf(m.T, api).Migration
	if p := got.Progress; p.Action != action || !p.Done || p.Problems != 0 || p.Sessions < m.table.Sessions {
		m.Errorf("the API says of the migration %+v", got)
	}
}
