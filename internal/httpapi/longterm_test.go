package httpapi_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/testing/check"
)

type object = map[string]any

func decodeObject(t *testing.T, r reply) object {
	t.Helper()
	var o object
	r.decode(t, &o)
	return o
}

// answer sends a call and returns the object that it answers with the status.
func answer(t *testing.T, h http.Handler, status int, c call) object {
	t.Helper()
	return decodeObject(t, expect(t, h, status, c))
}

func TestSingletons(t *testing.T) {
	t.Parallel()
	h, _, _ := newMessages(t)
	for path, tc := range map[string]struct {
		missing    bool
		before     object
		put, after object
		bad        object
		field      string
	}{
		"profile": {
			missing: true,
			put:     object{"name": "Ann", "email": "a@b.c", "createdAt": "2020-01-01T01:00:00+01:00", "about": "x"},
			after:   object{"name": "Ann", "email": "a@b.c", "createdAt": "2020-01-01T00:00:00.000Z", "about": "x"},
			bad:     object{"name": 1}, field: "name",
		},
		"seed": {missing: true, put: object{"content": "x"}, after: object{"content": "x"}, bad: object{}, field: "content"},
		"user-summary": {
			missing: true, put: object{"wins": []any{"w"}},
			after: object{"patterns": []any{}, "wins": []any{"w"}, "struggles": []any{}},
			bad:   object{"wins": []any{1}}, field: "wins[0]",
		},
		"preferences": {
			before: preferencesWith(true, true, "UTC"),
			put: object{
				"crossContext": false, "contexts": object{"workout_log": object{"share": false}, "coach_creator": object{}},
				"timezone": "Pacific/Auckland",
			},
			after: preferencesWith(false, true, "Pacific/Auckland", "workout_log"),
			bad:   object{"timezone": "Mars/Olympus"}, field: "timezone",
		},
	} {
		t.Run(path, func(t *testing.T) {
			get := as("ann", "GET", "/v1/"+path)
			if tc.missing {
				expectProblem(t, h, 404, "not_found", "", get)
			} else {
				check.Same(t, tc.before, answer(t, h, 200, get), "before any PUT")
			}
			put := call{method: "PUT", path: "/v1/" + path, user: "ann", body: tc.put, scopes: "throughline/user"}
			for name, r := range map[string]reply{"PUT": expect(t, h, 200, put), "GET": expect(t, h, 200, get)} {
				check.Same(t, tc.after, decodeObject(t, r), "%s", name)
			}
			put.body = tc.bad
			expectProblem(t, h, 422, "invalid", tc.field, put)
		})
	}
	for _, bad := range []struct {
		body  object
		field string
	}{
		{object{"contexts": object{"kitchen": object{}}}, "contexts.kitchen"},
		{object{"timezone": "Local"}, "timezone"},
	} {
		put := as("ann", "PUT", "/v1/preferences", bad.body)
		expectProblem(t, h, 422, "invalid", bad.field, put)
	}
}

func preferencesWith(crossContext, memory bool, timezone string, unshared ...string) object {
	contexts := object{}
	for _, c := range conversation.Contexts() {
		contexts[c] = object{"share": true}
	}
	for _, c := range unshared {
		contexts[c] = object{"share": false}
	}
	return object{
		"crossContext": crossContext, "memory": memory, "reviewMemories": false, "timezone": timezone, "contexts": contexts,
	}
}

