package httpapi_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/testing/check"
)

// newSession creates a session of the user ann.
func newSession(t testing.TB, h http.Handler, id string) {
	t.Helper()
	expect(t, h, 201,
		as("ann", "POST", "/v1/sessions", map[string]any{"context": "coach_conversation", "coachId": "c1", "sessionId": id}))
}

func TestSessionRoundTrip(t *testing.T) {
	t.Parallel()
	h, _, _ := newMessages(t)
	made := expect(t, h, 201, as("ann", "POST", "/v1/sessions", `{
		"context":"program_designer","coachId":"c1","sessionId":"s:1","title":"Legs",
		"attributes":{"programId":"p","n":9007199254740992,"f":1.5,"deep":[{"a":null}]}}`))
	want := map[string]any{
		"sessionId": "s:1", "context": "program_designer", "coachId": "c1", "mode": "program_design", "status": "active",
		"title": "Legs", "messageCount": number("0"), "startedAt": nil, "lastMessageAt": nil,
		"attributes": map[string]any{
			"programId": "p", "n": number("9007199254740992"), "f": number("1.5"),
			"deep": []any{map[string]any{"a": nil}},
		},
	}
	var got map[string]any
	made.decode(t, &got)
	check.Same(t, want, got, "created")
	check.Equal(t, "/v1/sessions/s:1", made.header.Get("Location"), "Location")

	expect(
		t,
		h,
		200,
		as("ann", "PATCH", "/v1/sessions/s:1", `{"status":"completed","title":null,"attributes":{"f":null}}`),
	)
	want["status"] = "completed"
	delete(want, "title")
	delete(want["attributes"].(map[string]any), "f")
	got = nil
	expect(t, h, 200, as("ann", "GET", "/v1/sessions/s:1")).decode(t, &got)
	check.Same(t, want, got, "changed")

	left := expect(t, h, 202, as("ann", "POST", "/v1/sessions/s:1/leave"))
	if len(left.body) != 0 {
		t.Errorf("leave answered %s", left.body)
	}
	expect(t, h, 204, as("ann", "DELETE", "/v1/sessions/s:1"))
	expectProblem(t, h, 404, "not_found", "", as("ann", "GET", "/v1/sessions/s:1"))
}

func TestSessionsOfAnotherUserAreMissing(t *testing.T) {
	t.Parallel()
	h, _, _ := newMessages(t)
	newSession(t, h, "s1")
	for _, c := range []call{
		{method: "GET", path: "/v1/sessions/s1"},
		{method: "PATCH", path: "/v1/sessions/s1", body: `{"title":"x"}`},
		{method: "DELETE", path: "/v1/sessions/s1"},
		{method: "POST", path: "/v1/sessions/s1/leave"},
		{method: "GET", path: "/v1/sessions/s1/messages"},
		{method: "POST", path: "/v1/sessions/s1/messages", body: `{"messages":[{"role":"user","content":"x"}]}`},
		{method: "DELETE", path: "/v1/sessions/s1/messages/m"},
	} {
		c.user = "bob"
		expectProblem(t, h, 404, "not_found", "", c)
	}
	expect(t, h, 200, as("ann", "GET", "/v1/sessions/s1"))
}

func TestInvalidSessions(t *testing.T) {
	t.Parallel()
	h, store, _ := newMessages(t)
	for name, tc := range map[string]struct {
		body   string
		fields string
	}{
		"nothing":    {`{}`, "coachId context"},
		"unknown":    {`{"context":"coach_conversation","coachId":"c","extra":1}`, "extra"},
		"other case": {`{"Context":"coach_conversation","coachId":"c"}`, "Context context"},
		"user":       {`{"context":"coach_conversation","coachId":"c","userId":"bob"}`, "userId"},
		"no such":    {`{"context":"kitchen","coachId":"c"}`, "context"},
		"everything": {
			`{"context":1,"coachId":"a b","sessionId":"ä","title":7,"mode":"","attributes":[]}`,
			"attributes coachId context mode sessionId title",
		},
		"long id":  {`{"context":"coach_conversation","coachId":"` + strings.Repeat("x", 129) + `"}`, "coachId"},
		"dot":      {`{"context":"coach_conversation","coachId":".","sessionId":"."}`, "coachId sessionId"},
		"two dots": {`{"context":"coach_conversation","coachId":"..","sessionId":".."}`, "coachId sessionId"},
		"empty id": {`{"context":"coach_conversation","coachId":"c","sessionId":""}`, "sessionId"},
		"digits": {
			`{"context":"coach_conversation","coachId":"c","attributes":{"a":{"b":[0,9007199254740993]}}}`, "attributes.a.b[1]",
		},
		"huge": {`{"context":"coach_conversation","coachId":"c","attributes":{"x":1e400}}`, "attributes.x"},
		"deep": {
			`{"context":"coach_conversation","coachId":"c","attributes":{"x":` +
				strings.Repeat("[", 17) + strings.Repeat("]", 17) + `}}`,
			"attributes.x" + strings.Repeat("[0]", 16),
		},
		"very deep": {
			`{"context":"coach_conversation","coachId":"c","attributes":` +
				strings.Repeat(`{"x":`, 20000) + "1" + strings.Repeat("}", 20000) + `}`,
			"attributes.x.x.x.x.x.x.x",
		},
		"no name": {`{"context":"coach_conversation","coachId":"c","attributes":{"":1}}`, "attributes"},
		"large": {
			`{"context":"coach_conversation","coachId":"c","attributes":{"x":"` + strings.Repeat("x", 65<<10) + `"}}`,
			"attributes",
		},
		"twice":          {`{"context":"coach_conversation","coachId":"c","coachId":"d"}`, "coachId"},
		"bytes":          {"{\"context\":\"coach_conversation\",\"coachId\":\"c\",\"title\":\"a\xffb\"}", "title"},
		"half a pair":    {`{"context":"coach_conversation","coachId":"c","title":"\ud83d"}`, "title"},
		"wrong half":     {`{"context":"coach_conversation","coachId":"c","title":"\ude00\ud83d"}`, "title"},
		"in the name":    {`{"context":"coach_conversation","coachId":"c","attributes":{"a\ud800":1}}`, "attributes"},
		"null where not": {`{"context":null,"coachId":"c"}`, "context"},
	} {
		t.Run(name, func(t *testing.T) {
			expectProblem(
				t, h, 422, "invalid", tc.fields, as("ann", "POST", "/v1/sessions", tc.body),
			)
		})
	}
	stored, _, err := store.Sessions(t.Context(), "ann", conversation.SessionFilter{}, conversation.Page{Limit: 1})
	if err != nil || len(stored) > 0 {
		t.Errorf("an invalid session was stored: %+v, %v", stored, err)
	}
}

