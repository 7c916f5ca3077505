package httpapi

import (
	"cmp"

	"github.com/danielgtaylor/huma/v2"

	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/llm"
	"github.com/throughline/throughline/internal/longterm"
)

type goal struct {
	ID        string     `json:"id"`
	Title     string     `json:"title"`
	Status    string     `json:"status" enum:"active,paused,completed,abandoned"`
	GoalType  string     `json:"goalType" enum:"habit,target,project"`
	CreatedAt *timestamp `json:"createdAt,omitempty"`
	UpdatedAt *timestamp `json:"updatedAt,omitempty"`
}

type newGoal struct {
	Title    string `json:"title" minLength:"1" maxLength:"1000"`
	Status   string `json:"status,omitempty" enum:"active,paused,completed,abandoned" default:"active"`
	GoalType string `json:"goalType" enum:"habit,target,project"`
}

type changedGoal struct {
	Title    *string `json:"title,omitempty" minLength:"1" maxLength:"1000"`
	Status   *string `json:"status,omitempty" enum:"active,paused,completed,abandoned"`
	GoalType *string `json:"goalType,omitempty" enum:"habit,target,project"`
}

func goals(s *server, store longterm.Collection[longterm.Goal]) collection[longterm.Goal, newGoal, changedGoal, goal] {
	return collection[longterm.Goal, newGoal, changedGoal, goal]{
		server: s, store: store, path: "goals", id: "Goal", name: "goal",
		fromNew: func(n newGoal) (longterm.Goal, error) {
			return longterm.Goal{
				Title: n.Title, Status: longterm.GoalStatus(cmp.Or(n.Status, string(longterm.GoalActive))),
				GoalType: longterm.GoalType(n.GoalType),
			}, nil
		},
		applyPatch: func(p changedGoal, g *longterm.Goal) error {
			assign(p.Title, &g.Title)
			assign((*longterm.GoalStatus)(p.Status), &g.Status)
			assign((*longterm.GoalType)(p.GoalType), &g.GoalType)
			g.UpdatedAt = s.storedNow()
			return nil
		},
		toView: func(g longterm.Goal) goal {
			return goal{
				g.ID, g.Title, string(g.Status), string(g.GoalType), newTimestamp(g.CreatedAt), newTimestamp(g.UpdatedAt),
			}
		},
		recordID: func(g longterm.Goal) string { return g.ID },
	}
}

type checkIn struct {
	ID        string     `json:"id"`
	Timestamp *timestamp `json:"timestamp,omitempty"`
	Note      string     `json:"note,omitempty"`
}

type newCheckIn struct {
	Timestamp *timestamp `json:"timestamp,omitempty" doc:"Default: now."`
	Note      string     `json:"note,omitempty" maxLength:"16000" doc:"Indexed and recalled as messages are."`
}

func checkIns(
	s *server, store longterm.Collection[longterm.CheckIn], tokens llm.Counter,
) collection[longterm.CheckIn, newCheckIn, noInput, checkIn] {
	return collection[longterm.CheckIn, newCheckIn, noInput, checkIn]{
		server: s, store: store, path: "check-ins", id: "CheckIn", name: "check-in",
		fromNew: func(n newCheckIn) (longterm.CheckIn, error) {
			c := longterm.CheckIn{Timestamp: storedTime(n.Timestamp), Note: n.Note, Tokens: tokens.Count(n.Note)}
			return c, invalidFields(n.Timestamp.check("timestamp"))
		},
		toView:   func(c longterm.CheckIn) checkIn { return checkIn{c.ID, newTimestamp(c.Timestamp), c.Note} },
		recordID: func(c longterm.CheckIn) string { return c.ID },
	}
}

type memory struct {
	ID           string     `json:"id"`
	Type         string     `json:"type" enum:"PROFILE,PEOPLE,PROJECT"`
	Content      string     `json:"content"`
	Pinned       bool       `json:"pinned" doc:"Whether it is in every prompt, as injuries and allergies are."`
	Source       string     `json:"source" enum:"seeded,extracted"`
	Confidence   *float64   `json:"confidence,omitempty" minimum:"0" maximum:"1" doc:"Absent if not known."`
	MessageIDs   []string   `json:"messageIds,omitempty" doc:"The messages that it was drawn from."`
	ValidUntil   *timestamp `json:"validUntil,omitempty" doc:"The time from which no prompt has it."`
	SupersededBy string     `json:"supersededBy,omitempty" doc:"The id of the memory that replaces it."`
	CreatedAt    *timestamp `json:"createdAt,omitempty"`
	UpdatedAt    *timestamp `json:"updatedAt,omitempty"`
}

