package httpapi_test

import (
	"fmt"
	"testing"
)

func TestTodoOpensAgain(t *testing.T) {
	t.Parallel()
	h, _, _ := newMessages(t)
	made := answer(t, h, 201, as("ann", "POST", "/v1/todos", object{
		"content": "x", "coachId": "c", "status": "COMPLETED", "completedAt": "2026-01-01T00:00:00Z",
	}))
	if made["completedAt"] != "2026-01-01T00:00:00.000Z" {
		t.Errorf("completedAt %v", made["completedAt"])
	}
	again := answer(t, h, 200,
		as("ann", "PATCH", fmt.Sprint("/v1/todos/", made["id"]), object{"status": "PENDING"}))
	if at, ok := again["completedAt"]; ok {
		t.Errorf("a pending todo was completed at %v", at)
	}
}

func TestPendingTodoHasNoCompletion(t *testing.T) {
	t.Parallel()
	h, _, _ := newMessages(t)
	const at = "2026-01-01T00:00:00Z"
	for _, body := range []object{
		{"content": "x", "coachId": "c", "completedAt": at}, {
			"content": "x", "coachId": "c", "status": "PENDING", "completedAt": at,
		},
	} {
		expectProblem(t, h, 422, "invalid", "completedAt", as("ann", "POST", "/v1/todos", body))
	}
	made := answer(t, h, 201, as("ann", "POST", "/v1/todos", object{"content": "x", "coachId": "c"}))
	change := as("ann", "PATCH", fmt.Sprint("/v1/todos/", made["id"]))
	for _, tc := range []struct {
		status int
		body   object
	}{
		{422, object{"completedAt": at}},
		{200, object{"completedAt": nil}},
		{200, object{"completedAt": at, "status": "COMPLETED"}},
		{200, object{"completedAt": "2026-01-02T00:00:00Z"}},
		{422, object{"completedAt": at, "status": "PENDING"}},
	} {
		change.body = tc.body
		expect(t, h, tc.status, change)
	}
	got := answer(t, h, 200, as("ann", "GET", change.path))
	if got["completedAt"] != "2026-01-02T00:00:00.000Z" {
		t.Errorf("todo %v", got)
	}
}
