package dynamo

import (
	"context"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
)

// move moves a session to a placement, one step at a time as docs/adr/0023 says. outgrown says that the array has no
// room for another message.
func (db *DB) move(context.Context, conversation.UserID, string, conversation.Placement, bool) error {
	return fault.New(fault.Unavailable, "sessions cannot be moved yet")
}
