package e2e_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/throughline/throughline/infra/client"
	"github.com/throughline/throughline/infra/launch"
	"github.com/throughline/throughline/internal/testing/check"
)

// delivered is an event as a target of the bus gets it.
type delivered struct {
	ID         string
	DetailType string `json:"detail-type"`
	Source     string
	Detail     object
}

// eventsOf returns the events of a stack that came after the one of an id, once its background work is done.
func eventsOf(t *testing.T, stack *launch.Stack, after string) (out []delivered) {
	t.Helper()
	settleStack(t, stack)
	request := check.Got(http.NewRequestWithContext(t.Context(), http.MethodGet, stack.Base+"/dev/events?after="+after,
		nil))(t)
	response := check.Got(http.DefaultClient.Do(request))(t)
	defer response.Body.Close()
	for d := json.NewDecoder(response.Body); d.More(); {
		var e delivered
		check.OK(t, d.Decode(&e))
		out = append(out, e)
	}
	return out
}

// schemas returns the schemas of the events, by their types.
func schemas(t *testing.T) map[string]*jsonschema.Resolved {
	t.Helper()
	files, err := filepath.Glob("../../docs/events/*.json")
	if err != nil || len(files) != 13 {
		t.Fatalf("%d schemas, %v", len(files), err)
	}
	out := map[string]*jsonschema.Resolved{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		check.OK(t, err)
		var schema jsonschema.Schema
		if err := json.Unmarshal(text, &schema); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if out[strings.TrimSuffix(filepath.Base(file), ".json")], err = schema.Resolve(nil); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
	}
	return out
}

// secret is in everything that is said, so that an event has it only where it has a content.
const secret = "Marzipan"

// playEvents does what brings an event of each type.
func playEvents(t *testing.T, api *client.Client) {
	t.Helper()
	body := object{"context": "coach_conversation", "coachId": "coach", "sessionId": "s"}
	do(t, api, http.MethodPost, "/v1/sessions", body, nil)
	picture := object{"type": "file", "mediaType": "image/png", "dataRef": "pictures/1", "alt": secret}
	do(t, api, http.MethodPost, "/v1/sessions/s/messages", object{"messages": []object{
		{"role": "user", "content": "I'm allergic to peanuts. " + secret, "parts": []object{picture}},
		{"role": "assistant", "content": secret},
	}}, nil)
	talk(t, api, "s", secret)
	var b begun
	do(t, api, http.MethodPost, "/v1/turns", object{"sessionId": "s", "message": secret}, &b)
	do(t, api, http.MethodPost, "/v1/turns/"+b.TurnID+"/finish", object{"error": "the model is down"}, nil)
	do(t, api, http.MethodPatch, "/v1/sessions/s", object{"status": "completed"}, nil)
	var m, todo struct{ ID string }
	do(t, api, http.MethodPost, "/v1/memories", object{"type": "PROFILE", "content": secret}, &m)
	do(t, api, http.MethodPatch, "/v1/memories/"+m.ID, object{"pinned": true}, nil)
	do(t, api, http.MethodPatch, "/v1/memories/"+m.ID, object{"validUntil": "2020-01-01T00:00:00Z"}, nil)
	do(t, api, http.MethodDelete, "/v1/memories/"+m.ID, nil, nil)
	do(t, api, http.MethodPost, "/v1/todos", object{"content": secret, "coachId": "coach"}, &todo)
	do(t, api, http.MethodPatch, "/v1/todos/"+todo.ID, object{"status": "COMPLETED"}, nil)
}

