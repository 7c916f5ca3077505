package httpapi_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/httpapi"
	"github.com/throughline/throughline/internal/testing/check"
)

func TestNoRoute(t *testing.T) {
	t.Parallel()
	h, _, _ := newMessages(t)
	for _, path := range []string{
		"/", "/v1", "/v1/nothing", "/v1/sessions/", "/v1//sessions", "/v1/./sessions", "/v1/sessions/a/b/c",
		"/v1/sessions/a%2Fb",
	} {
		expectProblem(t, h, 404, "not_found", "", as("ann", "GET", path))
	}
	expectProblem(t, h, 405, "method_not_allowed", "", as("ann", "DELETE", "/v1/sessions"))
}

func TestBodiesWhereNoneIsTaken(t *testing.T) {
	t.Parallel()
	h, store, _ := newMessages(t)
	newSession(t, h, "s1")
	for _, tc := range []struct{ body, fields string }{
		{`{"at":1,"reason":"x"}`, "at reason"},
		{`[]`, "body"},
		{`null`, "body"},
		{`x=1`, "body"},
		{`{"a":`, "body"},
		{"\xff", "body"},
		{`{"x":"` + strings.Repeat("x", 64<<10) + `"}`, "body"},
	} {
		for _, c := range []call{
			{method: "POST", path: "/v1/sessions/s1/leave"},
			{method: "GET", path: "/v1/sessions/s1"},
			{method: "DELETE", path: "/v1/sessions/s1"},
		} {
			c.user, c.body = "ann", tc.body
			expectProblem(t, h, 422, "invalid", tc.fields, c)
		}
	}
	if s, err := store.Session(t.Context(), "ann", "s1"); err != nil || !s.LeftAt.IsZero() {
		t.Errorf("session %+v, %v", s, err)
	}
	for _, nothing := range []string{"", " \n", "{}"} {
		expect(t, h, 202, as("ann", "POST", "/v1/sessions/s1/leave", nothing))
		expect(t, h, 200, as("ann", "GET", "/v1/sessions/s1", nothing))
	}
}

func TestNoCaller(t *testing.T) {
	t.Parallel()
	h, _, _ := newMessages(t)
	expectProblem(t, h, 401, "unauthorized", "", as("", "GET", "/v1/sessions"))
	for user, want := range map[string]string{
		"": `Bearer realm="throughline"`,
		"a\x00b": `Bearer realm="throughline", error="invalid_token", ` +
			`error_description="the token's sub is not 1 to 128 printable characters"`,
	} {
		r := expect(t, h, 401, as(user, "POST", "/v1/sessions", "not even JSON"))
		check.Equal(t, want, r.header.Get("WWW-Authenticate"), "WWW-Authenticate")
	}
}

func TestHeadersOfEveryAnswer(t *testing.T) {
	t.Parallel()
	h, _, _ := newMessages(t)
	for _, c := range []call{
		{method: "GET", path: "/v1/sessions", user: "ann"},
		{method: "GET", path: "/v1/sessions"},
		{method: "GET", path: "/nothing"},
		{method: "POST", path: "/v1/sessions", user: "ann", body: "x"},
	} {
		r := send(t, h, c)
		for name, want := range map[string]string{
			"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store", "Referrer-Policy": "no-referrer",
		} {
			check.Equal(t, want, r.header.Get(name), "%s %s: %s", c.method, c.path, name)
		}
		if r.header.Get("X-Request-Id") == "" {
			t.Errorf("%s %s: no request id", c.method, c.path)
		}
	}
}

func TestRequestID(t *testing.T) {
	t.Parallel()
	h, _, log := newMessages(t)
	const mine = "1-67891233-abcdef012345678912345678"
	r := expect(
		t, h, 200, call{method: "GET", path: "/v1/sessions", user: "ann", headers: map[string]string{"x-request-id": mine}},
	)
	check.Equal(t, mine, r.header.Get("X-Request-Id"), "X-Request-Id")
	check.Contains(t, log.String(), `"requestId":"`+mine+`"`, "the log has no request id")
	for _, bad := range []string{"", "a b", "x\n", `"`, "ä", strings.Repeat("x", 129)} {
		r := expect(
			t, h, 200, call{method: "GET", path: "/v1/sessions", user: "ann", headers: map[string]string{"x-request-id": bad}},
		)
		if got := r.header.Get("X-Request-Id"); got == bad || !strings.HasPrefix(got, "req_") {
			t.Errorf("X-Request-Id %q for %q", got, bad)
		}
	}
}

