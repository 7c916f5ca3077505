package conversation

import "time"

// Role is the author of a message.
type Role string

// The roles of a message. Prompts do not include stored system messages. A message of the role tool has the results of
// an assistant's tool calls.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleSystem    Role = "system"
	RoleTool      Role = "tool"
)

// Limits of one append.
const (
	MaxMessagesPerCall = 50
	MaxContentBytes    = 256 << 10
	MaxCallBytes       = 1 << 20
	MaxAhead           = 5 * time.Minute
)

// Message is one stored message. Seq counts from 1 within the session. Timestamp is in UTC with milliseconds and
// strictly increases within the session.
type Message struct {
	ID        string `stored:"messageId"`
	Seq       int    `stored:"seq"`
	SessionID string
	Context   string `stored:"sourceContext"`
	CoachID   string `stored:"coachId"`
	AgentID   string `stored:"agentId,omitempty"`
	Role      Role   `stored:"role"`
	// Content is what is indexed, counted and summarised. It is empty for a message whose parts have no text.
	Content string `stored:"content"`
	Parts   []Part `stored:"parts,json"`
	// ClientMessageID is the client's own id of the message, unique in its session. It may be empty.
	ClientMessageID string `stored:"clientMessageId,omitempty"`
	// Duplicate says that the message was stored by an earlier append of the same ClientMessageID.
	Duplicate bool
	// Tokens is the length of Content in tokens of the model family, counted when the message was stored.
	Tokens    int `stored:"tokens"`
	Timestamp time.Time
	Mode      string         `stored:"mode,omitempty"`
	Metadata  map[string]any `stored:"metadata,omitempty"`
	// AwaitsAnswer marks a question of a chat, whose answer is being generated. It stays when the answer is stored.
	AwaitsAnswer bool `stored:"awaitsAnswer,omitempty"`
	// Turn is the store's name of the turn that the message began. It is empty for a message outside a turn.
	Turn string `stored:"turnSk,omitempty"`
	// Forgotten marks what the user asked to forget. It stays in the conversation. No summary, no memory and no other
	// prompt is made of it, and no search finds it.
	Forgotten bool `stored:"forgotten,omitempty"`
	// NoIndex keeps the message out of searches and of the prompts of other sessions, NoExtract out of summaries and
	// memories. It stays in the conversation and in its session's prompts.
	NoIndex    bool  `stored:"noIndex,omitempty"`
	NoExtract  bool  `stored:"noExtract,omitempty"`
	Generation int64 `stored:"generation"`
	// CleanBy is the version of the rules for secrets that found none in Content, in a message that was read from the
	// shared store. Otherwise it is 0.
	CleanBy int `stored:"cleanBy,omitempty"`
	// SessionCreatedAt is when the session was created. It distinguishes the session from others of the same id.
	SessionCreatedAt time.Time `stored:"sessionCreatedAtMs,millis"`
}

// IsSearched reports whether searches may find the message.
func (m Message) IsSearched() bool { return m.Content != "" && !m.Forgotten && !m.NoIndex }

// IsRead reports whether summaries and memories may be made of the message.
func (m Message) IsRead() bool { return m.Content != "" && !m.Forgotten && !m.NoExtract }

// NewMessage is a message to append: with what its caller says of it, and without an id, a seq and a session. A zero
// Timestamp means now, an empty Mode that of the session, and with parts an empty Content that of TextOf. The caller
// counts the Tokens, so that stores need no tokenizer.
type NewMessage = Message

// Position is a place in a list, in a form that only its store understands. As the start of a page, an empty position
// is the start of the list; as the position after a page, it means that the list has ended. A position holds only
// values of keys, and it is signed before it leaves the process.
type Position string

// Page asks for one page of a list.
type Page struct {
	// Limit is the maximum number of items to return, 1 to 200.
	Limit int
	After Position
	// Descending asks for newest first.
	Descending bool
}

// MaxPageBytes is the size of content at which a page ends even if it has fewer items than its limit.
const MaxPageBytes = 1 << 20

// MaxExaminedBytes bounds how many bytes are read for one page of a filtered list. A page may end short of its limit,
// with more after it.
const MaxExaminedBytes = 4 << 20

// Range limits a timeline to the times from From, included, to To, excluded, and to one context if Context is set. A
// zero time is no limit.
type Range struct {
	From, To time.Time
	Context  string
	// Unerased includes messages that an unfinished erasure has not deleted yet, and saves the read of the user's
	// generation. It is for callers that compare the generation themselves.
	Unerased bool
}
