package dynamo

// ParseCursor reads a position of a session's messages.
var ParseCursor = parseMessageCursor

// Position returns the cursor as the position of a page.
func (c messageCursor) Position() string { return string(c.position()) }
