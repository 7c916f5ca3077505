package dynamo

// Names that the tests of keys and of the stream converter need.
var (
	SessionSK      = sessionSK
	ParseSessionSK = parseSessionSK
	SourceID       = sourceID
	ParseSourceID  = parseSourceID
	MessageSK      = messageSK
	ParseMessageSK = parseMessageSK
	MessageID      = messageID
	ParseMessageID = parseMessageID
	NewShortID     = newShortID
	PromptSK       = promptSK
	ParsePromptSK  = parsePromptSK
	SummarySK      = summarySK
	MessageBounds  = messageBounds
	KindOf         = kindOf
	ParseCursor    = parseMessageCursor
	FromStream     = fromStream
)

// Position returns the cursor as the position of a page.
func (c messageCursor) Position() string { return string(c.position()) }
