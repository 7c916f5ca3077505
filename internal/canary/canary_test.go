package canary_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/canary"
	"github.com/throughline/throughline/internal/chat"
	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
)

// app is a stack with one answer. It keeps the sessions that are there.
type app struct {
	answer   []chat.Event
	refused  error
	stuck    string // the session that is not deleted
	sessions []conversation.Session
}

var now = time.Date(2026, 11, 26, 7, 0, 0, 0, time.UTC)

func (a *app) CreateSession(
	_ context.Context, user conversation.UserID, in conversation.NewSession, _ conversation.Idempotency,
) (conversation.Created, error) {
	if _, err := in.Prepare(); err != nil || user != canary.User {
		return conversation.Created{}, errors.Join(err, fault.New(fault.Invalid, string(user)))
	}
	a.sessions = append(a.sessions, conversation.Session{ID: "new", CreatedAt: now})
	return conversation.Created{Session: a.sessions[len(a.sessions)-1]}, nil
}

func (a *app) Sessions(
	context.Context, conversation.UserID, conversation.SessionFilter, conversation.Page,
) ([]conversation.Session, conversation.Position, error) {
	return slices.Clone(a.sessions), "", nil
}

func (a *app) Start(_ context.Context, _ conversation.UserID, r chat.Request) (chat.Answer, error) {
	if r.SessionID != "new" || r.Message == "" {
		return chat.Answer{}, errors.New("another session")
	}
	return chat.Answer{Events: slices.Values(a.answer)}, a.refused
}

func (a *app) DeleteSession(ctx context.Context, _ conversation.UserID, id string) error {
	if id == a.stuck {
		return errors.New("stuck")
	}
	a.sessions = slices.DeleteFunc(a.sessions, func(s conversation.Session) bool { return s.ID == id })
	return ctx.Err()
}

func TestTurn(t *testing.T) {
	t.Parallel()
	token := chat.Event{Name: "token", Data: chat.Token{Text: "Ready."}}
	done := chat.Event{Name: "done", Data: chat.Done{MessageID: "m", FinishReason: "stop"}}
	tests := map[string]struct {
		app  app
		want string // in the error; empty means none
	}{
		"a whole answer": {app: app{answer: []chat.Event{token, done}}},
		"refused":        {app{refused: fault.New(fault.Unavailable, "no table")}, "begin turn"},
		"fails in its middle": {
			app{answer: []chat.Event{token, {Name: "error", Data: fault.New(fault.Unavailable, "no model")}}}, "no model",
		},
		"cut": {
			app{answer: []chat.Event{token, {Name: "done", Data: chat.Done{FinishReason: chat.Interrupted}}}}, "was cut",
		},
		"empty":             {app{answer: []chat.Event{done}}, "is empty"},
		"without an end":    {app{answer: []chat.Event{token}}, "no end"},
		"cannot be deleted": {app{answer: []chat.Event{token, done}, stuck: "new"}, "delete session: stuck"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := &tt.app
			a.sessions = []conversation.Session{
				{ID: "left", CreatedAt: now.Add(-time.Hour)}, {ID: "under way", CreatedAt: now.Add(-time.Minute)},
			}
			service := &canary.Service{Sessions: a, Chat: a, Eraser: a, Now: func() time.Time { return now }}
			err := service.Turn(t.Context())
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("the turn ends with %v, not %q", err, tt.want)
			}
			if a.stuck == "" && (len(a.sessions) != 1 || a.sessions[0].ID != "under way") {
				t.Errorf("left are %v", a.sessions)
			}
		})
	}
}

// A turn whose time is over has its session deleted all the same.
func TestTurnIsDeletedWhenItsTimeIsOver(t *testing.T) {
	t.Parallel()
	a := &app{refused: context.DeadlineExceeded}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	service := &canary.Service{Sessions: a, Chat: a, Eraser: a, Now: func() time.Time { return now }}
	if err := service.Turn(ctx); !errors.Is(err, context.DeadlineExceeded) || len(a.sessions) > 0 {
		t.Errorf("%v; left are %v", err, a.sessions)
	}
}
