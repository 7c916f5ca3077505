package longterm

import (
	"io"
	"time"

	"github.com/throughline/throughline/internal/conversation"
)

// TodoStatus is the status of a todo. A pending todo is an open loop.
type TodoStatus string

// The statuses of a todo. A cancelled one was given up, or moved to another day.
const (
	Pending       TodoStatus = "PENDING"
	TodoCompleted TodoStatus = "COMPLETED"
	TodoCancelled TodoStatus = "CANCELLED"
)

// TodoOwner is who does a todo.
type TodoOwner string

// A todo is the user's, or what the assistant has promised.
const (
	ByUser      TodoOwner = "user"
	ByAssistant TodoOwner = "assistant"
)

// Period is how often a todo recurs.
type Period string

// The periods of a todo that recurs.
const (
	Daily   Period = "day"
	Weekly  Period = "week"
	Monthly Period = "month"
)

// IsKnown reports whether a period is one of these.
func (p Period) IsKnown() bool { return p == Daily || p == Weekly || p == Monthly }

// WinWindow is how long a completed todo counts as a win (prompt-assembly-map).
const WinWindow = 48 * time.Hour

// Todo is a task of the user, or one that the assistant has promised to the user. It is an open loop while it is
// pending, and a win for 48 hours after its completion.
type Todo struct {
	ID      string
	CoachID string     `stored:"coachId,omitempty"`
	Content string     `stored:"content"`
	Status  TodoStatus `stored:"status"`
	// By is who does it. Empty is ByUser.
	By TodoOwner `stored:"by,omitempty"`
	// Due is when it is to be done, the zero value where nothing was said.
	Due Moment
	// Every is how often it is to be done. Empty is once. Being done does not complete it: it is due again.
	Every Period `stored:"every,omitempty"`
	// MonthDay is the day of the month of one that recurs, where Due is the last day of a month that does not have it.
	MonthDay    int       `stored:"monthDay,omitempty"`
	CreatedAt   time.Time `stored:"createdAt,omitempty"`
	UpdatedAt   time.Time `stored:"updatedAt,omitempty"`
	CompletedAt time.Time `stored:"completedAt,omitempty"`
	// EndedBy are the messages that say it is done, dropped or moved.
	EndedBy []string `stored:"endedBy,omitempty"`
	Tokens  int      `stored:"tokens"`
	// MessageIDs are the messages that the todo was extracted from, none where the app or the user has made it. Model and
	// PromptVersion name the model and the prompt.
	MessageIDs    []string `stored:"messageIds,omitempty"`
	Model         string   `stored:"model,omitempty"`
	PromptVersion string   `stored:"promptVersion,omitempty"`
}

// WithoutEnd returns the todo as it was before a message ended it.
func (t Todo) WithoutEnd() Todo {
	t.Status, t.CompletedAt, t.EndedBy = Pending, time.Time{}, nil
	return t
}

// IsOverdue reports whether a pending todo was to be done before that time. A day ends in the zone of the time. What
// recurs comes again instead.
func (t Todo) IsOverdue(now time.Time) bool {
	return t.Status == Pending && t.Every == "" && t.Due.IsOver(now)
}

// DueAfter is when a todo is to be done next: when it is due, or, of one that recurs, the first of its days after that
// of a time, in the time's zone. It is none for one without a day.
func (t Todo) DueAfter(at time.Time) Moment {
	first, err := time.Parse(time.DateOnly, t.Due.Day)
	if err != nil || !t.Every.IsKnown() {
		return t.Due
	}
	today := time.Date(at.Year(), at.Month(), at.Day(), 0, 0, 0, 0, time.UTC)
	days := map[Period]int{Daily: 1, Weekly: 7}[t.Every]
	// It begins close to the time, because the first day may be long ago.
	n := 12*(today.Year()-first.Year()) + int(today.Month()-first.Month()) - 1
	if days > 0 {
		n = int(today.Unix()-first.Unix()) / (24 * 60 * 60) / days // a Duration has 292 years at most
	}
	day := first
	for n = max(n, 0); !day.After(today); n++ {
		if day = first.AddDate(0, 0, n*days); days == 0 {
			day = inMonth(first.Year(), first.Month()+time.Month(n), t.monthDay(first))
		}
	}
	return Moment{Day: day.Format(time.DateOnly)}
}

// inMonth is a day of a month, or the last day of one that does not have it.
func inMonth(year int, month time.Month, day int) time.Time {
	last := time.Date(year, month+1, 0, 0, 0, 0, 0, time.UTC)
	return last.AddDate(0, 0, min(day-last.Day(), 0))
}

// monthDay is the day of the month of a todo that is due on a day.
func (t Todo) monthDay(due time.Time) int {
	if isLast := due.AddDate(0, 0, 1).Day() == 1; isLast {
		return max(due.Day(), t.MonthDay)
	}
	return due.Day()
}

// Again returns a todo that recurs as due on the first of its days after that of a time.
func (t Todo) Again(at time.Time) Todo {
	next := t.DueAfter(at)
	if due, err := time.Parse(time.DateOnly, t.Due.Day); err == nil && t.Every == Monthly {
		t.MonthDay = t.monthDay(due)
	}
	t.Due = next
	return t
}

// smallHours is how long after midnight what is done is of the day before, where it was due then: who works at night
// takes the pill of the evening.
const smallHours = 4 * time.Hour

// DoneAt returns a todo that recurs as due again after it was done at a time.
func (t Todo) DoneAt(at time.Time) Todo {
	if evening := at.Add(-smallHours); !t.Due.IsAhead(evening) {
		at = evening
	}
	return t.Again(at)
}

// HasLapsed reports whether a todo has been overdue for more than so many days: it is told no more.
func (t Todo) HasLapsed(now time.Time, days int) bool { return t.IsOverdue(now.AddDate(0, 0, -days)) }

// Created returns the todo as created at a time, and as completed then if its status says so. Its own times stay if
// they are set.
func (t Todo) Created(at time.Time) Todo {
	t.CreatedAt, t.UpdatedAt = timeOr(t.CreatedAt, at), timeOr(t.UpdatedAt, at)
	return t.WithCompletion(at)
}

// WithCompletion returns the todo with a CompletedAt that fits its status. A completed todo without one gets at. A
// pending or cancelled todo has none.
func (t Todo) WithCompletion(at time.Time) Todo {
	if t.Status == TodoCompleted {
		t.CompletedAt = timeOr(t.CompletedAt, at)
	} else {
		t.CompletedAt = time.Time{}
	}
	return t
}

// NewTodoID returns the id of a todo that is created at a time.
func NewTodoID(at time.Time, random io.Reader) string { return conversation.NewID("todo", at, random) }
