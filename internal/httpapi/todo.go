package httpapi

import (
	"cmp"

	"github.com/danielgtaylor/huma/v2"

	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/llm"
	"github.com/throughline/throughline/internal/longterm"
)

type todo struct {
	ID          string     `json:"id"`
	Content     string     `json:"content"`
	CoachID     string     `json:"coachId"`
	Status      string     `json:"status" enum:"PENDING,COMPLETED,CANCELLED"`
	By          string     `json:"by" enum:"user,assistant" doc:"Who does it."`
	DueAt       string     `json:"dueAt,omitempty" doc:"The day or the time by which it is to be done."`
	CompletedAt *timestamp `json:"completedAt,omitempty"`
	CreatedAt   *timestamp `json:"createdAt,omitempty"`
	UpdatedAt   *timestamp `json:"updatedAt,omitempty"`
}

type newTodo struct {
	Content     string     `json:"content" minLength:"1" maxLength:"4000"`
	CoachID     id         `json:"coachId"`
	Status      string     `json:"status,omitempty" enum:"PENDING,COMPLETED,CANCELLED" default:"PENDING"`
	By          string     `json:"by,omitempty" enum:"user,assistant" default:"user" doc:"Who does it."`
	DueAt       *moment    `json:"dueAt,omitempty" doc:"The day or the time by which it is to be done."`
	CompletedAt *timestamp `json:"completedAt,omitempty" doc:"Only with COMPLETED. Default: now."`
}

// TransformSchema adds the rule that only a completed todo has a completion time. It is for the document:
// checkCompletion checks it, with the name of the field.
func (newTodo) TransformSchema(_ huma.Registry, s *huma.Schema) *huma.Schema {
	s.Extensions = map[string]any{"anyOf": []any{
		map[string]any{
			"required":   []string{"status"},
			"properties": map[string]any{"status": map[string]any{"enum": []string{string(longterm.TodoCompleted)}}},
		},
		map[string]any{"properties": map[string]any{"completedAt": map[string]any{"type": "null"}}},
	}}
	return s
}

type changedTodo struct {
	Content     *string             `json:"content,omitempty" minLength:"1" maxLength:"4000"`
	CoachID     *id                 `json:"coachId,omitempty"`
	Status      *string             `json:"status,omitempty" enum:"PENDING,COMPLETED,CANCELLED"`
	By          *string             `json:"by,omitempty" enum:"user,assistant"`
	DueAt       optional[moment]    `json:"dueAt,omitzero" doc:"null removes it."`
	CompletedAt optional[timestamp] `json:"completedAt,omitzero" doc:"Only for a completed todo."`
}

// todosInput is the input of the list of todos.
type todosInput struct {
	ListInput
	Status string `query:"status" enum:"PENDING,COMPLETED,CANCELLED" doc:"Only todos of this status."`
}

func todos(
	s *server, store longterm.Collection[longterm.Todo], tokens llm.Counter,
) collection[longterm.Todo, newTodo, changedTodo, todo] {
	return collection[longterm.Todo, newTodo, changedTodo, todo]{
		server: s, store: store, path: "todos", id: "Todo", name: "todo",
		fromNew: func(n newTodo) (longterm.Todo, error) {
			status := longterm.TodoStatus(cmp.Or(n.Status, string(longterm.Pending)))
			return longterm.Todo{
				CoachID: string(n.CoachID), Content: n.Content, Status: status, CompletedAt: storedTime(n.CompletedAt),
				By: storedOwner(n.By), Due: n.DueAt.stored(), Tokens: tokens.Count(n.Content),
			}, invalidFields(append(checkCompletion(status, n.CompletedAt), n.DueAt.check("dueAt")...))
		},
		applyPatch: func(p changedTodo, t *longterm.Todo) error { return s.patchTodo(p, t, tokens) },
		toView: func(t longterm.Todo) todo {
			return todo{
				t.ID, t.Content, t.CoachID, string(t.Status), string(cmp.Or(t.By, longterm.ByUser)), t.Due.String(),
				newTimestamp(t.CompletedAt), newTimestamp(t.CreatedAt), newTimestamp(t.UpdatedAt),
			}
		},
		recordID: func(t longterm.Todo) string { return t.ID },
	}
}

func (s *server) patchTodo(p changedTodo, t *longterm.Todo, tokens llm.Counter) error {
	assign((*string)(p.CoachID), &t.CoachID)
	assign((*longterm.TodoStatus)(p.Status), &t.Status)
	wrong := append(checkCompletion(t.Status, p.CompletedAt.value), p.DueAt.value.check("dueAt")...)
	if err := invalidFields(wrong); err != nil {
		return err
	}
	if p.By != nil {
		t.By = storedOwner(*p.By)
	}
	if p.DueAt.set {
		t.Due = p.DueAt.value.stored()
	}
	if p.CompletedAt.set {
		t.CompletedAt = storedTime(p.CompletedAt.value)
	}
	if p.Content != nil {
		t.Content, t.Tokens = *p.Content, tokens.Count(*p.Content)
	}
	t.UpdatedAt = s.storedNow()
	*t = t.WithCompletion(t.UpdatedAt)
	return nil
}

// storedOwner is who does a todo as it is stored: nothing for the default.
func storedOwner(by string) longterm.TodoOwner {
	if o := longterm.TodoOwner(by); o != longterm.ByUser {
		return o
	}
	return ""
}

// checkCompletion checks the completion time of a todo with that status.
func checkCompletion(status longterm.TodoStatus, at *timestamp) []fault.Field {
	if at != nil && status != longterm.TodoCompleted {
		return []fault.Field{{Field: "completedAt", Message: "needs the status COMPLETED, and the todo is " + string(status)}}
	}
	return at.check("completedAt")
}
