package httpapi_test

import (
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/google/go-cmp/cmp"

	"github.com/throughline/throughline/infra/legacy"
	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/migration"
	"github.com/throughline/throughline/internal/migration/adopt"
	"github.com/throughline/throughline/internal/testing/dynamotest"
)

// appAPI serves a table with an app's own records.
type appAPI struct {
	http.Handler
	table string
}

func newAppAPI(t *testing.T, stage migration.Stage) appAPI {
	t.Helper()
	table := dynamotest.Table(t)
	store := dynamotest.Open(t, table, dynamo.WithClock(noon), adopt.WithInitialStage(stage))
	eraser := store.Erasure(dynamotest.NoIndex{}, noon)
	return appAPI{allFunctions(t, stores{
		store.Sessions, store.Messages, eraser, &slowEraser{Eraser: eraser},
		longTermOf(store),
	}), table}
}

// put stores a record of the app's own for ann.
func (a appAPI) put(t *testing.T, sk string, record map[string]any) {
	t.Helper()
	it, err := attributevalue.MarshalMap(record)
	if err != nil {
		t.Fatal(err)
	}
	dynamotest.Put(t, a.table, "ann", sk, it)
}

func (a appAPI) get(t *testing.T, path string) (out map[string]any) {
	t.Helper()
	expect(t, a, 200, as("ann", "GET", path)).decode(t, &out)
	return out
}

// TestAppRecordsAreServed puts records of an app's own at any time, in every stage: each is a session at once.
func TestAppRecordsAreServed(t *testing.T) {
	t.Parallel()
	hello := map[string]any{"role": "user", "content": "Hello", "ts": "2025-03-01T10:00:00Z"}
	session := func(with map[string]any) map[string]any {
		out := map[string]any{
			"sessionId": "a", "context": "coach_conversation", "coachId": "default", "mode": "chat", "status": "active",
			"messageCount": number("0"), "startedAt": nil, "lastMessageAt": nil,
		}
		maps.Copy(out, with)
		return out
	}
	for name, c := range map[string]struct {
		sk     string
		record map[string]any
		want   map[string]any
	}{
		"nothing":              {"conversation#a", nil, session(nil)},
		"no messages":          {"conversation#a", map[string]any{"attributes": map[string]any{}}, session(nil)},
		"attributes of a text": {"conversation#a", map[string]any{"attributes": "?"}, session(nil)},
		"messages of a text": {
			"conversation#a",
			map[string]any{"attributes": map[string]any{"messages": "?", "k": 1}},
			session(map[string]any{"attributes": map[string]any{"k": number("1")}}),
		},
		"all that it says": {
			"program_session#a",
			map[string]any{
				"title": "not this one", "createdAt": 1_700_000_000, "version": "app 7", "placementHint": true,
				"attributes": map[string]any{
					"messages": []any{hello, map[string]any{"role": "ai", "content": "Hi", "ts": 1_740_823_260}},
					"coachId":  "mia", "title": "Plan", "mode": "design", "status": "completed",
				},
			},
			session(map[string]any{
				"context": "program_designer", "coachId": "mia", "title": "Plan", "mode": "design", "status": "completed",
				"attributes": map[string]any{
					"coachId": "mia", "title": "Plan", "mode": "design", "status": "completed",
				},
				"messageCount": number("2"), "startedAt": "2025-03-01T10:00:00.000Z", "lastMessageAt": "2025-03-01T10:01:00.000Z",
			}),
		},
		"at the top, and not valid": {
			"workout_session#a",
			map[string]any{
				"coachId": "top", "status": "open", "mode": 7, "attributes": map[string]any{"coachId": "a b", "messages": []any{}},
			},
			session(map[string]any{
				"context": "workout_log", "coachId": "top", "mode": "workout_log",
				"attributes": map[string]any{"coachId": "a b"},
			}),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, stage := range []migration.Stage{
				migration.Embedded, migration.Dual, migration.SharedRead, migration.Shared,
			} {
				api := newAppAPI(t, stage)
				api.put(t, c.sk, c.record)
				if diff := cmp.Diff(c.want, api.get(t, "/v1/sessions/a")); diff != "" {
					t.Errorf("%s (-want +got):\n%s", stage, diff)
				}
				conflict := `{"sessionId":"a","context":"coach_creator","coachId":"c1"}`
				expectProblem(t, api, 409, "conflict", "",
					as("ann", "POST", "/v1/sessions", conflict))
				if stage == migration.Shared {
					continue // it is listed when the stream has moved it
				}
				if got := api.get(t, "/v1/sessions")["items"]; len(got.([]any)) != 1 {
					t.Errorf("%s: listed %v", stage, got)
				}
			}
		})
	}
}

