package mcp_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/throughline/throughline/internal/testing/check"
)

const list = `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`

func TestRefusals(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	const ann = "Bearer ann"
	metadata := `resource_metadata="` + strings.Replace(s.url, "http:", "https:", 1) +
		`/.well-known/oauth-protected-resource/mcp", scope="throughline/user"`
	deep := strings.Repeat("[", 40) + strings.Repeat("]", 40)
	with := func(value string) string { return strings.Replace(list, `{}`, `{"x":`+value+`}`, 1) }
	for name, tt := range map[string]struct {
		body      string
		headers   map[string]string
		status    int
		challenge string
	}{
		"a user":             {list, map[string]string{"Authorization": ann}, 200, ""},
		"no token":           {list, nil, 401, metadata},
		"a bad token":        {list, map[string]string{"Authorization": "Bearer bad"}, 401, metadata},
		"a configured page":  {list, map[string]string{"Authorization": ann, "Origin": "https://app.example"}, 200, ""},
		"another page":       {list, map[string]string{"Authorization": ann, "Origin": "https://evil.example"}, 403, ""},
		"a page, no token":   {list, map[string]string{"Origin": "null"}, 403, ""},
		"a list of messages": {"[" + list + "]", map[string]string{"Authorization": ann}, 400, ""},
		"a list after space": {" \n[" + list + "]", map[string]string{"Authorization": ann}, 400, ""},
		"repeated names":     {strings.Replace(list, "{", `{"id":2,`, 1), map[string]string{"Authorization": ann}, 422, ""},
		"half a surrogate":   {with(`"\ud800"`), map[string]string{"Authorization": ann}, 422, ""},
		"not UTF-8":          {with("\"\xff\""), map[string]string{"Authorization": ann}, 422, ""},
		"very deep":          {with(deep), map[string]string{"Authorization": ann}, 422, ""},
		"too large":          {strings.Repeat(" ", 1<<20+1) + list, map[string]string{"Authorization": ann}, 413, ""},
		"no JSON":            {"{", map[string]string{"Authorization": ann}, 400, ""},
		"an old revision": {
			list, map[string]string{"Authorization": ann, "MCP-Protocol-Version": "2024-11-05"}, 400, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := s.post(t, tt.body, tt.headers)
			challenge := out.Header.Get("WWW-Authenticate")
			if out.StatusCode != tt.status || !strings.HasSuffix(challenge, tt.challenge) {
				body, _ := io.ReadAll(out.Body)
				t.Errorf("status %d, challenge %q, %.300s", out.StatusCode, challenge, body)
			}
			if (challenge != "") != (tt.status == 401) {
				t.Errorf("status %d has the challenge %q", tt.status, challenge)
			}
		})
	}
}

func TestOtherMethodsAndPaths(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	for call, status := range map[string]int{
		"GET /mcp": 405, "DELETE /mcp": 405, "GET /other": 404, "POST /.well-known/oauth-protected-resource": 405,
		"HEAD /.well-known/oauth-protected-resource": 200,
	} {
		method, path, _ := strings.Cut(call, " ")
		r := check.Got(http.NewRequestWithContext(t.Context(), method, s.url+path, nil))(t)
		out := check.Got(withHeaders{"Authorization": "Bearer ann"}.RoundTrip(r))(t)
		_ = out.Body.Close()
		if out.StatusCode != status || (status == 405) != (out.Header.Get("Allow") != "") {
			t.Errorf("%s: status %d, Allow %q", call, out.StatusCode, out.Header.Get("Allow"))
		}
	}
}

// TestMetadata reads the metadata at both paths, as a client in front of a gateway without TLS does.
func TestMetadata(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	for _, path := range []string{"", "/mcp"} {
		r := check.Got(http.NewRequestWithContext(t.Context(), http.MethodGet,
			s.url+"/.well-known/oauth-protected-resource"+path,
			nil))(t)
		out, err := withHeaders{"X-Forwarded-Proto": "http", "Origin": "https://any.example"}.RoundTrip(r)
		check.OK(t, err)
		var got map[string]any
		err = json.NewDecoder(out.Body).Decode(&got)
		_ = out.Body.Close()
		want := map[string]any{
			"resource": s.url + "/mcp", "authorization_servers": []any{"https://issuer.example"},
			"scopes_supported":         []any{"throughline/user", "throughline/app"},
			"bearer_methods_supported": []any{"header"}, "resource_name": "Throughline memory",
		}
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", path, err, diff)
		}
	}
}
