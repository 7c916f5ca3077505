package gateway_test

import (
	"net/http"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"

	"github.com/throughline/throughline/infra/local/template"
)

const (
	page    = "http://localhost:3000"
	another = "http://localhost:3001"
)

// marks are the CORS headers of a response.
func marks(h http.Header) map[string]string {
	out := map[string]string{}
	for _, name := range []string{"Origin", "Credentials", "Methods", "Headers"} {
		if value := h.Get("Access-Control-Allow-" + name); value != "" {
			out[name] = value
		}
	}
	for name, header := range map[string]string{
		"Expose": "Access-Control-Expose-Headers", "Age": "Access-Control-Max-Age",
	} {
		if value := h.Get(header); value != "" {
			out[name] = value
		}
	}
	return out
}

func configuration(origins ...string) *template.CORS {
	return &template.CORS{
		AllowOrigins: origins, AllowMethods: []string{"GET", "PUT"}, AllowHeaders: []string{"authorization", "x-a"},
		ExposeHeaders: []string{"x-b", "x-c"}, MaxAge: 60,
	}
}

func TestPreflights(t *testing.T) {
	t.Parallel()
	permitted := map[string]string{"Origin": page, "Methods": "GET,PUT", "Headers": "authorization,x-a", "Age": "60"}
	bare := configuration(page)
	bare.MaxAge, bare.AllowHeaders = 0, nil
	cases := []struct {
		name   string
		cors   *template.CORS
		origin string
		want   map[string]string
	}{
		{"allowed", configuration(another, page), page, permitted},
		{"another origin", configuration(page), another, map[string]string{}},
		{"a longer origin", configuration(page), page + ".evil.example", map[string]string{}},
		{
			"every origin", configuration("*"), page,
			map[string]string{"Origin": "*", "Methods": "GET,PUT", "Headers": "authorization,x-a", "Age": "60"},
		},
		{"no more than is configured", bare, page, map[string]string{"Origin": page, "Methods": "GET,PUT"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			h := startWithCORS(t, []template.Route{{Method: "GET", Path: "/v1/{proxy+}", Authorized: true}}, c.cors)
			resp := h.do(t, "OPTIONS", "/v1/x", nil, http.Header{"Origin": {c.origin}, "Access-Control-Request-Method": {"PUT"}})
			if resp.StatusCode != 204 || resp.Header.Get("Vary") != "Origin" || len(h.events) != 0 {
				t.Errorf("status %d, vary %q, %d events", resp.StatusCode, resp.Header.Get("Vary"), len(h.events))
			}
			if diff := cmp.Diff(c.want, marks(resp.Header)); diff != "" {
				t.Errorf("marks (-want +got):\n%s", diff)
			}
		})
	}
}

// TestNoPreflight sends OPTIONS requests that are not preflight requests. They go to the route.
func TestNoPreflight(t *testing.T) {
	t.Parallel()
	asked := http.Header{"Origin": {page}, "Access-Control-Request-Method": {"GET"}}
	for name, c := range map[string]struct {
		cors    *template.CORS
		headers http.Header
	}{
		"nothing configured":   {nil, asked},
		"no origin":            {configuration("*"), http.Header{"Access-Control-Request-Method": {"GET"}}},
		"no method asked for":  {configuration("*"), http.Header{"Origin": {page}}},
		"neither asked by one": {configuration("*"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			h := startWithCORS(t, []template.Route{{Method: "GET", Path: "/v1/{proxy+}", Authorized: true}}, c.cors)
			if resp := h.do(t, "OPTIONS", "/v1/x", nil, c.headers); resp.StatusCode != 401 {
				t.Errorf("status %d", resp.StatusCode)
			}
		})
	}
}

func TestAnswersToPages(t *testing.T) {
	t.Parallel()
	h := startWithCORS(
		t, []template.Route{{Method: "GET", Path: "/free"}, {Method: "GET", Path: "/own", Authorized: true}},
		configuration(page),
	)
	h.answer = func() (any, error) {
		return events.APIGatewayV2HTTPResponse{StatusCode: 200, Headers: map[string]string{"vary": "Accept-Encoding"}}, nil
	}
	marked := map[string]string{"Origin": page, "Expose": "x-b,x-c"}
	for path, status := range map[string]int{"/free": 200, "/own": 401, "/none": 404} {
		for origin, want := range map[string]map[string]string{page: marked, another: {}, "": {}} {
			resp := h.do(t, "GET", path, nil, http.Header{"Origin": {origin}})
			if diff := cmp.Diff(want, marks(resp.Header)); diff != "" || resp.StatusCode != status {
				t.Errorf("%s for %q: status %d, marks (-want +got):\n%s", path, origin, resp.StatusCode, diff)
			}
			vary := resp.Header.Values("Vary")
			if vary[0] != "Origin" || status == 200 && (len(vary) != 2 || vary[1] != "Accept-Encoding") {
				t.Errorf("%s for %q: vary %q", path, origin, vary)
			}
		}
	}
}
