package httpapi_test

import (
	"testing"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/httpapi"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/testing/check"
)

// A memory says how it is known, of whom, since when and until when, and why it ended.
func TestMemoriesSayUntilWhenAndWhy(t *testing.T) {
	t.Parallel()
	h, _, _ := newMessages(t)
	create := as("ann", "POST", "/v1/memories", object{
		"type": "PEOPLE", "content": "Mia visits.", "status": "planned", "about": "Mia", "from": "2026-11-16",
		"until":  "2026-11-20",
		"saidAt": "2026-01-30T10:00:00Z",
	})
	made := answer(t, h, 201, create)
	at := "/v1/memories/" + made["id"].(string)
	for name, want := range map[string]string{
		"status": "planned", "about": "Mia", "from": "2026-11-16", "until": "2026-11-20",
		"saidAt": "2026-01-30T10:00:00.000Z",
	} {
		if made[name] != want {
			t.Errorf("%s is %v, want %s", name, made[name], want)
		}
	}
	patch := func(body object) object {
		return answer(t, h, 200, as("ann", "PATCH", at, body))
	}
	over := patch(object{"until": "2026-02-04T08:00:00+01:00", "endedReason": "over", "status": "stated", "about": nil})
	if over["until"] != "2026-02-04T07:00:00.000Z" || over["endedReason"] != "over" || over["status"] != "stated" {
		t.Errorf("changed to %v", over)
	}
	valid := func() string { return walk(t, h, "ann", "/v1/memories?valid=true") }
	if _, has := over["about"]; has || valid() != "" {
		t.Errorf("%v, valid: %s", over, valid())
	}
	again := patch(object{"from": nil, "until": nil, "endedReason": nil, "saidAt": nil})
	if again["from"] != nil ||
		again["saidAt"] != again["createdAt"] || again["until"] != nil || again["endedReason"] != nil || valid() == "" {
		t.Errorf("changed to %v", again)
	}
	for _, wrong := range []string{"2026-02-30", "2026-02-03T25:00:00Z"} {
		expectProblem(t, h, 422, "invalid", "from", as("ann", "PATCH", at, object{"from": wrong}))
		expectProblem(t, h, 422, "invalid", "until", as("ann", "PATCH", at, object{"until": wrong}))
	}
	expectProblem(t, h, 422, "invalid", "endedReason", as("ann", "PATCH", at, object{"endedReason": "bored"}))
}

// A memory that is over before it begins, or that replaces itself, would be in no prompt. What is called off may end
// before it was to begin, and days are compared as those of a zone that nobody has said.
func TestMemoriesThatNeverHoldAreRefused(t *testing.T) {
	t.Parallel()
	h, _, _ := newMessages(t)
	for _, tt := range []struct{ from, until, refused string }{
		{"2026-12-02", "2026-12-01", "until"},
		{"2026-12-01", "2026-12-01", ""},
		{"2026-12-01T10:00:00Z", "2026-12-01T09:59:59Z", "until"},
		{"2026-12-01T10:00:00Z", "2026-12-01T10:00:01Z", ""},
		{"2026-12-01", "2026-11-30T11:00:00Z", ""},
		{"2026-12-01", "2026-11-30T09:00:00Z", "until"},
		{"2026-12-01T11:00:00Z", "2026-11-30", ""},
		{"2026-12-01T13:00:00Z", "2026-11-30", "until"},
	} {
		span := object{"from": tt.from, "until": tt.until}
		create := as("ann", "POST", "/v1/memories", object{
			"type": "PROFILE", "content": "Away", "from": tt.from, "until": tt.until,
		})
		made := answer(t, h, 201, as("ann", "POST", "/v1/memories", object{"type": "PROFILE", "content": "Away"}))
		change := as("ann", "PATCH", "/v1/memories/"+made["id"].(string), span)
		if tt.refused == "" {
			expect(t, h, 201, create)
			expect(t, h, 200, change)
			continue
		}
		expectProblem(t, h, 422, "invalid", tt.refused, create)
		expectProblem(t, h, 422, "invalid", tt.refused, change)
	}
	made := answer(t, h, 201, as("ann", "POST", "/v1/memories", object{"type": "PROFILE", "content": "Bees"}))
	expectProblem(t, h, 422, "invalid", "supersededBy",
		as("ann", "PATCH", "/v1/memories/"+made["id"].(string), object{"supersededBy": made["id"]}))
}

