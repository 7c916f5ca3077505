package httpapi_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/registry"
	"github.com/throughline/throughline/internal/testing/check"
)

// TestTextIsVisible refuses texts that nobody sees, in new records and in changed ones, with the name of the field.
func TestTextIsVisible(t *testing.T) {
	t.Parallel()
	h, _, _ := newMessages(t)
	for path, tt := range map[string]struct {
		field     string
		body      object
		isChanged bool
	}{
		"/v1/memories":  {"content", object{"type": "PEOPLE", "content": "x"}, true},
		"/v1/todos":     {"content", object{"content": "x", "coachId": "c"}, true},
		"/v1/goals":     {"title", object{"title": "x", "goalType": "habit"}, true},
		"/v1/check-ins": {"note", object{"note": "x"}, false},
	} {
		made := answer(t, h, 201, as("ann", "POST", path, tt.body))
		for _, blank := range []string{" ", "\u200b", "\n", " \t\u2060 "} {
			tt.body[tt.field] = blank
			expectProblem(t, h, 422, "invalid", tt.field, as("ann", "POST", path, tt.body))
			if tt.isChanged {
				one := fmt.Sprint(path, "/", made["id"])
				expectProblem(t, h, 422, "invalid", tt.field, as("ann", "PATCH", one, object{tt.field: blank}))
			}
		}
	}
	for _, blank := range []string{" ", "\u200b", "\n"} {
		expectProblem(t, h, 422, "invalid", "content", as("ann", "PUT", "/v1/seed", object{"content": blank}))
	}
	expect(t, h, 200, as("ann", "PUT", "/v1/seed", object{"content": ""}))
	expect(t, h, 201, as("ann", "POST", "/v1/check-ins", object{}))
}

// TestCheckInIsNotAhead takes a check-in's time up to five minutes ahead, as a message's.
func TestCheckInIsNotAhead(t *testing.T) {
	t.Parallel()
	h, _, _ := newMessages(t)
	for ahead, status := range map[time.Duration]int{-time.Hour: 201, 4 * time.Minute: 201, 6 * time.Minute: 422} {
		at := noon().Add(ahead).Format(time.RFC3339)
		c := as("ann", "POST", "/v1/check-ins", object{"note": "x", "timestamp": at})
		if expect(t, h, status, c); status == 422 {
			expectProblem(t, h, 422, "invalid", "timestamp", c)
		}
	}
}

// TestAppHasRecalls tells what a context recalls: nothing said is all, and an empty list is none.
func TestAppHasRecalls(t *testing.T) {
	h, _, _ := newMessages(t)
	app := *registry.Live()
	app.Contexts = append([]registry.Context{}, app.Contexts...)
	app.Contexts[0].Recalls, app.Contexts[1].Recalls = []string{}, []string{"workout_log"}
	registry.Use(&app)
	t.Cleanup(func() { registry.Use(nil) })
	contexts := answer(t, h, 200, as("ann", "GET", "/v1/app"))["contexts"].([]any)
	for i, want := range []string{"[]", "[workout_log]", "<nil>"} {
		check.Equal(t, want, fmt.Sprint(contexts[i].(object)["recalls"]), "context %d recalls", i)
	}
}
