package httpapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/throughline/throughline/internal/testing/dynamodbtest"
)

func TestMain(m *testing.M) { dynamodbtest.Main(m) }

func TestContentAndNumbersComeBackExactly(t *testing.T) {
	t.Parallel()
	h := allFunctions(t, newMemory(t, noon).erasable())
	newSession(t, h, "s1")
	content := "👩🏽‍🚀 e\u0301 \u202eשלום\u202c \u0000 \u2028 <b>&</b> \U0010ffff" +
		strings.Repeat("€", 80<<10)
	metadata := `{"n":9007199254740992,"f":1.5,"e":1e-100,"deep":[{"a":null},true,"",{}],"":0}`
	body := fmt.Sprintf(`{"messages":[{"role":"user","content":%s,"metadata":%s}]}`, quoted(t, content), metadata)
	expectProblem(
		t, h, 422, "invalid", "messages[0].metadata",
		as("ann", "POST", "/v1/sessions/s1/messages", body),
	)
	expect(
		t,
		h,
		201,
		as("ann", "POST", "/v1/sessions/s1/messages", strings.Replace(body, `,"":0`, "", 1)),
	)
	var page struct {
		Items []struct {
			Content  string
			Metadata object
		}
	}
	expect(t, h, 200, as("ann", "GET", "/v1/sessions/s1/messages")).decode(t, &page)
	if len(page.Items) != 1 || page.Items[0].Content != content {
		t.Fatal("the content came back changed")
	}
	for name, want := range map[string]string{"n": "9007199254740992", "f": "1.5"} {
		if got := page.Items[0].Metadata[name]; got != number(want) {
			t.Errorf("metadata.%s %v, want %s", name, got, want)
		}
	}
	if diff := cmp.Diff([]any{object{"a": nil}, true, "", object{}}, page.Items[0].Metadata["deep"]); diff != "" {
		t.Errorf("metadata.deep (-want +got):\n%s", diff)
	}
}