type newMemory struct {
	Type         string      `json:"type" enum:"PROFILE,PEOPLE,PROJECT"`
	Content      string      `json:"content" minLength:"1" maxLength:"8000"`
	Pinned       bool        `json:"pinned,omitempty" doc:"Whether it is in every prompt, as injuries and allergies are."`
	Source       string      `json:"source,omitempty" enum:"seeded,extracted" default:"seeded"`
	Confidence   *confidence `json:"confidence,omitempty" doc:"How certain it is."`
	MessageIDs   []source    `json:"messageIds,omitempty" maxItems:"100" doc:"What it was drawn from, at most 16 KiB."`
	ValidUntil   *timestamp  `json:"validUntil,omitempty"`
	SupersededBy string      `json:"supersededBy,omitempty" maxLength:"1024"`
}

// source is the id of a message that a memory was drawn from.
type source string

// Schema limits the length. Message ids are shorter, even with a user id of 128 characters in them.
func (source) Schema(huma.Registry) *huma.Schema { return textSchema(512) }

type changedMemory struct {
	Type         *string              `json:"type,omitempty" enum:"PROFILE,PEOPLE,PROJECT"`
	Content      *string              `json:"content,omitempty" minLength:"1" maxLength:"8000"`
	Pinned       *bool                `json:"pinned,omitempty"`
	Source       *string              `json:"source,omitempty" enum:"seeded,extracted"`
	Confidence   optional[confidence] `json:"confidence,omitzero" doc:"null removes it."`
	MessageIDs   *[]source            `json:"messageIds,omitempty" maxItems:"100" doc:"At most 16 KiB."`
	ValidUntil   optional[timestamp]  `json:"validUntil,omitzero" doc:"null makes it valid again."`
	SupersededBy optional[string]     `json:"supersededBy,omitzero" maxLength:"1024" doc:"null removes it."`
}

func memories(
	s *server, store longterm.Collection[longterm.Memory], tokens llm.Counter,
) collection[longterm.Memory, newMemory, changedMemory, memory] {
	return collection[longterm.Memory, newMemory, changedMemory, memory]{
		server: s, store: store, path: "memories", id: "Memory", name: "memory",
		fromNew: func(n newMemory) (longterm.Memory, error) {
			m := longterm.Memory{
				Type: longterm.MemoryType(n.Type), Content: n.Content, Pinned: n.Pinned,
				Source:     longterm.MemorySource(cmp.Or(n.Source, string(longterm.Seeded))),
				MessageIDs: toStrings(n.MessageIDs), ValidUntil: storedTime(n.ValidUntil), SupersededBy: n.SupersededBy,
				Tokens: tokens.Count(n.Content),
			}
			setConfidence(&m, n.Confidence)
			return m, invalidFields(append(n.ValidUntil.check("validUntil"), checkSources(m.MessageIDs)...))
		},
		applyPatch: func(p changedMemory, m *longterm.Memory) error { return s.patchMemory(p, m, tokens) },
		toView:     toMemory,
		recordID:   func(m longterm.Memory) string { return m.ID },
	}
}

// filterMemories returns the page of an input, and which memories to keep.
func (s *server) filterMemories(in *memoriesInput) (ListInput, func(longterm.Memory) bool) {
	now := s.storedNow()
	return in.ListInput, func(m longterm.Memory) bool {
		hasType := in.Type == "" || in.Type == string(m.Type)
		return hasType && (in.Valid == "" || m.Valid(now) == (in.Valid == "true"))
	}
}

// memoriesInput is the input of the list of memories.
type memoriesInput struct {
	ListInput
	Type  string `query:"type" enum:"PROFILE,PEOPLE,PROJECT" doc:"Only memories of this type."`
	Valid string `query:"valid" enum:"true,false" doc:"Only memories that are valid now, or only the others."`
}

