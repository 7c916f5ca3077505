package httpapi_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/throughline/throughline/internal/httpapi"
	"github.com/throughline/throughline/internal/testing/check"
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
	"an id with other letters":  {serverScopes, forUser("auth0%7C%C3%A4nn"), 200, "", "auth0|änn"},
	"an id with a percent sign": {serverScopes, forUser("50%2541"), 200, "", "50%41"},
	"an id with a comma":        {serverScopes, forUser("ann%2Cbob"), 200, "", "ann,bob"},
	"an id with a blank":        {serverScopes, forUser("ann%20b+c"), 200, "", "ann b+c"},
	"letters that are encoded":  {serverScopes, forUser("%61nn"), 200, "", "ann"},
	"two users":                 {serverScopes, forUser("ann,bob"), 422, "invalid", ""},
	"two users and a blank":     {serverScopes, forUser("ann, bob"), 422, "invalid", ""},
	"letters not encoded":       {serverScopes, forUser("änn"), 422, "invalid", ""},
	"letters in Latin-1":        {serverScopes, forUser("\xe9nn"), 422, "invalid", ""},
	"a blank at the end":        {serverScopes, forUser("ann%20"), 422, "invalid", ""},
	"a blank at the beginning":  {serverScopes, forUser("%20ann"), 422, "invalid", ""},
	"a control character":       {serverScopes, forUser("ann%00"), 422, "invalid", ""},
	"a tab":                     {serverScopes, forUser("ann%09"), 422, "invalid", ""},
	"half an escape":            {serverScopes, forUser("ann%4"), 422, "invalid", ""},
	"no escape":                 {serverScopes, forUser("ann%zz"), 422, "invalid", ""},
	"escapes that are no UTF-8": {serverScopes, forUser("a%FF"), 422, "invalid", ""},
	"a mended escape":           {serverScopes, forUser("a%EF%BF%BD"), 422, "invalid", ""},
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
		check.OK(t, json.Unmarshal([]byte(text), &l))
		if l["msg"] == "request" {
			line = maps.Clone(l)
		}
	}
	server, onBehalfOf := line["server"], line["onBehalfOf"]
	acted := user != "server"
	if acted != (server != nil) || acted != (onBehalfOf != nil) || acted && server == onBehalfOf {
		t.Errorf("for the user %q the access log has the server %v on behalf of %v", user, server, onBehalfOf)
	}
	check.Lacks(t, log, `"`+user+`"`, "the log has the id of the user")
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

// TestOneUserOneName takes any text as a token's sub and, percent-encoded, as the user that a server names. Both are
// the same user, or both are refused.
func TestOneUserOneName(t *testing.T) {
	t.Parallel()
	h, _, _ := newMessages(t)
	n := 0
	characters := rapid.OneOf(rapid.Rune(), rapid.SampledFrom([]rune(" ,%+é|/\x00\u200b\u202e\ufffda1")))
	rapid.Check(t, func(r *rapid.T) {
		id := string(rapid.SliceOfN(characters, 0, 8).Draw(r, "id"))
		if strings.HasPrefix(id, "app:") {
			return
		}
		n++
		session := fmt.Sprint("s", n)
		named := send(t, h, call{
			method: "POST", path: "/v1/sessions", user: "server", scopes: serverScopes,
			headers: forUser(strings.ReplaceAll(url.QueryEscape(id), "+", "%20")),
			body:    object{"context": "coach_conversation", "coachId": "c", "sessionId": session},
		})
		own := send(t, h, call{method: "GET", path: "/v1/sessions/" + session, user: id})
		if id == "" {
			own.status = 401 // without a user the call has no token
		}
		taken, refused := named.status == 201 && own.status == 200, named.status == 422 && own.status == 401
		if !taken && !refused {
			r.Fatalf("%q: %d as the user that a server names, %d as a token's", id, named.status, own.status)
		}
	})
}
