package gateway_test

import (
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/throughline/throughline/infra/local/issuer"
	"github.com/throughline/throughline/infra/local/template"
	"github.com/throughline/throughline/internal/testing/check"
)

func TestRoutesGoToTheMostSpecific(t *testing.T) {
	t.Parallel()
	routes := []template.Route{
		{Method: "GET", Path: "/v1/{proxy+}"},
		{Method: "PUT", Path: "/v1/{proxy+}"},
		{Method: "POST", Path: "/v1/{proxy+}"},
		{Method: "GET", Path: "/v1/prompts/{id}"},
		{Method: "PUT", Path: "/v1/prompts/latest"},
		{Method: "GET", Path: "/v1/prompts/latest"},
		{Method: "POST", Path: "/v1/sessions/{id}/messages"},
		{Method: "GET", Path: "/docs"},
	}
	cases := []struct{ request, route string }{
		{"GET /v1/anything/at/all", "GET /v1/{proxy+}"},
		{"GET /v1/prompts/7", "GET /v1/prompts/{id}"},
		{"PUT /v1/prompts/7", "PUT /v1/{proxy+}"},
		{"GET /v1/prompts/latest", "GET /v1/prompts/latest"},
		{"PUT /v1/prompts/latest", "PUT /v1/prompts/latest"},
		{"POST /v1/sessions/a/messages", "POST /v1/sessions/{id}/messages"},
		{"POST /v1/sessions/a/messages/b", "POST /v1/{proxy+}"},
		{"GET /docs", "GET /docs"},
		{"HEAD /v1/prompts/latest", "PUT /v1/prompts/latest"},
		{"HEAD /docs", "GET /docs"},
		{"PROPFIND /docs", "GET /docs"},
		{"OPTIONS /v1/sessions/a/messages", "POST /v1/sessions/{id}/messages"},
		{"GET /docs/x", ""},
		{"GET /v1", ""},
		{"GET /v1/", ""},
		{"GET /", ""},
	}
	h := start(t, routes)
	for _, c := range cases {
		method, path, _ := strings.Cut(c.request, " ")
		h.events = nil
		resp := h.do(t, method, path, nil, nil)
		if c.route == "" {
			if p := problemOf(t, resp); p.Status != 404 || p.Code != "not_found" || len(h.events) != 0 {
				t.Errorf("%s: %+v, want no route", c.request, p)
			}
			continue
		}
		if len(h.events) != 1 || h.events[0].RouteKey != c.route {
			t.Errorf("%s: %+v, want route %s", c.request, h.events, c.route)
		}
	}
}

func TestRequestBecomesAnEvent(t *testing.T) {
	t.Parallel()
	h := start(t, []template.Route{{Method: "POST", Path: "/v1/{proxy+}"}})
	h.do(t, "POST", "/v1/a%20b%2Fc?x=1&y=a%20b&x=2", strings.NewReader(`{"a":"ü"}`), http.Header{
		"Content-Type": {"application/json; charset=utf-8"}, "Cookie": {"one=1; two=2"}, "X-Two": {"a", "b"},
		"X-Request-Id": {"req-1"}, "User-Agent": {"test"},
	})
	got := h.events[0]
	for _, volatile := range []*string{
		&got.RequestContext.RequestID, &got.RequestContext.Time, &got.RequestContext.DomainName,
	} {
		if *volatile == "" {
			t.Error("a part of the request's context is empty")
		}
		*volatile = ""
	}
	if got.RequestContext.TimeEpoch == 0 || !strings.HasPrefix(got.Headers["x-amzn-trace-id"], "Root=") ||
		got.Headers["host"] == "" {
		t.Errorf("time or trace is missing: %+v", got)
	}
	got.RequestContext.TimeEpoch = 0
	for _, name := range []string{"x-amzn-trace-id", "host", "accept-encoding"} {
		delete(got.Headers, name)
	}
	want := events.APIGatewayV2HTTPRequest{
		Version: "2.0", RouteKey: "POST /v1/{proxy+}", RawPath: "/v1/a b/c", RawQueryString: "x=1&y=a%20b&x=2",
		Cookies: []string{"one=1", "two=2"}, Body: `{"a":"ü"}`,
		Headers: map[string]string{
			"content-type": "application/json; charset=utf-8", "content-length": "10", "x-two": "a,b", "user-agent": "test",
			"x-request-id": "req-1", "x-forwarded-for": "127.0.0.1", "x-forwarded-proto": "http",
		},
		QueryStringParameters: map[string]string{"x": "1,2", "y": "a b"}, PathParameters: map[string]string{"proxy": "a b/c"},
		RequestContext: events.APIGatewayV2HTTPRequestContext{
			RouteKey: "POST /v1/{proxy+}", AccountID: "000000000000", Stage: "$default", APIID: "local", DomainPrefix: "local",
			HTTP: events.APIGatewayV2HTTPRequestContextHTTPDescription{
				Method: "POST", Path: "/v1/a b/c", Protocol: "HTTP/1.1", SourceIP: "127.0.0.1", UserAgent: "test",
			},
		},
	}
	check.Same(t, want, got, "event")
}