func TestCollections(t *testing.T) {
	t.Parallel()
	h, _, _ := newMessages(t)
	const now = "2026-02-05T12:00:00.000Z"
	for path, tc := range map[string]struct {
		create, made   object
		patch, changed object
		bad            object
		fields         string
	}{
		"goals": {
			create: object{"title": "Run", "goalType": "habit"},
			made:   object{"title": "Run", "goalType": "habit", "status": "active", "createdAt": now, "updatedAt": now},
			patch:  object{"status": "paused"}, changed: object{"status": "paused"},
			bad: object{"status": "open", "goalType": "wish"}, fields: "goalType status title",
		},
		"memories": {
			create: object{
				"type": "PROFILE", "content": "bad knee", "pinned": true, "confidence": 0.75, "messageIds": []any{"m"},
			},
			made: object{
				"type": "PROFILE", "content": "bad knee", "pinned": true, "source": "seeded", "confidence": number("0.75"),
				"messageIds": []any{"m"}, "status": "stated", "saidAt": now,
				"createdAt": now, "updatedAt": now,
			},
			patch:   object{"validUntil": "2026-02-04T00:00:00Z", "supersededBy": "x", "confidence": nil, "pinned": false},
			changed: object{"validUntil": "2026-02-04T00:00:00.000Z", "supersededBy": "x", "confidence": nil, "pinned": false},
			bad:     object{"type": "profile", "confidence": 1.5, "source": "dreamt"}, fields: "confidence content source type",
		},
		"todos": {
			create: object{"content": "stretch", "coachId": "c1"},
			made: object{
				"content": "stretch", "coachId": "c1", "status": "PENDING", "by": "user", "createdAt": now, "updatedAt": now,
			},
			patch: object{"status": "COMPLETED"}, changed: object{"status": "COMPLETED", "completedAt": now},
			bad: object{"coachId": "a b", "status": "DONE"}, fields: "coachId content status",
		},
	} {
		t.Run(path, func(t *testing.T) {
			c := call{
				method: "POST", path: "/v1/" + path, user: "ann", body: tc.create,
				headers: map[string]string{"Idempotency-Key": "k"},
			}
			r := expect(t, h, 201, c)
			got := decodeObject(t, r)
			id := got["id"].(string)
			tc.made["id"] = id
			check.Same(t, tc.made, got, "created")
			at := "/v1/" + path + "/" + id
			check.Equal(t, at, r.header.Get("Location"), "Location")
			if again := expect(t, h, 201, c); again.header.Get("Idempotency-Replayed") != "true" {
				t.Error("a repeat was not replayed")
			}
			for name, value := range tc.changed {
				tc.made[name] = value
				if value == nil {
					delete(tc.made, name)
				}
			}
			expect(t, h, 200, as("ann", "PATCH", at, tc.patch))
			got = answer(t, h, 200, as("ann", "GET", at))
			check.Same(t, tc.made, got, "changed")
			expectProblem(t, h, 422, "invalid", tc.fields, as("ann", "POST", "/v1/"+path, tc.bad))
			expectProblem(t, h, 422, "invalid", "extra", as("ann", "PATCH", at, object{"extra": 1}))
			for _, method := range []string{"GET", "DELETE"} {
				expectProblem(t, h, 404, "not_found", "", as("bob", method, at))
			}
			c.headers = nil
			newer := answer(t, h, 201, c)["id"].(string)
			if got, want := walk(t, h, "ann", "/v1/"+path+"?limit=1"), newer+" | "+id; got != want {
				t.Errorf("list %s, want %s", got, want)
			}
			expect(t, h, 204, as("ann", "DELETE", at))
			expectProblem(t, h, 404, "not_found", "", as("ann", "GET", at))
		})
	}
}

