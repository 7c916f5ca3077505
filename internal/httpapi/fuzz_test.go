package httpapi_test

import (
	"strings"
	"testing"
)

func FuzzCursor(f *testing.F) {
	f.Add("ann", "GET /v1/sessions", "context=x", "position", "1.AAAA")
	f.Add("", "", "", "\x00\xff", "")
	f.Fuzz(func(t *testing.T, user, path, query, at, forged string) {
		key := cursorKey(t, "1")
		cursor := key.Seal(user, path, query, at)
		if got, err := key.Open(user, path, query, cursor); err != nil || got != at {
			t.Fatalf("a cursor of %q opens as %q, %v", at, got, err)
		}
		if at == "" {
			return
		}
		for _, other := range [][3]string{
			{user + "x", path, query}, {user, path + "x", query}, {user, path, query + "x"}, {user + path, "", query},
		} {
			if other == [3]string{user, path, query} {
				continue
			}
			if _, err := key.Open(other[0], other[1], other[2], cursor); err == nil {
				t.Fatalf("a cursor of %q %q %q opens for %q", user, path, query, other)
			}
		}
		if got, err := key.Open(user, path, query, forged); err == nil && forged != "" && forged != cursor {
			t.Fatalf("the forged cursor %q opens as %q", forged, got)
		}
		if _, err := cursorKey(t, "2").Open(user, path, query, cursor); err == nil {
			t.Fatal("a cursor opens with another key")
		}
	})
}

// FuzzHandler sends random requests to the messages function. None may cause a 5xx or a panic, and every error must be
// a problem.
func FuzzHandler(f *testing.F) {
	f.Add(
		"POST",
		"/v1/sessions",
		`{"context":"coach_conversation","coachId":"c","attributes":{"a":{"b":[1,null]}}}`,
		"k",
		"application/json",
	)
	f.Add(
		"POST",
		"/v1/sessions/s1/messages",
		`{"messages":[{"role":"user","content":"x","timestamp":"2020-01-01T00:00:00Z","metadata":{}}]}`,
		"",
		"",
	)
	f.Add("PATCH", "/v1/sessions/s1", `{"title":null,"status":"archived"}`, "", "application/json")
	f.Add("GET", "/v1/messages?from=2020-01-01T00:00:00Z&limit=3&cursor=1.abc", "", "", "")
	f.Add(
		"PUT",
		"/v1/preferences",
		`{"contexts":{"workout_log":{"share":false}},"timezone":"Europe/Berlin"}`,
		"",
		"application/json",
	)
	f.Add(
		"POST",
		"/v1/memories",
		`{"type":"PROFILE","content":"x","confidence":1e-3,"messageIds":["a"]}`,
		"k",
		"application/json",
	)
	f.Add("PATCH", "/v1/todos/x", `{"completedAt":null,"status":"COMPLETED"}`, "", "application/json")
	f.Add("PUT", "/v1/profile", `{"email":"x","createdAt":"2026-02-30T00:00:00Z","name":1}`, "", "application/json")
	f.Add(
		"PUT",
		"/v1/user-summary",
		`{"patterns":{},"wins":[1],"struggles":null,"lastUpdated":"x"}`,
		"",
		"application/json",
	)
	f.Add(
		"POST",
		"/v1/memories",
		`{"type":"x","content":"","confidence":2,"pinned":"yes","messageIds":[1]}`,
		"",
		"application/json",
	)
	f.Add("PATCH", "/v1/memories/x", `{"confidence":"x","validUntil":1,"supersededBy":[]}`, "", "application/json")
	f.Add("GET", "/v1/sessions?limit=x&status=y&context=z", "", "", "")
	f.Add("GET", "/v1/messages?limit=1e3&from=1&to=2026-02-30T00:00:00Z&order=up", "", "", "")
	f.Add("PUT", "/v1/preferences", `{"contexts":{"x":{"share":1}},"timezone":"Moon","memory":0}`, "", "application/json")
	f.Add("POST", "/v1/sessions", `[1]`, "", "application/json")
	f.Add("POST", "/v1/sessions/s1/messages", `{"messages":{"role":1}}`, "", "application/json")
	f.Add("DELETE", "/v1/sessions/s1/messages/%00%ff", "", "", "")
	h, _, _ := newMessages(f)
	newSession(f, h, "s1")
	f.Fuzz(func(t *testing.T, method, path, body, key, contentType string) {
		r := send(
			t,
			h,
			call{
				method: method, path: path, body: body, user: "ann",
				headers: map[string]string{"Idempotency-Key": key, "content-type": contentType},
			},
		)
		if r.status >= 500 {
			t.Fatalf("%s %q %q: %d %s", method, path, body, r.status, r.body)
		}
		if r.status >= 400 && method != "HEAD" {
			var p problem
			r.decode(t, &p)
			if p.Status != r.status || p.Code == "" || r.header.Get("Content-Type") != "application/problem+json" {
				t.Fatalf("%s %q %q: %d %s", method, path, body, r.status, r.body)
			}
			if word := goWord(p, path+body+key+contentType); word != "" {
				t.Fatalf("%s %q %q: %s in %s", method, path, body, word, r.body)
			}
		}
	})
}

// goWord returns a term of Go that is in a problem and not in the request. Problems use terms of the API only.
func goWord(p problem, request string) string {
	text := p.Title + p.Detail
	for _, e := range p.Errors {
		text += " " + e.Message
	}
	for _, word := range []string{
		"json:", "strconv", "time.", "time:", "unmarshal", "Unmarshal", "reflect", "int64", "float64", "Go ", "parse ",
		"mail:", "interface", "map[", "nil", "0x", "%!", "expected string", "expected value", "expected number",
	} {
		if strings.Contains(text, word) && !strings.Contains(request, word) {
			return word
		}
	}
	return ""
}
