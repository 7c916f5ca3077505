package dynamo_test

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/longterm"
)

// TestGoalsAtTheirCap stores one goal more than can be live. The oldest becomes past, and is still listed.
func TestGoalsAtTheirCap(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	const maxLive = 50
	for i := range maxLive + 1 {
		g := longterm.Goal{Status: longterm.GoalActive, CreatedAt: start.Add(time.Duration(i) * time.Minute)}
		create(t, s.Goals, g)
	}
	snap := snapshot(t, s)
	if len(snap.Goals) != maxLive {
		t.Errorf("%d goals are live, want %d", len(snap.Goals), maxLive)
	}
	for _, g := range snap.Goals {
		if g.CreatedAt.Equal(start) {
			t.Error("the oldest goal is live")
		}
	}
	all, _, err := s.Goals.List(t.Context(), alice, conversation.Page{Limit: 200})
	if err != nil || len(all) != maxLive+1 {
		t.Errorf("%d goals are listed, %v; want %d", len(all), err, maxLive+1)
	}
}

// TestTodosAtTheirCap stores the only todo of one coach, and then more of another one than can be live. Those of the
// coach that has the most become past, the oldest first.
func TestTodosAtTheirCap(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	const maxLive, extracted = 100, 97
	var todos []longterm.Todo
	for i := range maxLive + 5 {
		at := start.Add(time.Duration(i) * time.Minute)
		todo := longterm.Todo{CoachID: "tom", Content: fmt.Sprint(i), Status: longterm.Pending, CreatedAt: at}
		if i == 0 {
			todo.CoachID = "mia"
		}
		if i < extracted {
			todo.ID = longterm.NewTodoID(at, repeated("t"))
		}
		todos = append(todos, todo)
	}
	s.extract(t, nil, todos[:extracted])
	for _, todo := range todos[extracted:] {
		create(t, s.Todos, todo)
	}
	snap := snapshot(t, s)
	if len(snap.Todos) != maxLive {
		t.Fatalf("%d todos are live, want %d", len(snap.Todos), maxLive)
	}
	for _, todo := range snap.Todos {
		if n, err := strconv.Atoi(todo.Content); err != nil || 1 <= n && n <= 5 {
			t.Errorf("todo %s of %s is live, %v", todo.Content, todo.CoachID, err)
		}
	}
	if snap.Todos[0].CoachID != "mia" {
		t.Error("the only todo of one coach is past")
	}
}
