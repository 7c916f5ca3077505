package httpapi_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/throughline/throughline/internal/httpapi"
)

const serverScopes = "throughline/on-behalf throughline/user throughline/app"

// onBehalfRules are what a token's scopes and the headers of a request come to, at both entrances.
var onBehalfRules = map[string]struct {
	scopes  string
	headers map[string]string
	status  int
	code    string
	// user is who the request is for.
	user string
}{
	"a server names a user":     {serverScopes, forUser("ann"), 200, "", "ann"},
	"an id with other letters":  {serverScopes, forUser("auth0|änn"), 200, "", "auth0|änn"},
	"a server names nobody":     {serverScopes, nil, 422, "invalid", ""},
	"a server names no text":    {serverScopes, forUser(""), 422, "invalid", ""},
	"a long id":                 {serverScopes, forUser(strings.Repeat("x", 129)), 422, "invalid", ""},
	"not UTF-8":                 {serverScopes, forUser("a\xff"), 422, "invalid", ""},
	"no other scope":            {"throughline/on-behalf", forUser("ann"), 403, "forbidden", ""},
	"a user names another":      {"throughline/user", forUser("bob"), 403, "forbidden", ""},
	"a user names nobody":       {"throughline/user", forUser(""), 403, "forbidden", ""},
	"the app names a user":      {"throughline/user throughline/app", forUser("bob"), 403, "forbidden", ""},
	"a user, without the other": {"throughline/user", nil, 200, "", "server"},
	"the app's own, as a user":  {"throughline/on-behalf throughline/user", forUser("app:adk"), 403, "forbidden", ""},
	"a page of a browser": {
		serverScopes, map[string]string{"Throughline-User": "ann", "Origin": "https://app.example"}, 403, "forbidden", "",
	},
}

func forUser(id string) map[string]string { return map[string]string{"Throughline-User": id} }

func TestServersActOnBehalfOfUsers(t *testing.T) {
	t.Parallel()
	for name, rule := range onBehalfRules {
		t.Run("HTTP API/"+name, func(t *testing.T) {
			t.Parallel()
			h, _, log := newMessages(t)
			in := call{method: "GET", path: "/v1/sessions", user: "server", scopes: rule.scopes, headers: rule.headers}
			if rule.status != 200 {
				field := ""
				if rule.status == 422 {
					field = httpapi.UserHeader
				}
				expectProblem(t, h, rule.status, rule.code, field, in)
				return
			}
			expect(t, h, 200, in)
			checkAudit(t, log.String(), rule.user)

			session := map[string]string{"context": "coach_conversation", "coachId": "c", "sessionId": "s1"}
			in.method, in.body = "POST", session
			expect(t, h, 201, in)
			expect(t, h, 200, as(rule.user, "GET", "/v1/sessions/s1"))
			expect(t, h, 404, as("somebody else", "GET", "/v1/sessions/s1"))
		})
		t.Run("function URL/"+name, func(t *testing.T) {
			t.Parallel()
			chats := &fakeChat{events: say(event("done", text{}))}
			h, log := newCoach(t, chats)
			r := httptest.NewRequestWithContext(t.Context(), "POST", "/v1/chat", strings.NewReader(hello))
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Authorization", "Bearer scopes:"+strings.ReplaceAll(rule.scopes, " ", ",")+":server")
			for name, value := range rule.headers {
				r.Header.Set(name, value)
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if w.Code != rule.status || string(chats.user) != rule.user {
				t.Fatalf("status %d %s for the user %q, want %d for %q", w.Code, w.Body, chats.user, rule.status, rule.user)
			}
			if rule.status == 200 {
				checkAudit(t, log.String(), rule.user)
			}
		})
	}
}

// checkAudit checks that the access log says who acted for whom, by hashes, if somebody did.
func checkAudit(t *testing.T, log, user string) {
	t.Helper()
	var line map[string]any
	for text := range strings.Lines(log) {
		var l map[string]any
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			t.Fatal(err)
		}
		if l["msg"] == "request" {
			line = maps.Clone(l)
		}
	}
	server, onBehalfOf := line["server"], line["onBehalfOf"]
	acted := user != "server"
	if acted != (server != nil) || acted != (onBehalfOf != nil) || acted && server == onBehalfOf {
		t.Errorf("for the user %q the access log has the server %v on behalf of %v", user, server, onBehalfOf)
	}
	if strings.Contains(log, `"`+user+`"`) {
		t.Errorf("the log has the id of the user: %s", log)
	}
}

// TestUserIsNamedOnce refuses a request that names two users, of whom one reader would take the first and another the
// last.
func TestUserIsNamedOnce(t *testing.T) {
	t.Parallel()
	h, _ := newCoach(t, &fakeChat{events: say(event("done", text{}))})
	r := httptest.NewRequestWithContext(t.Context(), "POST", "/v1/chat", strings.NewReader(hello))
	r.Header = http.Header{
		"Content-Type": {"application/json"}, "Throughline-User": {"ann", "bob"},
		"Authorization": {"Bearer scopes:" + strings.ReplaceAll(serverScopes, " ", ",") + ":server"},
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Code != 422 {
		t.Errorf("status %d %s", w.Code, w.Body)
	}
}
