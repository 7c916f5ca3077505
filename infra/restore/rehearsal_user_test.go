package restore

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/throughline/throughline/infra/client"
	"github.com/throughline/throughline/infra/launch"
	"github.com/throughline/throughline/internal/testing/check"
)

func (x *rehearsal) as(stack *launch.Stack, user string) *client.Client {
	x.Helper()
	return check.Got(client.New(stack.Base).As(x.Context(), user))(x)
}

func (x *rehearsal) do(api *client.Client, method, path string, in, out any, headers ...client.Header) {
	x.Helper()
	if err := api.Do(x.Context(), method, path, in, out, headers...); err != nil {
		x.Fatalf("%s %s: %v", method, path, err)
	}
}

// say appends a message of the user to a session, which it creates.
func (x *rehearsal) say(stack *launch.Stack, user, session, text string, headers ...client.Header) {
	x.Helper()
	api := x.as(stack, user)
	x.do(api, http.MethodPut, "/v1/sessions/"+session, object{"context": "coach_conversation", "coachId": "coach"}, nil)
	x.do(api, http.MethodPost, "/v1/sessions/"+session+"/messages",
		object{"messages": []object{{"role": "user", "content": text}}}, nil, headers...)
}

// tell has a user say some secrets in a session of its own.
func (x *rehearsal) tell(stack *launch.Stack, user, word string, times int) {
	x.Helper()
	for i := range times {
		x.say(stack, user, "s-"+word, fmt.Sprintf("My secret word number %d is %s%s.", i, user, word))
	}
}

type message struct{ MessageID, Content string }

func (x *rehearsal) messages(stack *launch.Stack, user, session string) []message {
	x.Helper()
	var list struct{ Items []message }
	x.do(x.as(stack, user), http.MethodGet, "/v1/sessions/"+session+"/messages", nil, &list)
	return list.Items
}

// sessions counts the sessions of a user after the restore.
func (x *rehearsal) sessions(user string) int {
	x.Helper()
	var list struct{ Items []any }
	x.do(x.as(x.after, user), http.MethodGet, "/v1/sessions", nil, &list)
	return len(list.Items)
}

// finds checks how many messages a user finds after the restore.
func (x *rehearsal) finds(user string, want int) {
	x.Helper()
	var found struct {
		Messages []message
		Degraded []any
	}
	query := object{"query": "What is my secret word?", "limit": 100}
	x.do(x.as(x.after, user), http.MethodPost, "/v1/recall", query, &found)
	if len(found.Messages) != want || len(found.Degraded) > 0 {
		x.Errorf("%s finds %+v, want %d messages", user, found, want)
	}
}

// refuses checks that a stack refuses writes at every door with 503 and Retry-After, and goes on to answer reads.
func (x *rehearsal) refuses(stack *launch.Stack) {
	x.Helper()
	api := x.as(stack, "ann")
	for path, body := range map[string]any{
		"POST /v1/sessions":                  object{"context": "coach_conversation", "coachId": "coach"},
		"POST /v1/sessions/s-first/messages": object{"messages": []object{{"role": "user", "content": "Hello."}}},
		"PUT /v1/preferences":                object{"memory": true, "crossContext": true},
		"POST /v1/memories":                  object{"type": "PROFILE", "content": "The user rows."},
		"DELETE /v1/sessions/s-first":        nil,
		"DELETE /v1/user":                    nil,
		"POST /v1/chat":                      object{"sessionId": "s-first", "message": "Hello."},
	} {
		method, path, _ := strings.Cut(path, " ")
		var err error
		if path == "/v1/chat" {
			err = api.Chat(x.Context(), body, func(client.Event) error { return nil })
		} else {
			err = api.Do(x.Context(), method, path, body, nil)
		}
		var p *client.Problem
		if !errors.As(err, &p) || p.Status != http.StatusServiceUnavailable || p.RetryAfter != time.Minute {
			x.Errorf("%s %s of a read-only stage: %v, want 503 and Retry-After", method, path, err)
		}
	}
	if err := x.reads(stack); err != nil {
		x.Errorf("reads of a read-only stage: %v", err)
	}
}

// reads reads a user's sessions and searches them.
func (x *rehearsal) reads(stack *launch.Stack) error {
	x.Helper()
	api := x.as(stack, "ann")
	var found struct{ Degraded []any }
	err := errors.Join(api.Do(x.Context(), http.MethodGet, "/v1/sessions", nil, nil),
		api.Do(x.Context(), http.MethodPost, "/v1/recall", object{"query": "secret"}, &found))
	if err == nil && len(found.Degraded) > 0 {
		err = fmt.Errorf("the search lacks %v", found.Degraded)
	}
	return err
}
