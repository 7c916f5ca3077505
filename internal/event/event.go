// Package event tells the app what has happened to its users' sessions and memory, as events on a bus. They are made
// from the records of the table's stream, at least once each. What the bus does not take waits in the table, from where
// the sweep sends it (docs/adr/0072).
package event

import (
	"time"

	"github.com/throughline/throughline/internal/conversation"
)

// Type is what has happened. Each has a JSON schema in docs/events.
type Type string

// The types of events.
const (
	SessionCreated   Type = "session.created"
	SessionCompleted Type = "session.completed"
	SessionErased    Type = "session.erased"
	SummaryUpdated   Type = "summary.updated"
	MemoryAdded      Type = "memory.added"
	MemoryChanged    Type = "memory.changed"
	MemoryEnded      Type = "memory.ended"
	MemoryForgotten  Type = "memory.forgotten"
	TodoOpened       Type = "todo.opened"
	TodoClosed       Type = "todo.closed"
	UserErased       Type = "user.erased"
	TurnFinished     Type = "turn.finished"
	TurnInterrupted  Type = "turn.interrupted"
)

// Event is one thing that has happened. Which of the fields after Version it has depends on its type.
type Event struct {
	// ID is the same whenever the event is sent again.
	ID         string              `json:"id"`
	Type       Type                `json:"type"`
	User       conversation.UserID `json:"userId"`
	Generation int64               `json:"generation"`
	Time       time.Time           `json:"time"`
	// Version counts the writes of the record: of a summary the messages that it covers, of an answer its seq, of a user
	// the erasures.
	Version int64 `json:"version"`

	Context       string `json:"context,omitempty"`
	SessionID     string `json:"sessionId,omitempty"`
	MessageID     string `json:"messageId,omitempty"`
	UserMessageID string `json:"userMessageId,omitempty"`
	PromptID      string `json:"promptId,omitempty"`
	MemoryID      string `json:"memoryId,omitempty"`
	TodoID        string `json:"todoId,omitempty"`
	CoachID       string `json:"coachId,omitempty"`
	// MemoryType is that of a memory. Pinned says that every prompt has it, as facts that concern safety.
	MemoryType  string `json:"memoryType,omitempty"`
	Pinned      bool   `json:"pinned,omitempty"`
	Status      string `json:"status,omitempty"`
	EndedReason string `json:"endedReason,omitempty"`
	// Files are where the app keeps the files of what was erased, which it has to delete.
	Files []string `json:"files,omitempty"`
	// Content is what a memory, a todo, a summary or an answer says, where the app has asked for it. An event that has
	// waited has none, because what it says may have been deleted meanwhile.
	Content string `json:"content,omitempty"`
}