func TestAccessLogHoldsNoContent(t *testing.T) {
	t.Parallel()
	h, _, log := newMessages(t)
	newSession(t, h, "s1")
	expect(t, h, 201, post(one(map[string]any{"content": "a secret word"})))
	expect(t, h, 422, as("ann", "GET", "/v1/messages?from=a+secret+word"))
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	var last struct {
		Msg, Method, Route, RequestID string
		Status, MS                    int
	}
	check.OK(t, json.Unmarshal([]byte(lines[len(lines)-2]), &last))
	if last.Msg != "request" || last.Method != "POST" || last.Route != "POST /v1/sessions/{id}/messages" ||
		last.Status != 201 ||
		last.RequestID == "" {
		t.Errorf("access line %+v", last)
	}
	for _, private := range []string{"secret", "ann", "s1"} {
		check.Lacks(t, log.String(), private, "the log")
	}
}

func TestErrorsOfTheStore(t *testing.T) {
	t.Parallel()
	h, store, log := newMessages(t)
	for name, tc := range map[string]struct {
		err    error
		status int
		code   string
		retry  string
	}{
		"no code":     {errors.New("inner secret"), 500, "internal", ""},
		"unavailable": {fault.Wrap(fault.Unavailable, "read sessions", errors.New("inner secret")), 503, "unavailable", "1"},
		"throttled": {
			&fault.Error{Code: fault.RateLimited, RetryAfter: 1500 * time.Millisecond, Err: errors.New("inner secret")}, 429,
			"rate_limited", "2",
		},
		"conflict": {
			&fault.Error{Code: fault.Conflict, Message: "it changed", RetryAfter: time.Second}, 409, "conflict", "1",
		},
		"deadline":  {context.DeadlineExceeded, 503, "unavailable", "1"},
		"missing":   {fault.Missing("session"), 404, "not_found", ""},
		"too large": {fault.New(fault.TooLarge, "an item is too large"), 413, "too_large", ""},
	} {
		t.Run(name, func(t *testing.T) {
			store.fail = tc.err
			r := expect(t, h, tc.status, as("ann", "GET", "/v1/sessions"))
			if bytes.Contains(r.body, []byte("secret")) || !bytes.Contains(r.body, []byte(`"code":"`+tc.code+`"`)) {
				t.Errorf("answer %s, want code %s and nothing of the cause", r.body, tc.code)
			}
			check.Equal(t, tc.retry, r.header.Get("Retry-After"), "Retry-After")
			if tc.status >= 500 && !strings.Contains(log.String(), tc.err.Error()) {
				t.Errorf("the log lacks the cause %q", tc.err)
			}
		})
	}
}

// broken is a store whose Session panics.
type broken struct{ *memory }

func (broken) Session(context.Context, conversation.UserID, string) (conversation.Session, error) {
	panic("a defect")
}

func TestPanic(t *testing.T) {
	t.Parallel()
	b, log := base()
	store := newMemory(t, noon)
	h := httpapi.Messages(
		httpapi.MessagesDeps{
			Base: b, Sessions: broken{store}, Messages: store, Tokens: fakeCounter{}, Cursors: cursorKey(t, "1"),
		},
	)
	expectProblem(t, h, 500, "internal", "", as("ann", "GET", "/v1/sessions/s1"))
	if !strings.Contains(log.String(), "a defect") {
		t.Error("the log lacks the panic")
	}
}