func TestBodiesThatAreNoText(t *testing.T) {
	t.Parallel()
	h := start(t, []template.Route{{Method: "POST", Path: "/v1/{proxy+}"}})
	for _, c := range []struct{ kind, body string }{
		{"application/octet-stream", "abc"}, {"application/json", "{\"a\":\"\xff\"}"}, {"", "abc"},
	} {
		h.do(t, "POST", "/v1/x", strings.NewReader(c.body), http.Header{"Content-Type": {c.kind}})
		got := h.events[len(h.events)-1]
		raw, err := base64.StdEncoding.DecodeString(got.Body)
		if !got.IsBase64Encoded || err != nil || string(raw) != c.body {
			t.Errorf("%q of type %q became %q, encoded %v", c.body, c.kind, got.Body, got.IsBase64Encoded)
		}
	}
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name, body string
		answer     any
		status     int
		headers    http.Header
	}{
		{"text", "hi", events.APIGatewayV2HTTPResponse{
			StatusCode: 201, Body: "hi", Headers: map[string]string{"X-A": "1,2", "content-type": "text/x"},
			Cookies: []string{"a=1", "b=2"},
		}, 201, http.Header{"X-A": {"1,2"}, "Set-Cookie": {"a=1", "b=2"}, "Content-Type": {"text/x"}}},
		{
			"binary", "\x00\xff",
			events.APIGatewayV2HTTPResponse{StatusCode: 200, Body: "AP8=", IsBase64Encoded: true},
			200,
			nil,
		},
		{"inferred", `{"a":1}`, map[string]int{"a": 1}, 200, http.Header{"Content-Type": {"application/json"}}},
		{"no content", "", events.APIGatewayV2HTTPResponse{StatusCode: 204}, 204, nil},
	}
	h := start(t, []template.Route{{Method: "GET", Path: "/{proxy+}"}})
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			h.answer = func() (any, error) { return c.answer, nil }
			resp := h.do(t, "GET", "/x", nil, nil)
			body, err := io.ReadAll(resp.Body)
			if err != nil || string(body) != c.body || resp.StatusCode != c.status {
				t.Errorf("status %d body %q error %v", resp.StatusCode, body, err)
			}
			for name, want := range c.headers {
				check.Same(t, want, resp.Header[name], "header %s", name)
			}
		})
	}
}

func TestFunctionsThatFail(t *testing.T) {
	t.Parallel()
	h := start(t, []template.Route{{Method: "GET", Path: "/{proxy+}"}})
	for name, answer := range map[string]func() (any, error){
		"error": func() (any, error) { return nil, errors.New("secret detail") },
		"panic": func() (any, error) { panic("secret detail") },
		"bad base64": func() (any, error) {
			return events.APIGatewayV2HTTPResponse{StatusCode: 200, Body: "!", IsBase64Encoded: true}, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			h.answer = answer
			p := problemOf(t, h.do(t, "GET", "/x", nil, nil))
			if p.Status != 500 || p.Code != "internal" || strings.Contains(p.Detail, "secret") {
				t.Errorf("problem %+v", p)
			}
		})
	}
}