func (s *server) patchMemory(p changedMemory, m *longterm.Memory, tokens llm.Counter) error {
	wrong := p.ValidUntil.value.check("validUntil")
	if p.MessageIDs != nil {
		wrong = append(wrong, checkSources(toStrings(*p.MessageIDs))...)
	}
	if err := invalidFields(wrong); err != nil {
		return err
	}
	assign((*longterm.MemoryType)(p.Type), &m.Type)
	assign((*longterm.MemorySource)(p.Source), &m.Source)
	assign(p.Pinned, &m.Pinned)
	if p.MessageIDs != nil {
		m.MessageIDs = toStrings(*p.MessageIDs)
	}
	if p.Confidence.set {
		setConfidence(m, p.Confidence.value)
	}
	p.SupersededBy.apply(&m.SupersededBy)
	if p.ValidUntil.set {
		m.ValidUntil = storedTime(p.ValidUntil.value)
	}
	if p.Content != nil {
		m.Content, m.Tokens = *p.Content, tokens.Count(*p.Content)
	}
	m.UpdatedAt = s.storedNow()
	return nil
}

// maxSourceBytes limits the ids of a memory's messages together. Every prompt reads the user's live memories.
const maxSourceBytes = 16 << 10

func checkSources(ids []string) []fault.Field {
	size := 0
	for _, id := range ids {
		size += len(id)
	}
	if size <= maxSourceBytes {
		return nil
	}
	return []fault.Field{{Field: "messageIds", Message: "must take at most 16 KiB together"}}
}

// setConfidence sets a memory's confidence. Nil removes it.
func setConfidence(m *longterm.Memory, c *confidence) {
	m.Confidence, m.Rated = 0, c != nil
	assign((*float64)(c), &m.Confidence)
}

func toMemory(m longterm.Memory) memory {
	out := memory{
		ID: m.ID, Type: string(m.Type), Content: m.Content, Pinned: m.Pinned, Source: string(m.Source),
		MessageIDs: m.MessageIDs, ValidUntil: newTimestamp(m.ValidUntil),
		SupersededBy: m.SupersededBy, CreatedAt: newTimestamp(m.CreatedAt), UpdatedAt: newTimestamp(m.UpdatedAt),
	}
	if m.Rated {
		out.Confidence = &m.Confidence
	}
	return out
}

type todo struct {
	ID          string     `json:"id"`
	Content     string     `json:"content"`
	CoachID     string     `json:"coachId"`
	Status      string     `json:"status" enum:"PENDING,COMPLETED"`
	CompletedAt *timestamp `json:"completedAt,omitempty"`
	CreatedAt   *timestamp `json:"createdAt,omitempty"`
	UpdatedAt   *timestamp `json:"updatedAt,omitempty"`
}

type newTodo struct {
	Content     string     `json:"content" minLength:"1" maxLength:"4000"`
	CoachID     id         `json:"coachId"`
	Status      string     `json:"status,omitempty" enum:"PENDING,COMPLETED" default:"PENDING"`
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
	Status      *string             `json:"status,omitempty" enum:"PENDING,COMPLETED" doc:"Completing sets completedAt."`
	CompletedAt optional[timestamp] `json:"completedAt,omitzero" doc:"Only for a completed todo."`
}

// todosInput is the input of the list of todos.
type todosInput struct {
	ListInput
	Status string `query:"status" enum:"PENDING,COMPLETED" doc:"Only todos of this status."`
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
				Tokens: tokens.Count(n.Content),
			}, invalidFields(checkCompletion(status, n.CompletedAt))
		},
		applyPatch: func(p changedTodo, t *longterm.Todo) error { return s.patchTodo(p, t, tokens) },
		toView: func(t longterm.Todo) todo {
			return todo{
				t.ID, t.Content, t.CoachID, string(t.Status),
				newTimestamp(t.CompletedAt), newTimestamp(t.CreatedAt), newTimestamp(t.UpdatedAt),
			}
		},
		recordID: func(t longterm.Todo) string { return t.ID },
	}
}

func filterTodos(in *todosInput) (ListInput, func(longterm.Todo) bool) {
	return in.ListInput, func(t longterm.Todo) bool { return in.Status == "" || in.Status == string(t.Status) }
}

func (s *server) patchTodo(p changedTodo, t *longterm.Todo, tokens llm.Counter) error {
	assign((*string)(p.CoachID), &t.CoachID)
	assign((*longterm.TodoStatus)(p.Status), &t.Status)
	if err := invalidFields(checkCompletion(t.Status, p.CompletedAt.value)); err != nil {
		return err
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

// checkCompletion checks the completion time of a todo with that status.
func checkCompletion(status longterm.TodoStatus, at *timestamp) []fault.Field {
	if at != nil && status != longterm.TodoCompleted {
		return []fault.Field{{Field: "completedAt", Message: "needs the status COMPLETED, and the todo is PENDING"}}
	}
	return at.check("completedAt")
}
