package httpapi

import (
	"cmp"

	"github.com/danielgtaylor/huma/v2"

	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/longterm"
)

type goal struct {
	ID        string `json:"id"`
	Title     string `json:"title"`
	Status    string `json:"status" enum:"active,paused,completed,abandoned"`
	GoalType  string `json:"goalType" enum:"habit,target,project"`
	CreatedAt *stamp `json:"createdAt,omitempty"`
	UpdatedAt *stamp `json:"updatedAt,omitempty"`
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
		server: s, store: store, path: "goals", id: "Goal", one: "goal",
		read: func(n newGoal) (longterm.Goal, error) {
			return longterm.Goal{
				Title: n.Title, Status: longterm.GoalStatus(cmp.Or(n.Status, string(longterm.GoalActive))),
				GoalType: longterm.GoalType(n.GoalType),
			}, nil
		},
		alter: func(p changedGoal, g *longterm.Goal) error {
			set(p.Title, &g.Title)
			set((*longterm.GoalStatus)(p.Status), &g.Status)
			set((*longterm.GoalType)(p.GoalType), &g.GoalType)
			g.UpdatedAt = s.moment()
			return nil
		},
		view: func(g longterm.Goal) goal {
			return goal{g.ID, g.Title, string(g.Status), string(g.GoalType), stampOf(g.CreatedAt), stampOf(g.UpdatedAt)}
		},
		key: func(g longterm.Goal) string { return g.ID },
	}
}

type checkIn struct {
	ID        string `json:"id"`
	Timestamp *stamp `json:"timestamp,omitempty"`
	Note      string `json:"note,omitempty"`
}

type newCheckIn struct {
	Timestamp *stamp `json:"timestamp,omitempty" doc:"Now where absent."`
	Note      string `json:"note,omitempty" maxLength:"16000" doc:"Indexed and recalled as messages are."`
}

func checkIns(s *server, store longterm.Collection[longterm.CheckIn], tokens Counter) collection[longterm.CheckIn, newCheckIn, nothing, checkIn] {
	return collection[longterm.CheckIn, newCheckIn, nothing, checkIn]{
		server: s, store: store, path: "check-ins", id: "CheckIn", one: "check-in",
		read: func(n newCheckIn) (longterm.CheckIn, error) {
			return longterm.CheckIn{Timestamp: timeOf(n.Timestamp), Note: n.Note, Tokens: tokens.Count(n.Note)}, wrongOr(n.Timestamp.check("timestamp"))
		},
		view: func(c longterm.CheckIn) checkIn { return checkIn{c.ID, stampOf(c.Timestamp), c.Note} },
		key:  func(c longterm.CheckIn) string { return c.ID },
	}
}

type memory struct {
	ID           string   `json:"id"`
	Type         string   `json:"type" enum:"PROFILE,PEOPLE,PROJECT"`
	Content      string   `json:"content"`
	Pinned       bool     `json:"pinned" doc:"Whether it stands in every prompt, as injuries and allergies do."`
	Source       string   `json:"source" enum:"seeded,extracted"`
	Confidence   *float64 `json:"confidence,omitempty" minimum:"0" maximum:"1" doc:"How sure its source is; absent where that is not known."`
	MessageIDs   []string `json:"messageIds,omitempty" doc:"The messages that it was drawn from."`
	ValidUntil   *stamp   `json:"validUntil,omitempty" doc:"From then on it reaches no prompt."`
	SupersededBy string   `json:"supersededBy,omitempty" doc:"The id of the memory that took its place."`
	CreatedAt    *stamp   `json:"createdAt,omitempty"`
	UpdatedAt    *stamp   `json:"updatedAt,omitempty"`
}

