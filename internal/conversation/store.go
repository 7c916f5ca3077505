package conversation

import (
	"context"
	"time"
)

// Idempotency makes a call repeatable: a repeat with the same Scope and Key within 24 hours answers what the first
// answered; one with another BodyHash is an IdempotencyMismatch error (api 1). The zero value asks for nothing.
type Idempotency struct {
	// Scope is the method and path of the call; Key is the client's.
	Scope, Key string
	// BodyHash is the hex SHA-256 of the request body.
	BodyHash string
}

// Set reports whether the client asked for idempotency.
func (i Idempotency) Set() bool { return i.Key != "" }

// Created is the answer to creating a session. A replay returns what the first call returned, whatever has become of
// the session.
type Created struct {
	Session  Session
	Replayed bool
}

// Appended is the answer to an append: the messages as stored, and the session after them. A replay returns what the
// first call returned, messages deleted since included; only the session's title and attributes are as they are now.
type Appended struct {
	Messages []Message
	Session  Session
	Replayed bool
}

// Append is one call's worth of messages for one session: 1 to 50, stored all or none, in one transaction.
type Append struct {
	SessionID   string
	Messages    []NewMessage
	Idempotency Idempotency
}

// SessionStore keeps sessions. Another user's session is NotFound.
type SessionStore interface {
	// CreateSession stores a new session; an id that the user has in any context is a Conflict.
	CreateSession(ctx context.Context, user UserID, in NewSession, idem Idempotency) (Created, error)
	Session(ctx context.Context, user UserID, id string) (Session, error)
	// Sessions lists sessions by latest activity, newest first, to the quarter hour.
	Sessions(ctx context.Context, user UserID, filter SessionFilter, page Page) ([]Session, Position, error)
	UpdateSession(ctx context.Context, user UserID, id string, change SessionChange) (Session, error)
	// LeaveSession records that the user navigated away; the table's stream carries that to the summariser.
	LeaveSession(ctx context.Context, user UserID, id string, at time.Time) error
}

// MessageStore keeps messages. What Append acknowledged is there at once, in every read of it, and is never lost,
// doubled or reordered (design 4.1).
type MessageStore interface {
	Append(ctx context.Context, user UserID, in Append) (Appended, error)
	// Messages returns one page of a session's messages by seq, complete whatever the indexes lag.
	Messages(ctx context.Context, user UserID, sessionID string, page Page) ([]Message, Position, error)
	// Timeline returns one page of the user's messages over all contexts by time.
	Timeline(ctx context.Context, user UserID, r Range, page Page) ([]Message, Position, error)
}
