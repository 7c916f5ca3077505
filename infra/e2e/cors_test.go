package e2e_test

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/throughline/throughline/internal/testing/check"
)

// The headers that an app's page sends, those that a client of MCP sends besides, and those that a page reads of an
// answer.
var (
	sentHeaders = []string{"authorization", "content-type", "idempotency-key", "traceparent", "tracestate", "x-request-id"}
	mcpHeaders  = []string{"mcp-method", "mcp-name", "mcp-protocol-version"}
	readHeaders = []string{"idempotency-replayed", "retry-after", "x-request-id"}
)

// browserPage is a page of an origin that uses a stack.
type browserPage struct {
	t            *testing.T
	base, origin string
	token        string
}

// send makes a request as a browser does for the page, and returns the answer's status and headers.
func (p browserPage) send(method, path, body string, headers map[string]string) (int, http.Header) {
	p.t.Helper()
	request, err := http.NewRequestWithContext(p.t.Context(), method, p.base+path, strings.NewReader(body))
	check.OK(p.t, err)
	request.Header.Set("Origin", p.origin)
	for name, value := range headers {
		request.Header.Set(name, value)
	}
	response, err := http.DefaultClient.Do(request)
	check.OK(p.t, err)
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		p.t.Fatal(err)
	}
	return response.StatusCode, response.Header
}

// headerList returns the names in a header, sorted and in lower case.
func headerList(h http.Header, name string) []string {
	separator := func(r rune) bool { return r == ',' || r == ' ' }
	names := strings.FieldsFunc(strings.ToLower(strings.Join(h.Values(name), ",")), separator)
	slices.Sort(names)
	return names
}

// pageRoutes has a route of every function that pages use, and those of the local stack alone that are open to pages.
var pageRoutes = []struct {
	method, path, body string
	status             int
}{
	{"GET", "/openapi.json", "", 200},
	{"GET", "/docs", "", 200},
	{"GET", "/healthz", "", 200},
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

// TestPagesOfAllowedOriginsUseEveryRoute makes the requests that a browser makes before and for each request of a page.
func TestPagesOfAllowedOriginsUseEveryRoute(t *testing.T) {
	t.Parallel()
	const origin = "http://localhost:3000"
	stack := startStack(t, "CORS_ORIGINS=http://127.0.0.1:5173,"+origin)
	page := browserPage{t: t, base: stack.Base, origin: origin, token: mintToken(t, stack, "ann")}
	other := page
	other.origin = "http://localhost:3001"
	for _, route := range pageRoutes {
		t.Run(route.method+" "+route.path, func(t *testing.T) {
			page.t, other.t = t, t
			page.checkAllowed(route.method, route.path)
			other.checkNotAllowed(route.method, route.path)
			sent := map[string]string{"Authorization": "Bearer " + page.token, "Content-Type": "application/json"}
			page.checkReadable(route.status)(page.send(route.method, route.path, route.body, sent))
			page.checkReadable(0)(page.send(route.method, route.path, route.body, nil)) // 401 if the route needs a token
		})
	}
}

func (p browserPage) checkAllowed(method, path string) {
	p.t.Helper()
	status, h := p.send(http.MethodOptions, path, "", map[string]string{
		"Access-Control-Request-Method": method, "Access-Control-Request-Headers": strings.Join(sentHeaders, ","),
	})
	if status != 204 || h.Get("Access-Control-Allow-Origin") != p.origin || h.Get("Access-Control-Max-Age") == "" {
		p.t.Errorf("preflight: %d %v", status, h)
	}
	if methods := headerList(h, "Access-Control-Allow-Methods"); !slices.Contains(methods, strings.ToLower(method)) {
		p.t.Errorf("allowed methods %v", methods)
	}
	want := slices.Sorted(slices.Values(slices.Concat(sentHeaders, mcpHeaders)))
	if path == "/v1/chat" || path == "/v1/export" { // whose door has no MCP
		want = sentHeaders
	}
	check.Same(p.t, want, headerList(h, "Access-Control-Allow-Headers"), "allowed headers")
}

func (p browserPage) checkNotAllowed(method, path string) {
	p.t.Helper()
	_, h := p.send(http.MethodOptions, path, "", map[string]string{"Access-Control-Request-Method": method})
	check.Equal(p.t, "", h.Get("Access-Control-Allow-Origin"), "a page of %s is allowed", p.origin)
}

// checkReadable returns a function that checks that the page may read an answer and its headers. With 0 any status is
// right.
func (p browserPage) checkReadable(want int) func(status int, h http.Header) {
	return func(status int, h http.Header) {
		p.t.Helper()
		if want != 0 && status != want {
			p.t.Errorf("status %d, want %d", status, want)
		}
		allowed := h.Values("Access-Control-Allow-Origin")
		if !slices.Equal(allowed, []string{p.origin}) || !slices.Contains(headerList(h, "Vary"), "origin") {
			p.t.Errorf("status %d: the page may not read it, or a cache shows it to others: %v", status, h)
		}
		exposed := headerList(h, "Access-Control-Expose-Headers")
		for _, name := range readHeaders {
			if !slices.Contains(exposed, name) {
				p.t.Errorf("the page cannot read %s of %v", name, exposed)
			}
		}
	}
}