func TestNotJSON(t *testing.T) {
	t.Parallel()
	h, _, _ := newMessages(t)
	for name, body := range map[string]string{
		"nothing": "", "space": " \n", "cut": `{"context":"coach_conversation"`, "text": "context=x",
		"trailing": `{"context":"coach_conversation","coachId":"c"} x`,
		"two":      `{}{}`, "comma": `{"a":1,}`, "single quotes": `{'a':1}`, "NaN": `{"a":NaN}`, "leading zero": `{"a":01}`,
		"plus": `{"a":+1}`, "BOM": "\ufeff{}", "control": "{\"a\":\"\n\"}", "escape": `{"a":"\x"}`,
		"short escape":                      `{"a":"\u12"}`,
		"brackets without end":              strings.Repeat("[", 200_000),
		"cut after a name that is repeated": `{"coachId":"c","coachId":"d"`,
	} {
		t.Run(name, func(t *testing.T) {
			expectProblem(t, h, 400, "invalid", "", as("ann", "POST", "/v1/sessions", body))
		})
	}
	for name, body := range map[string]string{"array": `[]`, "text": `"x"`, "number": `1`, "null": `null`} {
		t.Run("not an object: "+name, func(t *testing.T) {
			expectProblem(t, h, 422, "invalid", "body", as("ann", "POST", "/v1/sessions", body))
		})
	}
}

func TestContentType(t *testing.T) {
	t.Parallel()
	h, _, _ := newMessages(t)
	body := `{"context":"coach_conversation","coachId":"c"}`
	for contentType, status := range map[string]int{
		"application/json": 201, "application/json; charset=utf-8": 201, "application/merge-patch+json": 201, "": 201,
		"text/plain": 415, "application/x-www-form-urlencoded": 415, "application/json; charset=latin1": 415, ";": 415,
		"+json": 415,
	} {
		c := call{
			method: "POST", path: "/v1/sessions", user: "ann", body: body,
			headers: map[string]string{"content-type": contentType},
		}
		if status == 201 {
			expect(t, h, status, c)
			continue
		}
		expectProblem(t, h, status, "invalid", "", c)
	}
}

func TestBodyLimit(t *testing.T) {
	t.Parallel()
	h, _, _ := newMessages(t)
	newSession(t, h, "s1")
	pad := func(n int) string {
		const around = len(`{"messages":[{"role":"user","content":"x"}]}`)
		return `{"messages":[{"role":"user","content":"x"}]}` + strings.Repeat(" ", n-around)
	}
	c := as("ann", "POST", "/v1/sessions/s1/messages", pad(3<<20))
	expect(t, h, 201, c)
	c.body = pad(3<<20 + 1)
	expectProblem(t, h, 413, "too_large", "", c)
}