func quoted(t *testing.T, text string) []byte {
	t.Helper()
	out, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestOneKeyFiftyTimesAtOnce(t *testing.T) {
	t.Parallel()
	h := allFunctions(t, newMemory(t, noon).erasable())
	newSession(t, h, "s1")
	bodies := make([]string, 50)
	var all sync.WaitGroup
	for i := range bodies {
		all.Go(func() {
			c := post(one(nil))
			c.headers = map[string]string{"Idempotency-Key": "k"}
			r := send(t, h, c)
			bodies[i] = fmt.Sprint(r.status, string(r.body))
		})
	}
	all.Wait()
	for _, body := range bodies {
		if body != bodies[0] || !strings.HasPrefix(body, "201") {
			t.Fatalf("answers differ:\n%s\n%s", bodies[0], body)
		}
	}
	if got := walk(t, h, "ann", "/v1/sessions/s1/messages"); strings.Contains(got, " ") || got == "" {
		t.Errorf("messages %q, want one", got)
	}
}

// tickingClock returns a clock that advances by a millisecond at each reading.
func tickingClock() func() time.Time {
	var n atomic.Int64
	return func() time.Time { return noon().Add(time.Duration(n.Add(1)) * time.Millisecond) }
}

func TestRepeatsAnswerAsTheFirstDid(t *testing.T) {
	t.Parallel()
	h := allFunctions(t, newMemory(t, tickingClock()).erasable())
	for name, tc := range map[string]struct{ path, at, create, patch string }{
		"goal":     {"/v1/goals", "", `{"title":"run","goalType":"habit"}`, `{"title":"swim","status":"completed"}`},
		"memory":   {"/v1/memories", "", `{"type":"PROFILE","content":"bad knee"}`, `{"content":"good knee","pinned":true}`},
		"todo":     {"/v1/todos", "", `{"content":"stretch","coachId":"c","status":"COMPLETED"}`, `{"status":"PENDING"}`},
		"check-in": {"/v1/check-ins", "", `{"note":"slept"}`, ""},
		"session": {
			"/v1/sessions", "", `{"context":"workout_log","coachId":"c","title":"a","attributes":{"n":1.50}}`,
			`{"title":"b","status":"completed","mode":"x","attributes":{"n":2}}`,
		},
		"named session": {
			"/v1/sessions", "/v1/sessions/s", `{"context":"workout_log","coachId":"c","sessionId":"s"}`, `{"title":"b"}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			create := call{
				method: "POST", path: tc.path, user: "ann", body: tc.create, headers: map[string]string{"Idempotency-Key": name},
			}
			first := expect(t, h, 201, create)
			if tc.at == "" {
				tc.at = first.header.Get("Location")
			}
			repeat := func(after string) {
				t.Helper()
				again := expect(t, h, 201, create)
				if diff := cmp.Diff(string(first.body), string(again.body)); diff != "" ||
					again.header.Get("Idempotency-Replayed") != "true" {
					t.Errorf("a repeat %s (-first +repeat):\n%s", after, diff)
				}
			}
			repeat("at once")
			if tc.patch == "" {
				return
			}
			expect(t, h, 200, as("ann", "PATCH", tc.at, tc.patch))
			repeat("after a change")
			expect(t, h, 204, as("ann", "DELETE", tc.at))
			repeat("after the end")
			expectProblem(t, h, 404, "not_found", "", as("ann", "GET", tc.at))
		})
	}
}

// TestARepeatedAppend repeats an append after its session was changed and one of its messages deleted. The messages are
// those of the first answer, and the session is as it is now.
func TestARepeatedAppend(t *testing.T) {
	t.Parallel()
	h := allFunctions(t, newMemory(t, tickingClock()).erasable())
	newSession(t, h, "s1")
	c := post(object{"messages": []any{
		object{
			"role": "user", "content": "one", "metadata": object{"n": number("1.50"), "e": []any{}},
			"timestamp": "2020-01-01T00:00:00Z",
		},
		object{"role": "assistant", "content": "two", "mode": "m", "timestamp": "2020-01-01T00:00:00Z"},
	}})
	c.headers = map[string]string{"Idempotency-Key": "k"}
	first := expect(t, h, 201, c)
	var stored struct{ Messages []struct{ MessageID string } }
	first.decode(t, &stored)
	expect(t, h, 201, post(one(nil)))
	expect(
		t,
		h,
		200,
		as("ann", "PATCH", "/v1/sessions/s1", `{"mode":"x","status":"completed"}`),
	)
	expect(
		t, h, 204, as("ann", "DELETE", "/v1/sessions/s1/messages/"+stored.Messages[1].MessageID),
	)
	again := expect(t, h, 201, c)
	wanted, answered := decodeObject(t, first), decodeObject(t, again)
	wanted["session"] = answer(t, h, 200, as("ann", "GET", "/v1/sessions/s1"))
	if diff := cmp.Diff(wanted, answered); diff != "" ||
		again.header.Get("Idempotency-Replayed") != "true" {
		t.Errorf("a repeat (-first +repeat):\n%s", diff)
	}
	if got := walk(t, h, "ann", "/v1/sessions/s1/messages"); strings.Count(got, " ") != 1 ||
		strings.Contains(got, stored.Messages[1].MessageID) {
		t.Errorf("messages after the repeat: %s", got)
	}
}

func TestPagesOverDynamoDB(t *testing.T) {
	t.Parallel()
	h := allFunctions(t, newMemory(t, noon).erasable())
	newSession(t, h, "s1")
	newSession(t, h, "s2")
	messages := make([]any, 25)
	for i := range messages {
		messages[i] = object{"role": "user", "content": fmt.Sprint(i)}
	}
	expect(t, h, 201, post(object{"messages": messages}))
	for _, path := range []string{
		"/v1/sessions/s1/messages?order=asc", "/v1/sessions/s1/messages?order=desc", "/v1/messages?order=asc", "/v1/messages",
		"/v1/messages?context=coach_conversation", "/v1/sessions",
	} {
		whole, paged := walk(t, h, "ann", path), walk(t, h, "ann", path+separator(path)+"limit=4")
		if got := strings.ReplaceAll(paged, " | ", " "); got != whole || strings.Count(whole, " ") < 1 {
			t.Errorf("%s: in pages %s, whole %s", path, got, whole)
		}
	}
	for _, path := range []string{"goals", "memories", "todos", "check-ins"} {
		createMany(t, h, path)
		whole, paged := walk(t, h, "ann", "/v1/"+path), walk(t, h, "ann", "/v1/"+path+"?limit=2")
		if got := strings.ReplaceAll(paged, " | ", " "); got != whole || strings.Count(whole, " ") != 4 {
			t.Errorf("%s: in pages %s, whole %s", path, got, whole)
		}
	}
}

func createMany(t *testing.T, h http.Handler, path string) {
	t.Helper()
	body := map[string]object{
		"goals": {"title": "x", "goalType": "habit"}, "memories": {"type": "PEOPLE", "content": "x"},
		"todos": {"content": "x", "coachId": "c"}, "check-ins": {"note": "x"},
	}[path]
	for i := range 5 {
		if path == "todos" && i%2 == 0 {
			body["status"] = "COMPLETED"
		}
		if path == "memories" && i%2 == 0 {
			body["validUntil"] = "2020-01-01T00:00:00Z"
		}
		expect(t, h, 201, as("ann", "POST", "/v1/"+path, body))
	}
}