// TestAppShapesAreServed serves every kind of array that apps have, before and after an append, an edit and deletions.
func TestAppShapesAreServed(t *testing.T) {
	t.Parallel()
	api := newAppAPI(t, migration.Embedded)
	table := legacy.Table{Seed: 3, Users: 1, Sessions: 13, Messages: 90}
	for n := range table.Sessions {
		s := table.Session(n)
		dynamotest.Put(t, api.table, conversation.UserID("ann"), s.Key(), withoutKey(s.Item))
		base := "/v1/sessions/" + s.ID
		served := func(what string, from int) []any {
			items := api.get(t, base+"/messages?limit=200")["items"].([]any)
			for i, want := range s.Messages[from:] {
				got := items[i].(map[string]any)
				if got["role"] != want.Role || got["content"] != want.Content {
					t.Errorf("%s, %s: message %d is %v, want %v", s.Shape, what, i, got, want)
				}
			}
			return items
		}
		before := served("at first", 0)
		expect(t, api, 201, as("ann", "POST", base+"/messages", `{"messages":[{"role":"user","content":"more"}]}`))
		expect(t, api, 200, as("ann", "PATCH", base, `{"title":"t","attributes":{"x.y":1}}`))
		after := served("after an append", 0)
		if diff := cmp.Diff(before, after[:len(before)]); diff != "" {
			t.Errorf("%s: after an append (-before +after):\n%s", s.Shape, diff)
		}
		first := after[0].(map[string]any)["messageId"].(string)
		expect(t, api, 204, as("ann", "DELETE", base+"/messages/"+first))
		if len(s.Messages) == 0 {
			continue
		}
		if diff := cmp.Diff(after[1:], served("after a deletion", 1)); diff != "" {
			t.Errorf("%s: after a deletion (-before +after):\n%s", s.Shape, diff)
		}
	}
	expect(t, api, 202, as("ann", "DELETE", "/v1/user"))
	expect(t, api, 200, as("ann", "DELETE", "/v1/user"))
	if got := api.get(t, "/v1/sessions")["items"]; len(got.([]any)) != 0 {
		t.Errorf("after an erasure: %v", got)
	}
}

// TestTheStatusOfAnAppsRecordIsTheApps appends to an app's own record of a completed conversation, before the session
// moves and after it.
func TestTheStatusOfAnAppsRecordIsTheApps(t *testing.T) {
	t.Parallel()
	for stage, want := range map[migration.Stage]string{
		migration.Embedded: "completed", migration.Dual: "active", migration.Shared: "active",
	} {
		api := newAppAPI(t, stage)
		record := map[string]any{"status": "completed", "attributes": map[string]any{"messages": []any{}}}
		api.put(t, "conversation#a", record)
		var answer struct{ Session struct{ Status string } }
		expect(t, api, 201,
			as("ann", "POST", "/v1/sessions/a/messages", `{"messages":[{"role":"user","content":"more"}]}`)).decode(t, &answer)
		if got := api.get(t, "/v1/sessions/a")["status"]; got != want || answer.Session.Status != want {
			t.Errorf("%s: the session is %v, answered as %s, want %s", stage, got, answer.Session.Status, want)
		}
	}
}

func withoutKey[M ~map[string]V, V any](it M) M {
	delete(it, "pk")
	delete(it, "sk")
	return it
}

// TestFullRecords appends to a record that has no room for another message.
func TestFullRecords(t *testing.T) {
	t.Parallel()
	full := map[string]any{"attributes": map[string]any{"messages": []any{
		map[string]any{"role": "user", "content": strings.Repeat("x", 380<<10), "ts": "2025-03-01T10:00:00Z"},
	}}}
	body := `{"messages":[{"role":"user","content":"` + strings.Repeat("y", 40<<10) + `"}]}`
	appended := as("ann", "POST", "/v1/sessions/a/messages", body)
	api := newAppAPI(t, migration.Embedded)
	api.put(t, "conversation#a", full)
	expectProblem(t, api, 413, "too_large", "", appended)
	if got := api.get(t, "/v1/sessions/a")["messageCount"]; got != number("1") {
		t.Errorf("after the refusal there are %v messages", got)
	}
	for _, stage := range []migration.Stage{migration.Dual, migration.SharedRead, migration.Shared} {
		api := newAppAPI(t, stage)
		attributes := full["attributes"].(map[string]any)
		small := attributes["messages"].([]any)[0].(map[string]any)
		small["content"] = strings.Repeat("x", 250<<10)
		attributes["note"] = strings.Repeat("n", 130<<10)
		api.put(t, "conversation#a", full)
		expect(t, api, 201, appended)
		if got := api.get(t, "/v1/sessions/a")["messageCount"]; got != number("2") {
			t.Errorf("%s: %v messages", stage, got)
		}
		if got := api.get(t, "/v1/sessions/a/messages?limit=1&order=desc")["items"].([]any); len(got) != 1 {
			t.Errorf("%s: the last message is %v", stage, got)
		}
	}
}

// TestMessagesIsNoAttribute refuses the name under which apps have their arrays.
func TestMessagesIsNoAttribute(t *testing.T) {
	t.Parallel()
	h := newAppAPI(t, migration.Shared)
	newSession(t, h, "s1")
	expectProblem(t, h, 422, "invalid", "attributes.messages",
		as("ann", "POST", "/v1/sessions", `{"context":"workout_log","coachId":"c1","attributes":{"messages":[]}}`))
	expectProblem(t, h, 422, "invalid", "attributes.messages",
		as("ann", "PATCH", "/v1/sessions/s1", `{"attributes":{"messages":null}}`))
}