func TestGateway(t *testing.T) {
	t.Parallel()
	type seen struct {
		method, path, query, header, cookie, body, host string
		deadline                                        time.Duration
	}
	var got seen
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		got = seen{
			r.Method, r.URL.Path, r.URL.RawQuery, r.Header.Get("X-Some"), r.Header.Get("Cookie"), string(body), r.Host, 0,
		}
		if end, ok := r.Context().Deadline(); ok {
			got.deadline = time.Until(end)
		}
		w.Header().Add("X-Many", "1")
		w.Header().Add("X-Many", "2")
		http.SetCookie(w, &http.Cookie{Name: "a", Value: "1"})
		http.SetCookie(w, &http.Cookie{Name: "b", Value: "2"})
		w.WriteHeader(http.StatusTeapot)
		_, _ = w.Write([]byte("\xff\x00binary"))
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	e := events.APIGatewayV2HTTPRequest{
		RawPath: "/dev/a b%2F/c", RawQueryString: "x=1&y=%20", Headers: map[string]string{"x-some": "1,2"},
		Cookies: []string{"c=1", "d=2"},
		RequestContext: events.APIGatewayV2HTTPRequestContext{
			Stage: "dev", DomainName: "api.example", HTTP: events.APIGatewayV2HTTPRequestContextHTTPDescription{Method: "PUT"},
		},
		Body: base64.StdEncoding.EncodeToString([]byte("\x00\xfe")), IsBase64Encoded: true,
	}
	out := check.Got(httpapi.GatewayHandler(h)(ctx, e))(t)
	if got.deadline <= 59*time.Minute || got.deadline > time.Hour-400*time.Millisecond {
		t.Errorf("the handler has %v left of an hour", got.deadline)
	}
	got.deadline = 0
	if want := (seen{"PUT", "/a b%2F/c", "x=1&y=%20", "1,2", "c=1; d=2", "\x00\xfe", "api.example", 0}); got != want {
		t.Errorf("request %+v, want %+v", got, want)
	}
	if out.StatusCode != 418 || out.Headers["X-Many"] != "1,2" || len(out.Cookies) != 2 || !out.IsBase64Encoded {
		t.Errorf("answer %+v", out)
	}
	if raw, err := base64.StdEncoding.DecodeString(out.Body); err != nil || string(raw) != "\xff\x00binary" {
		t.Errorf("body %q, %v", raw, err)
	}
}

func TestGatewayPacksWhatLambdaWouldNotTake(t *testing.T) {
	t.Parallel()
	body := strings.Repeat(`\u0000`, 1<<19)
	h := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) })
	for encoding, packed := range map[string]bool{"gzip, br": true, "": false} {
		out, err := httpapi.GatewayHandler(h)(
			t.Context(), events.APIGatewayV2HTTPRequest{Headers: map[string]string{"accept-encoding": encoding}},
		)
		if err != nil || !out.IsBase64Encoded || (out.Headers["Content-Encoding"] == "gzip") != packed {
			t.Fatalf("%q: base64 %v, headers %v, %v", encoding, out.IsBase64Encoded, out.Headers, err)
		}
		if !packed {
			continue
		}
		z := check.Got(gzip.NewReader(base64.NewDecoder(base64.StdEncoding, strings.NewReader(out.Body))))(t)
		if readAll(t, z) != body {
			t.Error("the body came out changed")
		}
	}
}

func TestGatewayTakesWhateverComes(t *testing.T) {
	t.Parallel()
	h, _, _ := newMessages(t)
	for name, e := range map[string]events.APIGatewayV2HTTPRequest{
		"nothing":    {},
		"bad base64": {Body: "%", IsBase64Encoded: true},
		"bad method": {RequestContext: events.APIGatewayV2HTTPRequestContext{
			HTTP: events.APIGatewayV2HTTPRequestContextHTTPDescription{Method: "a b"},
		}},
		"raw path": {RawPath: "/a b%zz\x00"},
	} {
		out, err := httpapi.GatewayHandler(h)(t.Context(), e)
		if err != nil || out.StatusCode < 400 || out.StatusCode > 499 ||
			out.Headers["Content-Type"] != "application/problem+json" {
			t.Errorf("%s: %+v, %v", name, out, err)
		}
	}
}

func TestLogHandlerKeepsAttributesAndGroups(t *testing.T) {
	t.Parallel()
	j := &check.Log{}
	log := slog.New(httpapi.LogHandler(slog.NewJSONHandler(j, nil))).With("a", 1).WithGroup("g")
	h := httpapi.Prompts(httpapi.PromptsDeps{Base: httpapi.Base{Log: log, Now: noon}})
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/nothing", nil))
	for _, part := range []string{`"a":1`, `"g":{`, `"requestId":"` + w.Header().Get("X-Request-Id") + `"`} {
		if !strings.Contains(j.String(), part) {
			t.Errorf("log %s lacks %s", j, part)
		}
	}
}
