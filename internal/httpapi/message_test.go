package httpapi_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/throughline/throughline/internal/testing/check"
)

// post appends messages to session s1 of ann.
func post(body any) call {
	return as("ann", "POST", "/v1/sessions/s1/messages", body)
}

func one(message map[string]any) map[string]any {
	m := map[string]any{"role": "user", "content": "x"}
	maps.Copy(m, message)
	return map[string]any{"messages": []any{m}}
}

func TestAppendAndRead(t *testing.T) {
	t.Parallel()
	h, _, _ := newMessages(t)
	newSession(t, h, "s1")
	content := "👩🏽‍🚀 e\u0301 \u202eשלום\u202c \u0000 \u2028 <b>&</b> \\ \" \U0010ffff"
	r := expect(t, h, 201, post(map[string]any{"messages": []any{
		map[string]any{
			"role": "user", "content": content, "timestamp": "2020-01-01T10:00:00.1239+02:00",
			"metadata": map[string]any{"k": 1},
		},
		map[string]any{"role": "assistant", "content": "y", "agentId": "coach", "mode": "m"},
	}}))
	check.Equal(t, "/v1/sessions/s1/messages", r.header.Get("Location"), "Location")
	var got map[string]any
	r.decode(t, &got)
	a, b := messageIDs(got)
	first := map[string]any{
		"messageId": a, "seq": number("1"), "sessionId": "s1", "context": "coach_conversation",
		"coachId": "c1",
		"role":    "user", "content": content, "timestamp": "2020-01-01T08:00:00.123Z", "mode": "chat",
		"metadata": map[string]any{"k": number("1")},
	}
	second := map[string]any{
		"messageId": b, "seq": number("2"), "sessionId": "s1", "context": "coach_conversation",
		"coachId": "c1",
		"role":    "assistant", "content": "y", "timestamp": "2026-02-05T12:00:00.000Z", "mode": "m", "agentId": "coach",
	}
	want := map[string]any{
		"messages": []any{first, second},
		"session": map[string]any{
			"sessionId": "s1", "context": "coach_conversation", "coachId": "c1", "mode": "chat", "status": "active",
			"messageCount": number("2"), "startedAt": "2020-01-01T08:00:00.123Z", "lastMessageAt": "2026-02-05T12:00:00.000Z",
		},
	}
	check.Same(t, want, got, "appended")
	for path, want := range map[string]string{
		"/v1/sessions/s1/messages":               a + " " + b,
		"/v1/sessions/s1/messages?order=desc":    b + " " + a,
		"/v1/sessions/s1/messages?limit=1":       a + " | " + b,
		"/v1/messages":                           b + " " + a,
		"/v1/messages?order=asc&limit=1":         a + " | " + b,
		"/v1/messages?from=2025-01-01T00:00:00Z": b,
		"/v1/messages?to=2026-02-05T12:00:00Z":   a,
		"/v1/messages?context=workout_log":       "",
	} {
		check.Equal(t, want, walk(t, h, "ann", path), "%s", path)
	}
	expect(t, h, 204, as("ann", "DELETE", "/v1/sessions/s1/messages/"+a))
	expectProblem(
		t, h, 404, "not_found", "",
		as("ann", "DELETE", "/v1/sessions/s1/messages/"+a),
	)
	expectProblem(t, h, 404, "not_found", "", as("ann", "DELETE", "/v1/sessions/s1/messages/%00"))
	check.Equal(t, b, walk(t, h, "ann", "/v1/messages"), "after deleting")
}

// messageIDs returns the ids of the two messages of an answer.
func messageIDs(appended map[string]any) (first, second string) {
	var ids []string
	for _, m := range appended["messages"].([]any) {
		ids = append(ids, m.(map[string]any)["messageId"].(string))
	}
	return ids[0], ids[1]
}

// TestTimelineNamesWhatItLacks reads the timeline of a user whose messages have not moved to the shared store.
func TestTimelineNamesWhatItLacks(t *testing.T) {
	t.Parallel()
	h, _, _ := newMessages(t)
	var got, others map[string]any
	expect(t, h, 200, as("unmoved", "GET", "/v1/messages")).decode(t, &got)
	want := []any{map[string]any{"source": "messages", "reason": "not_migrated"}}
	check.Same(t, want, got["degraded"], "degraded")
	expect(t, h, 200, as("ann", "GET", "/v1/messages")).decode(t, &others)
	if others["degraded"] != nil {
		t.Errorf("of a user who has moved: %v", others)
	}
}