// TestConfidence checks that a confidence of 0 and no confidence are different, in a real DynamoDB.
func TestConfidence(t *testing.T) {
	t.Parallel()
	h := allFunctions(t, newMemory(t, noon).erasable())
	at := "/v1/memories/"
	for _, step := range []struct{ method, confidence, want string }{
		{"POST", ``, ``},
		{"POST", `,"confidence":null`, ``},
		{"POST", `,"confidence":0`, `0`},
		{"PATCH", ``, `0`},
		{"PATCH", `,"confidence":null`, ``},
		{"PATCH", `,"confidence":0.0`, `0`},
		{"PATCH", `,"confidence":0.5`, `0.5`},
		{"PATCH", `,"confidence":0`, `0`},
		{"POST", `,"confidence":1`, `1`},
	} {
		body := `{"type":"PROFILE","content":"x"` + step.confidence + `}`
		change := as("ann", step.method, at, body)
		status := 200
		if step.method == "POST" {
			change.path, status = "/v1/memories", 201
		}
		stored := answer(t, h, status, change)
		at = "/v1/memories/" + stored["id"].(string)
		for _, memory := range []object{
			stored, answer(t, h, 200, as("ann", "GET", at)),
		} {
			got, given := memory["confidence"]
			if given != (step.want != "") || (given && got != number(step.want)) {
				t.Errorf("%s %s: confidence %v, given %v, want %q", step.method, body, got, given, step.want)
			}
		}
	}
}

func TestCheckIns(t *testing.T) {
	t.Parallel()
	h, _, _ := newMessages(t)
	made := expect(t, h, 201, as("ann", "POST", "/v1/check-ins", object{"note": "slept well"}))
	if at, ok := made.header["Location"]; ok {
		t.Errorf("Location %q, where nothing is", at)
	}
	got := decodeObject(t, made)
	id := got["id"].(string)
	check.Same(t, object{
		"id": id, "timestamp": "2026-02-05T12:00:00.000Z", "note": "slept well",
	}, got, "check-in")
	older := answer(t, h, 201,
		as("ann", "POST", "/v1/check-ins", object{"timestamp": "2020-01-01T00:00:00Z"}))["id"].(string)
	check.Equal(t, id+" "+older, walk(t, h, "ann", "/v1/check-ins"), "list")
	expectProblem(
		t, h, 422, "invalid", "timestamp",
		as("ann", "POST", "/v1/check-ins", object{"timestamp": "9999-12-31T23:59:59-01:00"}),
	)
	expectProblem(t, h, 404, "not_found", "", as("ann", "GET", "/v1/check-ins/"+id))
}

func TestCoaches(t *testing.T) {
	t.Parallel()
	h, _, _ := newMessages(t)
	put := as("ann", "PUT", "/v1/coaches/c:1", object{"name": "Mia", "persona": "Be kind."})
	want := object{"coachId": "c:1", "name": "Mia", "persona": "Be kind."}
	check.Same(t, want, answer(t, h, 200, put), "put")
	asUser := put
	asUser.scopes = "throughline/user"
	expectProblem(t, h, 403, "forbidden", "", asUser)
	expectProblem(
		t, h, 403, "forbidden", "", call{method: "DELETE", path: "/v1/coaches/c:1", user: "ann", scopes: "throughline/user"},
	)
	public := object{"coachId": "c:1", "name": "Mia"}
	get := call{method: "GET", path: "/v1/coaches/c:1", user: "ann", scopes: "throughline/user"}
	check.Same(t, public, answer(t, h, 200, get), "without the app's scope")
	expectProblem(t, h, 404, "not_found", "", as("bob", "GET", "/v1/coaches/c:1"))
	put.path = "/v1/coaches/" + strings.Repeat("x", 129)
	expectProblem(t, h, 422, "invalid", "coachId", put)
	put.path, put.body = "/v1/coaches/c2", object{"name": ""}
	expectProblem(t, h, 422, "invalid", "name persona", put)
	var page struct{ Items []object }
	expect(t, h, 200, as("ann", "GET", "/v1/coaches")).decode(t, &page)
	check.Same(t, []object{want}, page.Items, "list")
	list := call{method: "GET", path: "/v1/coaches", user: "ann", scopes: "throughline/user"}
	page.Items = nil
	expect(t, h, 200, list).decode(t, &page)
	check.Same(t, []object{public}, page.Items, "list without the app's scope")
	expect(t, h, 204, as("ann", "DELETE", "/v1/coaches/c:1"))
	expectProblem(t, h, 404, "not_found", "", as("ann", "DELETE", "/v1/coaches/c:1"))
}