// TestWhatTheAppEndsIsNoMessages has the app say how a memory and a todo are that messages have ended. From then on the
// deletion of these messages undoes nothing.
func TestWhatTheAppEndsIsNoMessages(t *testing.T) {
	t.Parallel()
	h, store, _ := newMessages(t)
	made := answer(t, h, 201, as("ann", "POST", "/v1/memories", object{"type": "PROFILE", "content": "Bees"}))
	todo := answer(t, h, 201, as("ann", "POST", "/v1/todos", object{"content": "Dentist", "coachId": "c"}))
	fact, plan := made["id"].(string), todo["id"].(string)
	check.Got(store.records.Memories.Update(t.Context(), "ann", fact, func(m *longterm.Memory) error {
		m.ValidUntil, m.EndedReason, m.EndedBy = noon(), longterm.EndedOver, []string{"m"}
		return nil
	}))(t)
	check.Got(store.records.Todos.Update(t.Context(), "ann", plan, func(t *longterm.Todo) error {
		t.Status, t.EndedBy = longterm.TodoCancelled, []string{"m"}
		return nil
	}))(t)
	answer(t, h, 200, as("ann", "PATCH", "/v1/memories/"+fact, object{"pinned": true}))
	answer(t, h, 200, as("ann", "PATCH", "/v1/todos/"+plan, object{"content": "The dentist"}))
	m := check.Got(store.records.Memories.Get(t.Context(), "ann", fact))(t)
	if d := check.Got(store.records.Todos.Get(t.Context(), "ann", plan))(t); len(m.EndedBy) != 1 || len(d.EndedBy) != 1 {
		t.Errorf("after other changes: %v, %v", m.EndedBy, d.EndedBy)
	}
	answer(t, h, 200, as("ann", "PATCH", "/v1/memories/"+fact, object{"endedReason": "false"}))
	answer(t, h, 200, as("ann", "PATCH", "/v1/todos/"+plan, object{"status": "COMPLETED"}))
	m = check.Got(store.records.Memories.Get(t.Context(), "ann", fact))(t)
	if d := check.Got(store.records.Todos.Get(t.Context(), "ann", plan))(t); m.EndedBy != nil || d.EndedBy != nil {
		t.Errorf("after the app's word: %v, %v", m.EndedBy, d.EndedBy)
	}
}

// A reason alone ends nothing, so that it is refused. It goes with the end that it is of.
func TestMemoriesEndForAReason(t *testing.T) {
	t.Parallel()
	h, _, _ := newMessages(t)
	const ended = "2026-02-01T00:00:00.000Z"
	fact := object{"type": "PROFILE", "content": "Lives in Rome", "endedReason": "over"}
	expectProblem(t, h, 422, "invalid", "endedReason", as("ann", "POST", "/v1/memories", fact))
	delete(fact, "endedReason")
	made := answer(t, h, 201, as("ann", "POST", "/v1/memories", fact))
	at := "/v1/memories/" + made["id"].(string)
	for _, step := range []struct {
		patch  object
		status int
		reason any
		valid  bool
	}{
		{object{"endedReason": "forgotten"}, 422, nil, true},
		{object{"endedReason": "over", "validUntil": ended}, 200, "over", false},
		{object{"endedReason": "false"}, 200, "false", false},
		{object{"endedReason": "over", "validUntil": nil}, 422, "false", false},
		{object{"validUntil": nil}, 200, nil, true},
		{object{"pinned": true}, 200, nil, true},
		{object{"endedReason": "replaced", "supersededBy": "x"}, 200, "replaced", false},
		{object{"endedReason": "over", "supersededBy": nil, "until": "2026-02-01"}, 200, "over", false},
		{object{"until": nil}, 200, nil, true},
		{object{"endedReason": "replaced", "supersededBy": "x", "validUntil": "2999-01-01T00:00:00Z"}, 200, "replaced", true},
		{object{"validUntil": nil}, 200, nil, true},
	} {
		change := as("ann", "PATCH", at, step.patch)
		if step.status == 422 {
			expectProblem(t, h, 422, "invalid", "endedReason", change)
		} else {
			expect(t, h, step.status, change)
		}
		got := answer(t, h, 200, as("ann", "GET", at))
		valid := walk(t, h, "ann", "/v1/memories?valid=true") != ""
		if got["endedReason"] != step.reason || valid != step.valid {
			t.Errorf("after %v: ended as %v, valid %t", step.patch, got["endedReason"], valid)
		}
	}
}

// A day is over in a list of what is valid when it is over everywhere, as it is for the searches: a prompt tells of
// what is over where the user is.
func TestDaysAreValidEverywhere(t *testing.T) {
	t.Parallel()
	for before, want := range map[time.Duration]bool{time.Hour: true, 0: false} {
		b, _ := base()
		b.Now = func() time.Time { return noon().Add(-before) }
		store := newMemory(t, noon)
		h := httpapi.Messages(httpapi.MessagesDeps{
			Base: b, Sessions: store, SessionRemover: store, Messages: store, MessageRemover: store, Tokens: fakeCounter{},
			LongTerm: store.records, Eraser: &fakeEraser{}, Cursors: cursorKey(t, "1"),
		})
		fact := object{"type": "PROFILE", "content": "Away", "until": "2026-02-04"}
		answer(t, h, 201, as("ann", "POST", "/v1/memories", fact))
		valid := walk(t, h, "ann", "/v1/memories?valid=true") != ""
		check.Equal(t, want, valid, "%v before it is over everywhere it is valid", before)
	}
}