func TestInvalidMessages(t *testing.T) {
	t.Parallel()
	h, store, _ := newMessages(t)
	newSession(t, h, "s1")
	many := func(n int) any {
		list := make([]any, n)
		for i := range list {
			list[i] = map[string]any{"role": "user", "content": "x"}
		}
		return map[string]any{"messages": list}
	}
	at := func(times ...string) any {
		list := make([]any, len(times))
		for i, time := range times {
			list[i] = map[string]any{"role": "user", "content": "x", "timestamp": time}
		}
		return map[string]any{"messages": list}
	}
	for name, tc := range map[string]struct {
		body   any
		fields string
	}{
		"no messages":     {map[string]any{}, "messages"},
		"none":            {many(0), "messages"},
		"null":            {`{"messages":null}`, "messages"},
		"51":              {many(51), "messages"},
		"role":            {one(map[string]any{"role": "robot"}), "messages[0].role"},
		"no content":      {`{"messages":[{"role":"user"}]}`, "messages[0].content"},
		"empty":           {one(map[string]any{"content": ""}), "messages[0].content"},
		"256 KiB + 1":     {one(map[string]any{"content": strings.Repeat("x", 256<<10+1)}), "messages[0].content"},
		"in characters":   {one(map[string]any{"content": strings.Repeat("ä", 128<<10+1)}), "messages[0].content"},
		"unknown":         {one(map[string]any{"userId": "bob"}), "messages[0].userId"},
		"6 minutes ahead": {at("2026-02-05T12:06:00Z"), "messages[0].timestamp"},
		"decreasing":      {at("2026-02-05T11:00:00Z", "2026-02-05T10:59:59.999Z"), "messages[1].timestamp"},
		"a little":        {at("2026-02-05T11:00:00.0005Z", "2026-02-05T11:00:00.0001Z"), "messages[1].timestamp"},
		"no time":         {at("yesterday"), "messages[0].timestamp"},
		"no year":         {at("0000-12-31T23:59:59Z"), "messages[0].timestamp"},
		"the zero time":   {at("0001-01-01T00:00:00Z"), "messages[0].timestamp"},
		"metadata":        {one(map[string]any{"metadata": "x"}), "messages[0].metadata"},
		"an empty id":     {one(map[string]any{"clientMessageId": ""}), "messages[0].clientMessageId"},
		"beyond a double": {
			`{"messages":[{"role":"assistant","parts":[{"type":"data","name":"x","data":{"a":[1e400]}}]}]}`,
			"messages[0].parts[0].data.a[0]",
		},
		"all at once": {map[string]any{"messages": []any{
			map[string]any{"role": "user", "content": strings.Repeat("x", 256<<10+1)},
			map[string]any{"role": "user", "content": "x", "timestamp": "2027-01-01T00:00:00Z"},
			map[string]any{"role": "user", "content": "x", "metadata": map[string]any{"": 1}},
		}}, "messages[0].content messages[1].timestamp messages[2].metadata"},
	} {
		t.Run(name, func(t *testing.T) {
			expectProblem(t, h, 422, "invalid", tc.fields, post(tc.body))
		})
	}
	big := map[string]any{"role": "user", "content": strings.Repeat("x", 256<<10)}
	expectProblem(
		t, h, 413, "too_large", "",
		post(map[string]any{"messages": []any{big, big, big, big, map[string]any{"role": "user", "content": "x"}}}),
	)
	if n := store.said(t, "ann"); n > 0 {
		t.Errorf("%d invalid messages were stored", n)
	}
	expect(t, h, 201, post(map[string]any{"messages": []any{big, big, big, big}}))
	expect(t, h, 201, post(many(50)))
	expect(t, h, 201, post(at("2026-02-05T12:05:00Z", "2026-02-05T12:05:00Z")))
}

func TestInvalidTimeline(t *testing.T) {
	t.Parallel()
	h, _, _ := newMessages(t)
	for query, field := range map[string]string{
		"from=x": "from", "to=2026-13-01T00:00:00Z": "to", "order=up": "order", "context=x": "context",
		"from=2026-02-05T12:00:00Z&to=2026-02-05T11:00:00Z": "to", "user=bob": "user",
	} {
		expectProblem(t, h, 422, "invalid", field, as("ann", "GET", "/v1/messages?"+query))
	}
}

func TestScopes(t *testing.T) {
	t.Parallel()
	h, _, _ := newMessages(t)
	newSession(t, h, "s1")
	for name, tc := range map[string]struct {
		scopes string
		role   string
		status int
	}{
		"user as user":          {"throughline/user", "user", 201},
		"user as assistant":     {"throughline/user", "assistant", 403},
		"user as system":        {"throughline/user", "system", 403},
		"app as assistant":      {"throughline/app", "assistant", 201},
		"half a list as system": {"[throughline/app", "system", 403},
		"both as system":        {"throughline/user throughline/app", "system", 201},
		"another's scope":       {"openid", "user", 403},
		"a scope like the user": {"throughline/users", "user", 403},
	} {
		t.Run(name, func(t *testing.T) {
			c := post(one(map[string]any{"role": tc.role}))
			c.scopes = tc.scopes
			if tc.status == 201 {
				expect(t, h, 201, c)
				return
			}
			expectProblem(t, h, 403, "forbidden", "", c)
		})
	}
}

