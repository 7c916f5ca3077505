package httpapi_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"

	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/migration"
	"github.com/throughline/throughline/internal/migration/adopt"
	"github.com/throughline/throughline/internal/testing/check"
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
	it := check.Got(attributevalue.MarshalMap(record))(t)
	dynamotest.Put(t, a.table, "ann", sk, it)
}

func (a appAPI) get(t *testing.T, path string) (out map[string]any) {
	t.Helper()
	expect(t, a, 200, as("ann", "GET", path)).decode(t, &out)
	return out
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
