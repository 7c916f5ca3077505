package httpapi

import (
	"cmp"

	"github.com/danielgtaylor/huma/v2"

	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/longterm"
)

type todo struct {
	ID          string     `json:"id" doc:"The id of the record."`
	Content     string     `json:"content" doc:"The text, as it was stored."`
	CoachID     string     `json:"coachId" doc:"The id of the coach."`
	Status      string     `json:"status" enum:"PENDING,COMPLETED,CANCELLED" doc:"The state of the record."`
	By          string     `json:"by" enum:"user,assistant" doc:"Who does it."`
	Due         string     `json:"dueAt,omitempty" doc:"The day or the time by which it is to be done."`
	Every       string     `json:"every,omitempty" enum:"day,week,month" doc:"How often it recurs. Absent for once."`
	CompletedAt *timestamp `json:"completedAt,omitempty"`
	CreatedAt   *timestamp `json:"createdAt,omitempty"`
	UpdatedAt   *timestamp `json:"updatedAt,omitempty"`
}

type newTodo struct {
	Content     string     `json:"content" minLength:"1" maxLength:"4000" doc:"The text, as it was stored." visible:"true"`
	CoachID     id         `json:"coachId" doc:"The id of the coach."`
	Status      string     `json:"status,omitempty" enum:"PENDING,COMPLETED,CANCELLED" default:"PENDING" doc:"The state of the record."`
	By          string     `json:"by,omitempty" enum:"user,assistant" default:"user" doc:"Who does it."`
	Due         *moment    `json:"dueAt,omitempty" doc:"The day or the time by which it is to be done."`
	Every       string     `json:"every,omitempty" enum:"day,week,month" doc:"How often it recurs. Absent for once."`
	CompletedAt *timestamp `json:"completedAt,omitempty" doc:"Only with COMPLETED. Default: now."`
}

// TransformSchema adds the rule that only a completed todo has a completion time. It is for the document:
// checkCompletion checks it, with the name of the field. It has no anyOf, of which generators of clients make a type
// for each schema.
func (newTodo) TransformSchema(_ huma.Registry, s *huma.Schema) *huma.Schema {
	s.Extensions = map[string]any{
		"if":   setSchema("completedAt", map[string]any{"type": huma.TypeString}),
		"then": setSchema("status", map[string]any{"enum": []any{longterm.TodoCompleted}}),
	}
	return s
}

type changedTodo struct {
	Content     *string             `json:"content,omitempty" minLength:"1" maxLength:"4000" doc:"The text, as it was stored." visible:"true"`
	CoachID     *id                 `json:"coachId,omitempty" doc:"The id of the coach."`
	Status      *string             `json:"status,omitempty" enum:"PENDING,COMPLETED,CANCELLED" doc:"The state of the record."`
	By          *string             `json:"by,omitempty" enum:"user,assistant" doc:"Who does it."`
	Due         optional[moment]    `json:"dueAt,omitzero" doc:"null removes it."`
	Every       optional[string]    `json:"every,omitzero" enum:"day,week,month" doc:"How often it recurs; null is once."`
	CompletedAt optional[timestamp] `json:"completedAt,omitzero" doc:"Only for a completed todo."`
}

// todosInput is the input of the list of todos.
type todosInput struct {
	ListInput
	Status string `query:"status" enum:"PENDING,COMPLETED,CANCELLED" doc:"Only todos of this status."`
}

func (t *todo) complete(longterm.Todo) { t.By = cmp.Or(t.By, string(longterm.ByUser)) }

func (n newTodo) complete(s *server, t *longterm.Todo) error {
	t.By, t.Tokens = storedOwner(t.By), s.tokens.Count(t.Content)
	return checkCompletion(t.Status, n.CompletedAt)
}

func (p changedTodo) complete(s *server, t *longterm.Todo) error {
	if p.Content != nil {
		t.Tokens = s.tokens.Count(t.Content)
	}
	t.By, t.UpdatedAt = storedOwner(t.By), s.storedNow()
	if p.Status != nil {
		t.EndedBy = nil // the app decides now, and not what a message says
	}
	err := checkCompletion(t.Status, p.CompletedAt.value)
	*t = t.WithCompletion(t.UpdatedAt)
	return err
}

// storedOwner is who does a todo as it is stored: nothing for the default.
func storedOwner(by longterm.TodoOwner) longterm.TodoOwner {
	if by == longterm.ByUser {
		return ""
	}
	return by
}

// checkCompletion checks the completion time of a todo with that status.
func checkCompletion(status longterm.TodoStatus, at *timestamp) error {
	if at != nil && status != longterm.TodoCompleted {
		return fault.InvalidField("completedAt", "needs the status COMPLETED, and the todo is "+string(status))
	}
	return nil
}