// TestEvents plays what brings each type of event. Each event keeps to its schema and has no content, or has it where
// it is asked for. What is delivered again has the same id. After an erasure nothing of before is sent.
func TestEvents(t *testing.T) {
	t.Parallel()
	for _, content := range []bool{false, true} {
		t.Run(fmt.Sprint(content), func(t *testing.T) {
			t.Parallel()
			stack := startStack(t, fmt.Sprint("EVENT_CONTENT=", content))
			api := check.Got(client.New(stack.Base).As(t.Context(), "ann"))(t)
			playEvents(t, api)
			before := eventsOf(t, stack, "")
			do(t, client.New(stack.Base), http.MethodPost, "/dev/redeliver", nil, nil)
			again := eventsOf(t, stack, before[len(before)-1].ID)
			check.Same(t, ids(before), ids(again), "delivered (-) and delivered again (+)")
			file := object{"type": "file", "mediaType": "image/png", "url": "https://pictures.example/2?signed"}
			open(t, api, "coach_conversation", "other")
			do(t, api, http.MethodPost, "/v1/sessions/other/messages", object{"messages": []object{
				{"role": "user", "parts": []object{file}},
			}}, nil)
			do(t, api, http.MethodDelete, "/v1/sessions/s", nil, nil)
			before = eventsOf(t, stack, "")
			var receipt struct{ Files []string }
			do(t, api, http.MethodDelete, "/v1/user", nil, &receipt)
			do(t, client.New(stack.Base), http.MethodPost, "/dev/redeliver", nil, nil)
			erased := eventsOf(t, stack, before[len(before)-1].ID)
			files := []any{"https://pictures.example/2?signed"}
			if len(ids(erased)) != 1 || !cmp.Equal(erased[0].Detail["files"], any(files)) || len(receipt.Files) != 1 {
				t.Errorf("after the erasure, with the receipt %+v: %+v", receipt, erased)
			}
			checkEvents(t, append(before, erased...), content)
		})
	}
}

// ids returns the ids of events, each once.
func ids(events []delivered) []string {
	all := map[string]bool{}
	for _, e := range events {
		all[fmt.Sprint(e.DetailType, " ", e.Detail["id"])] = true
	}
	return slices.Sorted(maps.Keys(all))
}

// checkEvents expects events of each type that keep to their schemas.
func checkEvents(t *testing.T, events []delivered, content bool) {
	t.Helper()
	missing, said := schemas(t), false
	of := maps.Clone(missing)
	for _, e := range events {
		delete(missing, e.DetailType)
		if of[e.DetailType] == nil || e.Source != "throughline" {
			t.Fatalf("an event %s of %s", e.DetailType, e.Source)
		}
		if err := of[e.DetailType].Validate(e.Detail); err != nil {
			t.Errorf("%s: %v\n%v", e.DetailType, err, e.Detail)
		}
		if e.DetailType == "session.erased" && !cmp.Equal(e.Detail["files"], any([]any{"pictures/1"})) {
			t.Errorf("the erased session has %v", e.Detail)
		}
		said = said || strings.Contains(fmt.Sprint(e.Detail), secret)
	}
	if len(missing) > 0 || said != content {
		t.Errorf("no event %v; a content is sent: %v, want %v", slices.Collect(maps.Keys(missing)), said, content)
	}
}

// TestNoEventIsLostInAnOutage has an outage of the bus. The rest goes on, and then the bus gets what it has missed, but
// nothing of a user who was erased meanwhile.
func TestNoEventIsLostInAnOutage(t *testing.T) {
	t.Parallel()
	stack := startStack(t)
	as := func(user string) *client.Client {
		return check.Got(client.New(stack.Base).As(t.Context(), user))(t)
	}
	ann, bob := as("ann"), as("bob")
	faults := func(settings object) {
		t.Helper()
		do(t, client.New(stack.Base), http.MethodPost, "/dev/faults", object{"eventbridge": settings}, nil)
	}
	faults(object{"errorRate": 1})
	for _, api := range []*client.Client{ann, bob} {
		open(t, api, "coach_conversation", "s")
		talk(t, api, "s", "I'm allergic to peanuts.")
		eventually(t, 20*time.Second, "the memory", func() bool { return len(memories(t, api)) > 0 })
	}
	do(t, bob, http.MethodDelete, "/v1/user", nil, nil)
	faults(object{})
	var got []string
	for _, e := range eventsOf(t, stack, "") {
		got = append(got, fmt.Sprint(e.Detail["userId"], " ", e.DetailType))
	}
	slices.Sort(got)
	want := []string{"ann memory.added", "ann session.created", "ann turn.finished", "bob user.erased"}
	check.Same(t, want, slices.Compact(got), "events after the outage")
}
