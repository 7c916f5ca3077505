package httpapi_test

import (
	"context"
	"encoding/base64"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"pgregory.net/rapid"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/httpapi"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/ratelimit"
	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/testing/dynamodbtest"
	"github.com/throughline/throughline/internal/testing/dynamotest"
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
	limiter := &fakeLimiter{refuses: true}
	h := limitedFunctions(t, newMemory(t, noon).stores(&fakeEraser{}), limiter)
	for path, operations := range serveDocument(t, h).Paths {
		for method := range operations {
			c := as("ann", strings.ToUpper(method), strings.NewReplacer("{", "", "}", "").Replace(path))
			expectProblem(t, h, 429, "rate_limited", "", c)
			check.Equal(t, "17", send(t, h, c).header.Get("Retry-After"), "%s %s: Retry-After", c.method, c.path)
		}
	}
	expect(t, h, 200, as("", "GET", "/openapi.json"))
	limiter.weights = nil
	expect(t, h, 401, as("", "GET", "/v1/sessions"))
	expect(t, h, 404, as("ann", "GET", "/v1/nothing"))
	if len(limiter.weights) > 0 {
		t.Errorf("counted %v for requests that reach no operation", limiter.weights)
	}
}

func TestWeights(t *testing.T) {
	t.Parallel()
	limiter := &fakeLimiter{}
	h := limitedFunctions(t, newMemory(t, noon).stores(&fakeEraser{}), limiter)
	newSession(t, h, "s1")
	append := func(n int, content string) call {
		one := object{"role": "user", "content": content}
		messages := make([]any, n)
		for i := range messages {
			messages[i] = one
		}
		return as("ann", "POST", "/v1/sessions/s1/messages", object{"messages": messages})
	}
	for name, tc := range map[string]struct {
		call   call
		weight int
	}{
		"a read":             {as("ann", "GET", "/v1/sessions/s1"), 1},
		"one message":        {append(1, "x"), 1},
		"ten messages":       {append(10, "x"), 1},
		"eleven messages":    {append(11, "x"), 2},
		"fifty messages":     {append(50, "x"), 5},
		"a body of 40 KiB":   {append(1, strings.Repeat("x", 40<<10)), 3},
		"fifty of 4 KiB":     {append(50, strings.Repeat("x", 4<<10)), 5 + 12},
		"a refused scope":    {call{method: "GET", path: "/v1/prompts", user: "ann", scopes: "throughline/user"}, 0},
		"a chat of 33 KiB":   {as("ann", "POST", "/v1/chat", strings.Repeat(" ", 33<<10)), 3},
		"forget a memory":    {as("ann", "DELETE", "/v1/memories/mem_x"), 10},
		"reject a memory":    {as("ann", "POST", "/v1/memories/mem_x/review", object{"verdict": "reject"}), 10},
		"confirm a memory":   {as("ann", "POST", "/v1/memories/mem_x/review", object{"verdict": "confirm"}), 1},
		"delete a todo":      {as("ann", "DELETE", "/v1/todos/todo_x"), 1},
		"namespaces":         {as("ann", "GET", "/v1/document-namespaces?limit=1"), 10},
		"an export":          {as("ann", "GET", "/v1/export"), 1},
		"a body beside JSON": {as("ann", "PUT", "/v1/profile", "nonsense"), 1},
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

// TestWeightIsWhatArrives sends one body in forms that TestWeightOfAnyForm does not draw. It weighs the same in each.
func TestWeightIsWhatArrives(t *testing.T) {
	t.Parallel()
	limiter := &fakeLimiter{}
	h := limitedFunctions(t, newMemory(t, noon).stores(&fakeEraser{}), limiter)
	newSession(t, h, "s1")
	body := bodyText(t, one(object{"content": strings.Repeat("x", 40<<10)}))
	event := func(e events.APIGatewayV2HTTPRequest) func() { return func() { sendEvent(t, h, e) } }
	encoded := base64.StdEncoding.EncodeToString([]byte(body))
	limiter.weights = nil
	for name, send := range map[string]func(){
		"base64 that ends in junk": event(events.APIGatewayV2HTTPRequest{Body: encoded + "%", IsBase64Encoded: true}),
		"chunked": func() {
			r := httptest.NewRequestWithContext(t.Context(), "POST", "/v1/chat", strings.NewReader(body))
			r.ContentLength = -1
			r.Header.Set("Authorization", "Bearer user:ann")
			h.ServeHTTP(httptest.NewRecorder(), r)
		},
		"chunked, without an operation for bodies": func() {
			r := httptest.NewRequestWithContext(t.Context(), "GET", "/v1/export", strings.NewReader(body))
			r.ContentLength = -1
			r.Header.Set("Authorization", "Bearer user:ann")
			h.ServeHTTP(httptest.NewRecorder(), r)
		},
	} {
		send()
		check.Same(t, []int{3}, slices.DeleteFunc(limiter.weights, func(n int) bool { return n == 0 }), "%s", name)
		limiter.weights = nil
	}
}

// sendEvent appends to a session by an event of the gateway, whose headers and body are as they are.
func sendEvent(t *testing.T, h http.Handler, e events.APIGatewayV2HTTPRequest) {
	t.Helper()
	e.RawPath, e.RequestContext.HTTP.Method = "/v1/sessions/s1/messages", "POST"
	e.RequestContext.Authorizer = &events.APIGatewayV2HTTPRequestContextAuthorizerDescription{
		JWT: &events.APIGatewayV2HTTPRequestContextAuthorizerJWTDescription{Claims: map[string]string{"sub": "ann"}},
	}
	headers := map[string]string{
		"authorization": "Bearer " + unsignedToken(t, map[string]string{"sub": "ann", "scope": "throughline/user"}),
	}
	maps.Copy(headers, e.Headers)
	e.Headers = headers
	out, err := httpapi.GatewayHandler(h)(t.Context(), e)
	if err != nil || out.StatusCode >= 500 {
		t.Errorf("%d %s, %v", out.StatusCode, out.Body, err)
	}
}

// TestWeightOfAnyForm draws a body, what the headers say of it, and whether it comes encoded. It weighs what it weighs
// as plain JSON, whatever it holds.
func TestWeightOfAnyForm(t *testing.T) {
	t.Parallel()
	limiter := &fakeLimiter{}
	h := limitedFunctions(t, newMemory(t, noon).stores(&fakeEraser{}), limiter)
	weigh := func(e events.APIGatewayV2HTTPRequest) (sum int) {
		limiter.weights = nil
		sendEvent(t, h, e)
		for _, weight := range limiter.weights {
			sum += weight
		}
		return sum
	}
	rapid.Check(t, func(rt *rapid.T) {
		body := rapid.SampledFrom([]string{"x", "{", `{"messages":[]}`, "\xff", "é"}).Draw(rt, "begins") +
			strings.Repeat(rapid.SampledFrom([]string{"a", " ", "\x00", "語"}).Draw(rt, "goes on"),
				rapid.IntRange(0, 200<<10).Draw(rt, "times"))
		e := events.APIGatewayV2HTTPRequest{Body: body, Headers: map[string]string{}}
		for name, values := range map[string][]string{
			"content-type":      {"application/json", "text/plain", "multipart/form-data; boundary=x", ""},
			"content-length":    {"0", "1", "-1", "99999999", "x"},
			"transfer-encoding": {"chunked", "identity"},
			"content-encoding":  {"gzip", "identity"},
		} {
			if rapid.Bool().Draw(rt, "has "+name) {
				e.Headers[name] = rapid.SampledFrom(values).Draw(rt, name)
			}
		}
		if rapid.Bool().Draw(rt, "encoded") {
			e.Body, e.IsBase64Encoded = base64.StdEncoding.EncodeToString([]byte(body)), true
		}
		plain := events.APIGatewayV2HTTPRequest{Body: body, Headers: map[string]string{"content-type": "application/json"}}
		if got, want := weigh(e), weigh(plain); got != want || got < len(body)/(16<<10) {
			rt.Errorf("%d bytes with %v weigh %d, as plain JSON %d", len(body), e.Headers, got, want)
		}
	})
}

// patientCounter waits for the record as long as a busy machine takes, where a limiter would let the request pass.
type patientCounter struct{ ratelimit.Counter }

func (c patientCounter) CountRequests(ctx context.Context, user conversation.UserID, minute time.Time, n int,
) (int, error) {
	return c.Counter.CountRequests(context.WithoutCancel(ctx), user, minute, n)
}

// TestOneUserAtTheLimit has two instances of all functions on a real store. A user who asks for more than the limit at
// both is refused at every door until the minute is over. Another user is not.
func TestOneUserAtTheLimit(t *testing.T) {
	t.Parallel()
	now := noon()
	clock := func() time.Time { return now }
	store := newMemory(t, clock).erasable()
	counter := dynamo.NewRequestCounter(dynamo.New(dynamodbtest.Client(t), dynamotest.Table(t), dynamo.WithClock(clock)))
	handlers := make([]func(call) reply, 2)
	for i := range handlers {
		h := limitedFunctions(t, store, ratelimit.New(ratelimit.Config{
			PerMinute: 40, Counter: patientCounter{counter}, Now: clock,
			Report: func(_ context.Context, err error) { t.Error(err) },
		}))
		handlers[i] = func(c call) reply { return send(t, h, c) }
	}
	status := map[string][]int{}
	ask := func(user, path string) reply {
		r := handlers[len(status[user])%2](as(user, "GET", path))
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
	check.Same(t, 200, ask("ann", "/v1/goals").status, "the next minute")
}

// fakeExportLimit counts the exports that run. It refuses another one while there is one.
type fakeExportLimit struct{ running, begun int }

func (s *fakeExportLimit) BeginExport(context.Context, conversation.UserID) (func(context.Context) error, error) {
	if s.running > 0 {
		f := fault.New(fault.RateLimited, "one is under way")
		f.RetryAfter = 2 * time.Second
		return nil, f
	}
	s.running++
	s.begun++
	return func(ctx context.Context) error { s.running--; return ctx.Err() }, nil
}

// TestExportsGiveTheirPermitBack ends exports in every way. Each has given its permit back when the response ends.
func TestExportsGiveTheirPermitBack(t *testing.T) {
	t.Parallel()
	failure := fault.New(fault.Unavailable, "")
	limit := &fakeExportLimit{}
	for name, tc := range map[string]struct {
		method  string
		profile *fault.Error
		seed    *fault.Error // read after a profile that is not there
		spine   *fault.Error
		status  int
	}{
		"whole":                  {"GET", nil, nil, nil, 200},
		"only its head":          {"HEAD", nil, nil, nil, 200},
		"broken off":             {"GET", nil, nil, failure, 200},
		"failed at the start":    {"GET", failure, nil, nil, 503},
		"failed before a record": {"GET", nil, failure, nil, 503},
	} {
		store := newMemory(t, noon)
		records := store.records
		if tc.profile != nil {
			records.Profile = failing[longterm.Profile]{tc.profile}
		}
		if tc.seed != nil {
			records.Seed = failing[longterm.Seed]{tc.seed}
		}
		var spine error
		if tc.spine != nil {
			spine = tc.spine
		}
		b, _ := base()
		h := httpapi.Coach(httpapi.CoachDeps{Base: b, Verifier: fakeVerifier{}, Export: httpapi.ExportDeps{
			Sessions: store, Messages: store, LongTerm: records, Spines: spines{fail: spine}, Prompts: &fakePrompts{},
			Documents: store.documents, Usage: usage{}, Held: held{}, Limit: limit,
		}})
		r := httptest.NewRequestWithContext(t.Context(), tc.method, "/v1/export", nil)
		r.Header.Set("Authorization", "Bearer user:ann")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != tc.status || limit.running != 0 {
			t.Errorf("%s: %d, %d exports are under way", name, w.Code, limit.running)
		}
		limit.running = 1
		w = httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != 429 || w.Header().Get("Retry-After") != "2" {
			t.Errorf("%s, another under way: %d, Retry-After %q", name, w.Code, w.Header().Get("Retry-After"))
		}
		limit.running = 0
	}
	if limit.begun != 5 {
		t.Errorf("%d exports have begun", limit.begun)
	}
}

// failing is a store that is down.
type failing[T any] struct{ err error }

func (f failing[T]) Get(context.Context, conversation.UserID) (none T, err error) { return none, f.err }

func (f failing[T]) Put(_ context.Context, _ conversation.UserID, in T) (T, error) { return in, f.err }
