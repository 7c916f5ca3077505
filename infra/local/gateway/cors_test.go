package gateway_test

import (
	"net/http"
	"testing"

	"github.com/throughline/throughline/infra/local/template"
	"github.com/throughline/throughline/internal/testing/check"
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
			check.Same(t, c.want, marks(resp.Header), "marks")
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