// A memory that waits to take the place of another one is reviewed, which ends that: a change of its status does not.
func TestWhatWaitsIsReviewed(t *testing.T) {
	t.Parallel()
	h, store, _ := newMessages(t)
	made, _, err := store.records.Memories.Create(t.Context(), "ann", longterm.Memory{
		Content: "Lives in Faro", Status: longterm.Waiting, Supersedes: []string{"porto"},
	}, conversation.Idempotency{})
	check.OK(t, err)
	expectProblem(t, h, 409, "conflict", "", as("ann", "PATCH", "/v1/memories/"+made.ID, object{"status": "stated"}))
}

// A change of a memory is not a saying of it: where no time was given, it was said when it was created, and a history
// has it at that place.
func TestMemoriesWereSaidWhenCreated(t *testing.T) {
	t.Parallel()
	now := noon().Add(-2 * time.Hour)
	h, _, _ := newMessagesAt(t, func() time.Time { return now })
	create := func(content string) string {
		made := answer(t, h, 201, as("ann", "POST", "/v1/memories", object{"type": "PROFILE", "content": content}))
		return made["id"].(string)
	}
	rome := create("Lives in Rome")
	now = now.Add(time.Hour)
	oslo := create("Lives in Oslo")
	for _, patch := range []object{
		{"pinned": true},
		{"content": "Lives in Roma"},
		{"saidAt": nil},
		{"validUntil": "2026-02-05T11:00:00Z", "supersededBy": oslo, "endedReason": "replaced"},
	} {
		changed := answer(t, h, 200, as("ann", "PATCH", "/v1/memories/"+rome, patch))
		if changed["saidAt"] != "2026-02-05T10:00:00.000Z" || changed["updatedAt"] != "2026-02-05T12:00:00.000Z" {
			t.Errorf("after %v: said at %v, changed at %v", patch, changed["saidAt"], changed["updatedAt"])
		}
	}
	if got, want := walk(t, h, "ann", "/v1/memories/"+oslo+"/history"), rome+" "+oslo; got != want {
		t.Errorf("history %s, want %s", got, want)
	}
}

// A todo has an owner and a day, and one that was given up is neither open nor done.
func TestTodosAreDueAndCancelled(t *testing.T) {
	t.Parallel()
	h, _, _ := newMessages(t)
	made := answer(t, h, 201, as("ann", "POST", "/v1/todos", object{
		"coachId": "c", "content": "Send the plan", "by": "assistant", "dueAt": "2026-11-20",
	}))
	if made["by"] != "assistant" || made["dueAt"] != "2026-11-20" {
		t.Errorf("made %v", made)
	}
	at := "/v1/todos/" + made["id"].(string)
	moved := answer(t, h, 200, as("ann", "PATCH", at, object{
		"status": "CANCELLED", "by": "user", "dueAt": nil,
	}))
	if moved["status"] != "CANCELLED" || moved["by"] != "user" || moved["dueAt"] != nil || moved["completedAt"] != nil {
		t.Errorf("changed to %v", moved)
	}
	check.Equal(t, "", walk(t, h, "ann", "/v1/todos?status=PENDING"), "open")
	expectProblem(t, h, 422, "invalid", "completedAt",
		as("ann", "PATCH", at, object{"completedAt": "2026-02-05T12:00:00Z"}))
	expectProblem(t, h, 422, "invalid", "dueAt", as("ann", "PATCH", at, object{"dueAt": "2026-13-01"}))
}

// TestMemoriesExpire has a memory with a time to live say when it is deleted.
func TestMemoriesExpire(t *testing.T) {
	t.Parallel()
	h, _, _ := newMessages(t)
	create := func(body object) call { return as("ann", "POST", "/v1/memories", body) }
	made := answer(t, h, 201, create(object{"type": "PROFILE", "content": "x", "ttlSeconds": 3600}))
	created := check.Got(time.Parse(time.RFC3339, made["createdAt"].(string)))(t)
	if want := created.Add(time.Hour).Truncate(time.Second).Format("2006-01-02T15:04:05.000Z"); made["expiresAt"] != want {
		t.Errorf("expires at %v, want %s", made["expiresAt"], want)
	}
	made = answer(t, h, 201, create(object{"type": "PROFILE", "content": "x"}))
	if _, has := made["expiresAt"]; has {
		t.Errorf("without a time to live: %v", made)
	}
	expectProblem(t, h, 422, "invalid", "ttlSeconds", create(object{"type": "PROFILE", "content": "x", "ttlSeconds": 0}))
}
