package prompt

import (
	"context"
	"time"

	"github.com/throughline/throughline/internal/conversation"
)

// StoredPrompt is one prompt as it is kept: ids, decisions and hashes, and the rendered text only where that is switched on.
type StoredPrompt struct {
	// ID is "prompt_<epoch milliseconds of CreatedAt>_<random>", so that a store can tell its key from it.
	ID        string
	SessionID string
	Recipe    string
	CreatedAt time.Time
	// ExpiresAt is when it is gone (design 3: 7 days by default).
	ExpiresAt  time.Time
	Generation int64
	// Manifest is the compressed JSON of what GET /v1/prompts/{promptId} answers without the text, at most 8 KB.
	Manifest []byte
	// Text is the compressed JSON of the rendered system, messages and text; empty where it is not kept.
	Text []byte
}

// Archive keeps prompts.
type Archive interface {
	// SavePrompt stores a prompt on condition that the user's generation is still the prompt's.
	SavePrompt(ctx context.Context, user conversation.UserID, k StoredPrompt) error
	// StoredPrompt returns a prompt by its id; NotFound when it is gone, expired or another user's.
	StoredPrompt(ctx context.Context, user conversation.UserID, id string) (StoredPrompt, error)
	// StoredPrompts lists those of one session, or of all where sessionID is empty, newest first.
	StoredPrompts(ctx context.Context, user conversation.UserID, sessionID string, page conversation.Page) ([]StoredPrompt, conversation.Position, error)
}
