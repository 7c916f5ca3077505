package conversation

import (
	"context"
	"time"
)

// Turn is one exchange of the streaming chat: the user's message, durable before the first token leaves, and the
// answer when there is one (design 4.5).
type Turn struct {
	// Message is the user's message as stored; Session the session after it.
	Message Message
	Session Session
	// Answer is set when the turn was finished before: the caller replays it and generates nothing.
	Answer *Message
	// Idempotency is what the turn was begun with.
	Idempotency Idempotency
	// Lease names this holder of the turn; empty without an idempotency key.
	Lease string
}

// TurnStore keeps turns. With an idempotency key one request at a time holds the turn's lease and generates.
type TurnStore interface {
	// BeginTurn stores the one user message of in and takes the lease, in one transaction. While another request
	// holds the lease it is a Conflict with RetryAfter; after that request finished, the turn carries its Answer;
	// when its lease has lapsed, the turn carries the message that was stored then.
	BeginTurn(ctx context.Context, user UserID, in Append, lease time.Duration) (Turn, error)
	// RenewTurn keeps the lease for that much longer; zero gives the turn up, so that a repeat may generate at once.
	// A Conflict says that another request has taken it.
	RenewTurn(ctx context.Context, user UserID, turn Turn, lease time.Duration) error
	// FinishTurn stores the answer and ends the lease in one transaction. When another holder finished first, its
	// answer is returned and nothing is stored.
	FinishTurn(ctx context.Context, user UserID, turn Turn, answer NewMessage) (Message, error)
}
