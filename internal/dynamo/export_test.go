package dynamo

// What the tests of keys and of the stream converter have to reach.
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
	PromptIDIn     = promptIDIn
	SummarySK      = summarySK
	MessageRange   = messageRange
	KindOf         = kindOf
	PlaceOf        = placeOf
	FromStream     = fromStream
)

// Position is where a page that ended with this place goes on.
func (p place) Position() string { return string(p.position()) }
