package e2e_test

import (
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/throughline/throughline/infra/client"
	"github.com/throughline/throughline/infra/launch"
)

// What a page of an app sends, and what it reads of an answer.
var (
	sentHeaders = []string{"authorization", "content-type", "idempotency-key", "x-request-id"}
	readHeaders = []string{"idempotency-replayed", "retry-after", "x-request-id"}
)

// pageOf is what a page of an origin can do with a stack.
type pageOf struct {
	t            *testing.T
	base, origin string
	token        string
}

// try makes a request as a browser does for the page: of an answer's headers it keeps those that the page may see.
func (p pageOf) try(method, path, body string, headers map[string]string) (status int, seen http.Header) {
	p.t.Helper()
	request, err := http.NewRequestWithContext(p.t.Context(), method, p.base+path, strings.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	request.Header.Set("Origin", p.origin)
	for name, value := range headers {
		request.Header.Set(name, value)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		p.t.Fatal(err)
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		p.t.Fatal(err)
	}
	return response.StatusCode, response.Header
}

// list reads a header that holds a list of names, in lower case.
func list(h http.Header, name string) []string {
	names := strings.FieldsFunc(strings.ToLower(strings.Join(h.Values(name), ",")), func(r rune) bool { return r == ',' || r == ' ' })
	slices.Sort(names)
	return names
}

// pageRoutes are a route of every function that pages reach, and what only the local stack has.
var pageRoutes = []struct {
	method, path, body string
	status             int
}{
	{"GET", "/openapi.json", "", 200},
	{"GET", "/docs", "", 200},
	{"GET", "/healthz", "", 200},
	{"POST", "/dev/tokens", `{"userId":"ann"}`, 200},
	{"GET", "/.well-known/jwks.json", "", 200},
	{"POST", "/v1/sessions", `{"context":"coach_conversation","coachId":"c","sessionId":"s"}`, 201},
	{"GET", "/v1/sessions", "", 200},
	{"PATCH", "/v1/sessions/s", `{"title":"t"}`, 200},
	{"PUT", "/v1/profile", `{"name":"Ann"}`, 200},
	{"POST", "/v1/prompts", `{"context":"coach_conversation","sessionId":"s","message":"hi"}`, 200},
	{"POST", "/v1/recall", `{"query":"hi"}`, 200},
	{"POST", "/v1/chat", `{"sessionId":"s","message":"hi"}`, 200},
	{"GET", "/v1/export", "", 200},
	{"POST", "/v1/chat", `{"sessionId":"none","message":"hi"}`, 404},
	{"GET", "/v1/sessions/none", "", 404},
	{"GET", "/nothing/here", "", 404},
	{"POST", "/v1/sessions", `{}`, 422},
	{"DELETE", "/v1/sessions/s", "", 204},
}

// TestAPageOfAnotherPortUsesEveryRoute asks what a browser asks before and after each request of a page.
func TestAPageOfAnotherPortUsesEveryRoute(t *testing.T) {
	const origin = "http://localhost:3000"
	stack, err := launch.Start(t.Context(), program, os.Stderr, "CORS_ORIGINS=http://127.0.0.1:5173,"+origin)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := stack.Stop(); err != nil {
			t.Errorf("stop: %v", err)
		}
	})
	var minted struct{ Token string }
	body := map[string]any{"userId": "ann"}
	if err := client.New(stack.Base).Do(t.Context(), http.MethodPost, "/dev/tokens", body, &minted); err != nil {
		t.Fatal(err)
	}
	page := pageOf{t: t, base: stack.Base, origin: origin, token: minted.Token}
	stranger := page
	stranger.origin = "http://localhost:3001"
	for _, route := range pageRoutes {
		t.Run(route.method+" "+route.path, func(t *testing.T) {
			page.t, stranger.t = t, t
			page.mayAsk(route.method, route.path)
			stranger.mayNotAsk(route.method, route.path)
			sent := map[string]string{"Authorization": "Bearer " + page.token, "Content-Type": "application/json"}
			page.reads(route.status)(page.try(route.method, route.path, route.body, sent))
			page.reads(0)(page.try(route.method, route.path, route.body, nil)) // 401 where the route needs a token
		})
	}
}

func (p pageOf) mayAsk(method, path string) {
	p.t.Helper()
	status, h := p.try(http.MethodOptions, path, "", map[string]string{
		"Access-Control-Request-Method": method, "Access-Control-Request-Headers": strings.Join(sentHeaders, ","),
	})
	if status != 204 || h.Get("Access-Control-Allow-Origin") != p.origin || h.Get("Access-Control-Max-Age") == "" {
		p.t.Errorf("preflight: %d %v", status, h)
	}
	if methods := list(h, "Access-Control-Allow-Methods"); !slices.Contains(methods, strings.ToLower(method)) {
		p.t.Errorf("allowed methods %v", methods)
	}
	if headers := list(h, "Access-Control-Allow-Headers"); !slices.Equal(headers, sentHeaders) {
		p.t.Errorf("allowed headers %v, want %v", headers, sentHeaders)
	}
}

func (p pageOf) mayNotAsk(method, path string) {
	p.t.Helper()
	_, h := p.try(http.MethodOptions, path, "", map[string]string{"Access-Control-Request-Method": method})
	if got := h.Get("Access-Control-Allow-Origin"); got != "" {
		p.t.Errorf("a page of %s may ask: %q", p.origin, got)
	}
}

// reads checks that the page may see an answer and its headers; a status of 0 is any.
func (p pageOf) reads(want int) func(status int, h http.Header) {
	return func(status int, h http.Header) {
		p.t.Helper()
		if want != 0 && status != want {
			p.t.Errorf("status %d, want %d", status, want)
		}
		if got := h.Values("Access-Control-Allow-Origin"); len(got) != 1 || got[0] != p.origin || !slices.Contains(list(h, "Vary"), "origin") {
			p.t.Errorf("status %d: the page may not see it, or a cache shows it to others: %v", status, h)
		}
		exposed := list(h, "Access-Control-Expose-Headers")
		for _, name := range readHeaders {
			if !slices.Contains(exposed, name) {
				p.t.Errorf("the page cannot read %s of %v", name, exposed)
			}
		}
	}
}