func TestIdempotency(t *testing.T) {
	t.Parallel()
	h, store, _ := newMessages(t)
	session := call{
		method:  "POST",
		path:    "/v1/sessions",
		user:    "ann",
		headers: map[string]string{"Idempotency-Key": "k"},
		body:    `{"context":"workout_log","coachId":"c"}`,
	}
	first := expect(t, h, 201, session)
	check.Equal(t, "", first.header.Get("Idempotency-Replayed"), "first answer says Idempotency-Replayed")
	// Another text of the same value is the same body.
	session.body = ` {"coachId":"c", "context":"workout_log"}`
	second := expect(t, h, 201, session)
	if second.header.Get("Idempotency-Replayed") != "true" || string(second.body) != string(first.body) {
		t.Errorf("repeat: %v %s, want %s replayed", second.header, second.body, first.body)
	}
	session.body = `{"context":"workout_log","coachId":"d"}`
	expectProblem(t, h, 422, "idempotency_mismatch", "", session)
	session.user = "bob"
	if r := expect(t, h, 201, session); r.header.Get("Idempotency-Replayed") != "" {
		t.Error("another user's key was taken for ann's")
	}

	newSession(t, h, "s1")
	append1 := post(one(nil))
	append1.headers = map[string]string{"Idempotency-Key": strings.Repeat("ü", 128)}
	a, b := expect(t, h, 201, append1), expect(t, h, 201, append1)
	if string(a.body) != string(b.body) || b.header.Get("Idempotency-Replayed") != "true" ||
		store.said(t, "ann") != 1 {
		t.Errorf("repeat of an append: %s, then %s; %d messages", a.body, b.body, store.said(t, "ann"))
	}
	for name, key := range map[string]string{"empty": "", "long": strings.Repeat("x", 129), "not UTF-8": "\xff"} {
		t.Run(name, func(t *testing.T) {
			c := post(one(nil))
			c.headers = map[string]string{"Idempotency-Key": key}
			expectProblem(t, h, 422, "invalid", "Idempotency-Key", c)
		})
	}
}

func TestCursorsAreBound(t *testing.T) {
	t.Parallel()
	h, _, _ := newMessages(t)
	for i := range 5 {
		newSession(t, h, fmt.Sprint("s", i))
	}
	expect(
		t,
		h,
		201,
		post(
			map[string]any{
				"messages": []any{map[string]any{"role": "user", "content": "a"}, map[string]any{"role": "user", "content": "b"}},
			},
		),
	)
	expect(
		t,
		h,
		201,
		as("bob", "POST", "/v1/sessions", `{"context":"coach_conversation","coachId":"c1","sessionId":"s1"}`),
	)
	var page struct{ NextCursor string }
	expect(
		t, h, 200, as("ann", "GET", "/v1/sessions?limit=2&context=coach_conversation&cursor="),
	).decode(t, &page)
	good := page.NextCursor
	if good == "" {
		t.Fatal("no cursor")
	}
	for _, query := range []string{
		"?limit=2&context=coach_conversation&cursor=", "?limit=3&context=coach_conversation&cursor=",
		"?context=coach_conversation&cursor=",
	} {
		expect(t, h, 200, as("ann", "GET", "/v1/sessions"+query+good))
	}
	bad := map[string]call{
		"another user":  {path: "/v1/sessions?context=coach_conversation&cursor=" + good, user: "bob"},
		"another query": {path: "/v1/sessions?cursor=" + good, user: "ann"},
		"another path":  {path: "/v1/messages?context=coach_conversation&cursor=" + good, user: "ann"},
		"cut":           {path: "/v1/sessions?context=coach_conversation&cursor=" + good[:len(good)-1], user: "ann"},
		"long":          {path: "/v1/sessions?context=coach_conversation&cursor=" + good + "AA", user: "ann"},
		"no version":    {path: "/v1/sessions?context=coach_conversation&cursor=" + good[2:], user: "ann"},
		"with a break":  {path: "/v1/sessions?context=coach_conversation&cursor=" + good + "%0A", user: "ann"},
		"old version":   {path: "/v1/sessions?context=coach_conversation&cursor=0" + good[1:], user: "ann"},
	}
	for i := 2; i < len(good); i++ {
		other := byte('A')
		if good[i] == other {
			other = 'B'
		}
		bad[fmt.Sprint("altered ", i)] = call{
			path: "/v1/sessions?context=coach_conversation&cursor=" + good[:i] + string(other) + good[i+1:], user: "ann",
		}
	}
	for name, c := range bad {
		t.Run(name, func(t *testing.T) {
			c.method = "GET"
			expectProblem(t, h, 422, "invalid", "cursor", c)
		})
	}
}
