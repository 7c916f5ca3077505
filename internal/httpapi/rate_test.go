package httpapi_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/throughline/throughline/infra/local/dynamodblocal/dynamodbtest"
	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/dynamo/dynamotest"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/ratelimit"
)

// fakeLimiter remembers what is asked for, and refuses it where it is set to.
type fakeLimiter struct {
	refuses bool
	weights []int
}

func (l *fakeLimiter) Allow(_ context.Context, _ conversation.UserID, weight int) error {
	l.weights = append(l.weights, weight)
	if !l.refuses {
		return nil
	}
	f := fault.New(fault.RateLimited, "too much")
	f.RetryAfter = 16500 * time.Millisecond
	return f
}

// TestEveryOperationIsLimited calls every operation of the document for a user at the limit. All are refused before
// anything else is looked at.
func TestEveryOperationIsLimited(t *testing.T) {
	t.Parallel()
	m, limiter := newFakeStore(noon), &fakeLimiter{refuses: true}
	h := limitedFunctions(t, stores{m, m, m, &fakeEraser{}, newLongTerm()}, limiter)
	for path, operations := range serveDocument(t, h).Paths {
		for method := range operations {
			c := call{method: strings.ToUpper(method), path: strings.NewReplacer("{", "", "}", "").Replace(path), user: "ann"}
			expectProblem(t, h, 429, "rate_limited", "", c)
			if got := send(t, h, c).header.Get("Retry-After"); got != "17" {
				t.Errorf("%s %s: Retry-After %q, want 17", c.method, c.path, got)
			}
		}
	}
	expect(t, h, 200, call{method: "GET", path: "/openapi.json"})
	limiter.weights = nil
	expect(t, h, 401, call{method: "GET", path: "/v1/sessions"})
	expect(t, h, 404, call{method: "GET", path: "/v1/nothing", user: "ann"})
	if len(limiter.weights) > 0 {
		t.Errorf("counted %v for requests that reach no operation", limiter.weights)
	}
}

func TestWeights(t *testing.T) {
	t.Parallel()
	m, limiter := newFakeStore(noon), &fakeLimiter{}
	h := limitedFunctions(t, stores{m, m, m, &fakeEraser{}, newLongTerm()}, limiter)
	newSession(t, h, "s1")
	append := func(n int, content string) call {
		one := object{"role": "user", "content": content}
		messages := make([]any, n)
		for i := range messages {
			messages[i] = one
		}
		return call{method: "POST", path: "/v1/sessions/s1/messages", user: "ann", body: object{"messages": messages}}
	}
	for name, tc := range map[string]struct {
		call   call
		weight int
	}{
		"a read":             {call{method: "GET", path: "/v1/sessions/s1", user: "ann"}, 1},
		"one message":        {append(1, "x"), 1},
		"ten messages":       {append(10, "x"), 1},
		"eleven messages":    {append(11, "x"), 2},
		"fifty messages":     {append(50, "x"), 5},
		"a body of 40 KiB":   {append(1, strings.Repeat("x", 40<<10)), 3},
		"fifty of 4 KiB":     {append(50, strings.Repeat("x", 4<<10)), 5 + 12},
		"a refused scope":    {call{method: "GET", path: "/v1/prompts", user: "ann", scopes: "throughline/user"}, 0},
		"a chat of 33 KiB":   {call{method: "POST", path: "/v1/chat", user: "ann", body: strings.Repeat(" ", 33<<10)}, 3},
		"an export":          {call{method: "GET", path: "/v1/export", user: "ann"}, 1},
		"a body beside JSON": {call{method: "PUT", path: "/v1/profile", user: "ann", body: "nonsense"}, 1},
	} {
		limiter.weights = nil
		send(t, h, tc.call)
		sum := 0
		for _, weight := range limiter.weights {
			sum += weight
		}
		if sum != tc.weight {
			t.Errorf("%s weighs %v, want %d together", name, limiter.weights, tc.weight)
		}
	}
}

// TestOneUserAtTheLimit has two instances of all functions on a real store. A user who asks for more than the limit at
// both is refused at every door until the minute is over. Another user is not.
func TestOneUserAtTheLimit(t *testing.T) {
	t.Parallel()
	now := noon()
	clock := func() time.Time { return now }
	store := newRealStoresAt(t, clock)
	counter := dynamo.NewRequestCounter(dynamo.New(dynamodbtest.Client(t), dynamotest.Table(t), dynamo.WithClock(clock)))
	handlers := make([]func(call) reply, 2)
	for i := range handlers {
		h := limitedFunctions(t, store, ratelimit.New(ratelimit.Config{
			PerMinute: 40, Counter: counter, Now: clock, Report: func(_ context.Context, err error) { t.Error(err) },
		}))
		handlers[i] = func(c call) reply { return send(t, h, c) }
	}
	status := map[string][]int{}
	ask := func(user, path string) reply {
		r := handlers[len(status[user])%2](call{method: "GET", path: path, user: user})
		status[user] = append(status[user], r.status)
		return r
	}
	for range 50 {
		ask("ann", "/v1/goals")
	}
	allowed := 0
	for _, s := range status["ann"] {
		if s == 200 {
			allowed++
		}
	}
	if allowed < 40 || allowed > 42 { // each instance adds two at once
		t.Errorf("%d of 50 requests are allowed: %v", allowed, status["ann"])
	}
	doors := []string{"/v1/sessions", "/v1/export", "/v1/prompts", "/v1/preferences"}
	for _, path := range doors {
		for range 2 {
			if r := ask("ann", path); r.status != 429 || r.header.Get("Retry-After") != "60" {
				t.Errorf("%s: %d, Retry-After %q", path, r.status, r.header.Get("Retry-After"))
			}
		}
	}
	for range 2 {
		for _, path := range doors {
			if r := ask("bob", path); r.status != 200 {
				t.Errorf("another user, %s: %d %s", path, r.status, r.body)
			}
		}
	}
	now = now.Add(time.Minute)
	if diff := cmp.Diff(200, ask("ann", "/v1/goals").status); diff != "" {
		t.Errorf("the next minute (-want +got)\n%s", diff)
	}
}