func TestListSessions(t *testing.T) {
	t.Parallel()
	var reads atomic.Int64 // of the clock, so that each session is newer than the one before
	h, _, _ := newMessagesAt(t, func() time.Time {
		return noon().Add(time.Duration(reads.Add(1)) * conversation.ActivityStep)
	})
	for i := range 7 {
		newSession(t, h, fmt.Sprint("s", i))
	}
	expect(
		t,
		h,
		201,
		as("ann", "POST", "/v1/sessions", `{"context":"workout_log","coachId":"c1","sessionId":"w"}`),
	)
	expect(t, h, 200, as("ann", "PATCH", "/v1/sessions/s3", `{"status":"archived"}`))

	check.Equal(t, "w s6 s5 | s4 s3 s2 | s1 s0", walk(t, h, "ann", "/v1/sessions?limit=3"), "all")
	filtered := "/v1/sessions?context=coach_conversation&status=active&limit=4"
	check.Equal(t, "s6 s5 s4 s2 | s1 s0", walk(t, h, "ann", filtered), "filtered")
	check.Equal(t, "", walk(t, h, "bob", "/v1/sessions"), "another user's")
	for path, field := range map[string]string{
		"?limit=0": "limit", "?limit=201": "limit", "?limit=x": "limit", "?status=open": "status", "?context=x": "context",
		"?page=2": "page", "?limit=1&limit=2": "limit", "?cursor=abc": "cursor", "?limit=-1&status=x": "limit status",
		"?status=%ff": "status",
	} {
		expectProblem(t, h, 422, "invalid", field, as("ann", "GET", "/v1/sessions"+path))
	}
	expectProblem(t, h, 422, "invalid", "", as("ann", "GET", "/v1/sessions?limit=%zz"))
}

// walk reads a list to its end. It returns the ids, with "|" between pages.
func walk(t *testing.T, h http.Handler, user, path string) string {
	t.Helper()
	var pages []string
	for cursor := ""; ; {
		var page struct {
			Items []struct {
				SessionID, MessageID, ID string
			}
			NextCursor string
		}
		at := path
		if cursor != "" {
			at += separator(path) + "cursor=" + cursor
		}
		expect(t, h, 200, as(user, "GET", at)).decode(t, &page)
		var ids []string
		for _, item := range page.Items {
			switch {
			case item.MessageID != "":
				ids = append(ids, item.MessageID)
			case item.ID != "":
				ids = append(ids, item.ID)
			default:
				ids = append(ids, item.SessionID)
			}
		}
		pages = append(pages, strings.Join(ids, " "))
		if cursor = page.NextCursor; cursor == "" {
			return strings.Join(pages, " | ")
		}
	}
}

func separator(path string) string {
	if strings.Contains(path, "?") {
		return "&"
	}
	return "?"
}

// TestIDsAreThoseOfTheDomain compares the schema's pattern with conversation.ValidID.
func TestIDsAreThoseOfTheDomain(t *testing.T) {
	t.Parallel()
	h, _, _ := newMessages(t)
	for _, id := range []string{
		"a", ".", "..", "...", "....", ".a", "..a", "a.", "a..", "-", ":.", "._", "..-..", "A-z_0.9:", "a b", "a\n",
		strings.Repeat(".", 128), strings.Repeat("x", 129),
	} {
		status := http.StatusUnprocessableEntity
		if conversation.ValidID(id) {
			status = http.StatusCreated
		}
		expect(t, h, status,
			as("ann", "POST", "/v1/sessions", object{"context": "coach_conversation", "coachId": "c", "sessionId": id}))
		expect(t, h, status, as("ann", "POST", "/v1/sessions", object{"context": "coach_conversation", "coachId": id}))
	}
}

// TestPathsOfNoID sends ids of frameworks that are not encoded. The answer says so: with 404 a client would look for a
// session.
func TestPathsOfNoID(t *testing.T) {
	t.Parallel()
	h, _, _ := newMessages(t)
	body := object{"context": "coach_conversation", "coachId": "c"}
	for _, id := range []string{"user@x.com", "a%20b", "%C3%B6", strings.Repeat("a", 129)} {
		expectProblem(t, h, 422, "invalid", "id", as("ann", "PUT", "/v1/sessions/"+id, body))
		expectProblem(t, h, 422, "invalid", "id", as("ann", "GET", "/v1/sessions/"+id+"/messages"))
	}
	expectProblem(t, h, 404, "not_found", "", as("ann", "GET", "/v1/sessions/gone"))
}

func TestDetailSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	h, _, _ := newMessages(t)
	for body, want := range map[string]string{
		`{"context":"coach_conversation"}`: `coachId is required`,
		`{"context":"coach_conversation","coachId":""}`: `coachId must be 1 to 128 of A-Z a-z 0-9 _ . : - ` +
			`and neither "." nor ".."`,
		`{"context":"coach_conversation","coachId":1}`:         `coachId must be a string`,
		`{"context":"coach_conversation","coachId":"c","x":1}`: `x is not a field of this call`,
		`{}`:          `coachId is required; and one more field is wrong`,
		`{"title":1}`: `coachId is required; and 2 more fields are wrong`,
		`{"context":"coach_conversation","coachId":"c","coachId":"d"}`:    `coachId is repeated in one object`,
		`{"context":"coach_conversation","coachId":"c","mode":""}`:        `mode must have 1 or more characters`,
		`{"context":"coach_conversation","coachId":"c","attributes":[1]}`: `attributes must be an object`,
	} {
		r := expect(t, h, 422, as("ann", "POST", "/v1/sessions", body))
		var p problem
		if r.decode(t, &p); p.Detail != want {
			t.Errorf("%s: %q, want %q", body, p.Detail, want)
		}
	}
}
