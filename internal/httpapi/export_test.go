package httpapi

import "github.com/throughline/throughline/internal/conversation"

// Seal and Open make seal and open visible to the tests.
func (k CursorKey) Seal(user, path, query, at string) string {
	return k.seal(cursorScope{conversation.UserID(user), path, query}, conversation.Position(at))
}

func (k CursorKey) Open(user, path, query, cursor string) (string, error) {
	at, err := k.open(cursorScope{conversation.UserID(user), path, query}, cursor)
	return string(at), err
}