type newMemory struct {
	Type         string   `json:"type" enum:"PROFILE,PEOPLE,PROJECT"`
	Content      string   `json:"content" minLength:"1" maxLength:"8000"`
	Pinned       bool     `json:"pinned,omitempty" doc:"Whether it stands in every prompt, as injuries and allergies do."`
	Source       string   `json:"source,omitempty" enum:"seeded,extracted" default:"seeded"`
	Confidence   *float64 `json:"confidence,omitempty" minimum:"0" maximum:"1" doc:"How sure its source is."`
	MessageIDs   []source `json:"messageIds,omitempty" maxItems:"100" doc:"The messages that it was drawn from."`
	ValidUntil   *stamp   `json:"validUntil,omitempty"`
	SupersededBy string   `json:"supersededBy,omitempty" maxLength:"1024"`
}

// source is the id of a message that a memory was drawn from.
type source string

// Schema bounds the id's length: with a user's id of 128 characters in it, one of ours has fewer.
func (source) Schema(huma.Registry) *huma.Schema { return textOf(512) }

type changedMemory struct {
	Type         *string           `json:"type,omitempty" enum:"PROFILE,PEOPLE,PROJECT"`
	Content      *string           `json:"content,omitempty" minLength:"1" maxLength:"8000"`
	Pinned       *bool             `json:"pinned,omitempty"`
	Source       *string           `json:"source,omitempty" enum:"seeded,extracted"`
	Confidence   optional[float64] `json:"confidence,omitzero" minimum:"0" maximum:"1" doc:"null removes it."`
	MessageIDs   *[]source         `json:"messageIds,omitempty" maxItems:"100"`
	ValidUntil   optional[stamp]   `json:"validUntil,omitzero" doc:"null makes it valid again."`
	SupersededBy optional[string]  `json:"supersededBy,omitzero" maxLength:"1024" doc:"null removes it."`
}

func memories(s *server, store longterm.Collection[longterm.Memory], tokens Counter) collection[longterm.Memory, newMemory, changedMemory, memory] {
	return collection[longterm.Memory, newMemory, changedMemory, memory]{
		server: s, store: store, path: "memories", id: "Memory", one: "memory",
		read: func(n newMemory) (longterm.Memory, error) {
			m := longterm.Memory{
				Type: longterm.MemoryType(n.Type), Content: n.Content, Pinned: n.Pinned,
				Source:     longterm.MemorySource(cmp.Or(n.Source, string(longterm.Seeded))),
				MessageIDs: texts(n.MessageIDs), ValidUntil: timeOf(n.ValidUntil), SupersededBy: n.SupersededBy,
				Tokens: tokens.Count(n.Content),
			}
			rate(&m, n.Confidence)
			return m, wrongOr(n.ValidUntil.check("validUntil"))
		},
		alter: func(p changedMemory, m *longterm.Memory) error { return s.alterMemory(p, m, tokens) },
		view:  viewMemory,
		key:   func(m longterm.Memory) string { return m.ID },
	}
}

func (s *server) alterMemory(p changedMemory, m *longterm.Memory, tokens Counter) error {
	if err := wrongOr(p.ValidUntil.value.check("validUntil")); err != nil {
		return err
	}
	set((*longterm.MemoryType)(p.Type), &m.Type)
	set((*longterm.MemorySource)(p.Source), &m.Source)
	set(p.Pinned, &m.Pinned)
	if p.MessageIDs != nil {
		m.MessageIDs = texts(*p.MessageIDs)
	}
	if p.Confidence.set {
		rate(m, p.Confidence.value)
	}
	p.SupersededBy.apply(&m.SupersededBy)
	if p.ValidUntil.set {
		m.ValidUntil = timeOf(p.ValidUntil.value)
	}
	if p.Content != nil {
		m.Content, m.Tokens = *p.Content, tokens.Count(*p.Content)
	}
	m.UpdatedAt = s.moment()
	return nil
}

// rate gives a memory a confidence, or takes it away.
func rate(m *longterm.Memory, confidence *float64) {
	m.Confidence, m.Rated = 0, confidence != nil
	set(confidence, &m.Confidence)
}