func TestTooLarge(t *testing.T) {
	t.Parallel()
	h := start(t, []template.Route{{Method: "POST", Path: "/{proxy+}"}})
	for name, size := range map[string]int{
		"more than the gateway takes": 10<<20 + 1, "more than the function takes": 7 << 20,
	} {
		resp := h.do(
			t, "POST", "/x", strings.NewReader(strings.Repeat("x", size)), http.Header{"Content-Type": {"text/plain"}},
		)
		if p := problemOf(t, resp); p.Status != 413 || p.Code != "too_large" || len(h.events) != 0 {
			t.Errorf("%s: %+v", name, p)
		}
	}
	h.do(t, "POST", "/x", strings.NewReader(strings.Repeat("x", 4<<20)), http.Header{"Content-Type": {"text/plain"}})
	if len(h.events) != 1 || len(h.events[0].Body) != 4<<20 {
		t.Error("4 MiB did not reach the function, which has to refuse them itself")
	}
}

func TestAuthorizer(t *testing.T) {
	t.Parallel()
	h := start(t, []template.Route{
		{Method: "GET", Path: "/free"},
		{Method: "GET", Path: "/own", Authorized: true},
	})
	mint := func(c issuer.Claims) string {
		token, _, err := h.issuer.Mint(c)
		check.OK(t, err)
		return token
	}
	good := mint(issuer.Claims{UserID: "ann"})
	cases := []struct {
		name, path, header string
		status             int
	}{
		{"free without token", "/free", "", 200},
		{"no token", "/own", "", 401},
		{"garbage", "/own", "Bearer abc", 401},
		{"good", "/own", "Bearer " + good, 200},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			h.events = nil
			resp := h.do(t, "GET", c.path, nil, http.Header{"Authorization": {c.header}})
			if resp.StatusCode != c.status {
				t.Fatalf("status %d, want %d", resp.StatusCode, c.status)
			}
			if c.status == 200 {
				return
			}
			p := problemOf(t, resp)
			if p.Code != "unauthorized" || p.Type != "urn:throughline:problem:unauthorized" || p.Detail == "" ||
				len(h.events) != 0 {
				t.Errorf("problem %+v, events %d", p, len(h.events))
			}
			challenge, named := resp.Header.Get("WWW-Authenticate"), p.Detail != "a bearer token is needed"
			if c.status == 401 &&
				(!strings.HasPrefix(challenge, "Bearer") || strings.Contains(challenge, `error="invalid_token"`) != named) {
				t.Errorf("WWW-Authenticate %q, where the problem is that %s", challenge, p.Detail)
			}
		})
	}
	h.events = nil
	for _, path := range []string{"/free", "/own"} {
		h.do(t, "GET", path, nil, http.Header{"Authorization": {"Bearer " + good}})
	}
	if h.events[0].RequestContext.Authorizer != nil {
		t.Error("a route without authorizer hands claims on")
	}
	own := h.events[1].RequestContext.Authorizer.JWT
	if own.Claims["sub"] != "ann" || own.Claims["scope"] != "throughline/user throughline/app" ||
		own.Claims["aud"] != issuer.Audience {
		t.Errorf("claims %v", own.Claims)
	}
	if own.Scopes != nil {
		t.Errorf("scopes %q on a route that needs none", own.Scopes)
	}
}

// TestRequestIDs checks that the response and the function's event have the same id.
func TestRequestIDs(t *testing.T) {
	t.Parallel()
	h := start(t, []template.Route{{Method: "GET", Path: "/free"}, {Method: "GET", Path: "/own", Authorized: true}})
	for _, given := range []string{"", "mine-1", "a b", strings.Repeat("x", 129)} {
		valid := given == "mine-1"
		for path, status := range map[string]int{"/free": 200, "/own": 401, "/none": 404} {
			h.events = nil
			resp := h.do(t, "GET", path, nil, http.Header{"X-Request-Id": {given}})
			id := resp.Header.Get("X-Request-Id")
			if resp.StatusCode != status || (id == given) != valid || !valid && !strings.HasPrefix(id, "req_") {
				t.Errorf("%s: %d with id %q, asked with %q", path, resp.StatusCode, id, given)
			}
			if len(h.events) > 0 && h.events[0].Headers["x-request-id"] != id {
				t.Errorf("the function got the id %q, the client %q", h.events[0].Headers["x-request-id"], id)
			}
		}
	}
}