// TestFilteredLists lists records by their filters, page by page: no record twice, and none that the filter excludes.
func TestFilteredLists(t *testing.T) {
	t.Parallel()
	h, _, _ := newMessages(t)
	for i := range 30 {
		body := object{"content": fmt.Sprint("todo ", i), "coachId": "c"}
		if i%3 == 0 {
			body["status"] = "COMPLETED"
		}
		expect(t, h, 201, as("ann", "POST", "/v1/todos", body))
		fact := object{"content": fmt.Sprint("fact ", i), "type": "PEOPLE"}
		if i%2 == 0 {
			fact["type"], fact["validUntil"] = "PROJECT", "2020-01-01T00:00:00Z"
		}
		expect(t, h, 201, as("ann", "POST", "/v1/memories", fact))
	}
	for query, want := range map[string]int{
		"todos": 30, "todos?status=COMPLETED": 10, "todos?status=PENDING": 20, "memories?type=PEOPLE": 15,
		"memories?valid=false": 15, "memories?valid=true": 15, "memories?type=PEOPLE&valid=false": 0,
	} {
		pages := strings.Split(walk(t, h, "ann", "/v1/"+query+separator(query)+"limit=4"), " | ")
		ids := strings.Fields(strings.Join(pages, " "))
		if distinct := slices.Compact(slices.Sorted(slices.Values(ids))); len(ids) != want || len(distinct) != want {
			t.Errorf("%s: %d records, %d of them different, want %d", query, len(ids), len(distinct), want)
		}
		for _, page := range pages {
			if n := len(strings.Fields(page)); n > 4 {
				t.Errorf("%s: a page of %d", query, n)
			}
		}
	}
}

// A memory shows how it came about, can be taken back, and waits where the user wants to review it.
func TestMemoriesAreCorrected(t *testing.T) {
	t.Parallel()
	h, _, _ := newMessages(t)
	create := func(m object) string {
		return answer(t, h, 201, as("ann", "POST", "/v1/memories", m))["id"].(string)
	}
	rome := create(object{"type": "PROFILE", "content": "Lives in Rome"})
	oslo := create(object{
		"type": "PROFILE", "content": "Lives in Oslo", "supersededBy": rome, "endedReason": "replaced",
		"validUntil": "2026-01-01T00:00:00.000Z",
	})
	path := "/v1/memories/" + oslo
	items := answer(t, h, 200, as("ann", "GET", path+"/history"))["items"].([]any)
	if len(items) != 2 || items[1].(object)["messages"] == nil {
		t.Errorf("history: %v", items)
	}
	if m := answer(t, h, 200, as("ann", "POST", path+"/restore")); m["endedReason"] != nil || m["validUntil"] != nil {
		t.Errorf("restored: %v", m)
	}
	if m := answer(t, h, 200, as("ann", "GET", "/v1/memories/"+rome)); m["endedReason"] != "false" {
		t.Errorf("its successor: %v", m)
	}
	expectProblem(t, h, 404, "not_found", "", as("bob", "POST", path+"/restore"))
	expectProblem(t, h, 422, "invalid", "verdict", as("ann", "POST", path+"/review", object{"verdict": "maybe"}))
	expectProblem(t, h, 409, "conflict", "", as("ann", "POST", path+"/review", object{"verdict": "reject"}))
	expect(t, h, 204, as("ann", "DELETE", path))
	expectProblem(t, h, 409, "conflict", "", as("ann", "POST", path+"/restore"))

	if p := answer(t, h, 200, as("ann", "GET", "/v1/preferences")); p["reviewMemories"] != false {
		t.Errorf("preferences: %v", p)
	}
	p := answer(t, h, 200, as("ann", "PUT", "/v1/preferences", object{"reviewMemories": true}))
	if p["reviewMemories"] != true || p["memory"] != true {
		t.Errorf("preferences: %v", p)
	}
}