func viewMemory(m longterm.Memory) memory {
	out := memory{
		ID: m.ID, Type: string(m.Type), Content: m.Content, Pinned: m.Pinned, Source: string(m.Source),
		MessageIDs: m.MessageIDs, ValidUntil: stampOf(m.ValidUntil),
		SupersededBy: m.SupersededBy, CreatedAt: stampOf(m.CreatedAt), UpdatedAt: stampOf(m.UpdatedAt),
	}
	if m.Rated {
		out.Confidence = &m.Confidence
	}
	return out
}

type todo struct {
	ID          string `json:"id"`
	Content     string `json:"content"`
	CoachID     string `json:"coachId"`
	Status      string `json:"status" enum:"PENDING,COMPLETED"`
	CompletedAt *stamp `json:"completedAt,omitempty"`
	CreatedAt   *stamp `json:"createdAt,omitempty"`
	UpdatedAt   *stamp `json:"updatedAt,omitempty"`
}

type newTodo struct {
	Content     string `json:"content" minLength:"1" maxLength:"4000"`
	CoachID     id     `json:"coachId"`
	Status      string `json:"status,omitempty" enum:"PENDING,COMPLETED" default:"PENDING"`
	CompletedAt *stamp `json:"completedAt,omitempty" doc:"Only with COMPLETED, and then now where absent."`
}

type changedTodo struct {
	Content     *string         `json:"content,omitempty" minLength:"1" maxLength:"4000"`
	CoachID     *id             `json:"coachId,omitempty"`
	Status      *string         `json:"status,omitempty" enum:"PENDING,COMPLETED" doc:"Completing sets completedAt."`
	CompletedAt optional[stamp] `json:"completedAt,omitzero" doc:"Only of a todo that is completed, or becomes so."`
}

func todos(s *server, store longterm.Collection[longterm.Todo], tokens Counter) collection[longterm.Todo, newTodo, changedTodo, todo] {
	return collection[longterm.Todo, newTodo, changedTodo, todo]{
		server: s, store: store, path: "todos", id: "Todo", one: "todo",
		read: func(n newTodo) (longterm.Todo, error) {
			status := longterm.TodoStatus(cmp.Or(n.Status, string(longterm.Pending)))
			return longterm.Todo{
				CoachID: string(n.CoachID), Content: n.Content, Status: status, CompletedAt: timeOf(n.CompletedAt),
				Tokens: tokens.Count(n.Content),
			}, wrongOr(checkCompletion(status, n.CompletedAt))
		},
		alter: func(p changedTodo, t *longterm.Todo) error { return s.alterTodo(p, t, tokens) },
		view: func(t longterm.Todo) todo {
			return todo{
				t.ID, t.Content, t.CoachID, string(t.Status), stampOf(t.CompletedAt), stampOf(t.CreatedAt), stampOf(t.UpdatedAt),
			}
		},
		key: func(t longterm.Todo) string { return t.ID },
	}
}

func (s *server) alterTodo(p changedTodo, t *longterm.Todo, tokens Counter) error {
	set((*string)(p.CoachID), &t.CoachID)
	set((*longterm.TodoStatus)(p.Status), &t.Status)
	if err := wrongOr(checkCompletion(t.Status, p.CompletedAt.value)); err != nil {
		return err
	}
	if p.CompletedAt.set {
		t.CompletedAt = timeOf(p.CompletedAt.value)
	}
	if p.Content != nil {
		t.Content, t.Tokens = *p.Content, tokens.Count(*p.Content)
	}
	t.UpdatedAt = s.moment()
	*t = t.WithCompletion(t.UpdatedAt)
	return nil
}

// checkCompletion says what is wrong with the time at which a todo of that status was completed.
func checkCompletion(status longterm.TodoStatus, at *stamp) []fault.Field {
	if at != nil && status != longterm.TodoCompleted {
		return []fault.Field{{Field: "completedAt", Message: "is of a todo whose status is COMPLETED, and this one is PENDING"}}
	}
	return at.check("completedAt")
}

// set writes an optional field into its target where it is there.
func set[T any](value, target *T) {
	if value != nil {
		*target = *value
	}
}
