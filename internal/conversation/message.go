package conversation

import "time"

// Role says who speaks.
type Role string

// The roles of a message. Stored system messages never enter prompts (design 4.4).
const (
	User      Role = "user"
	Assistant Role = "assistant"
	System    Role = "system"
)

// Limits of one append (api 1 and 2).
const (
	MaxMessagesPerCall = 50
	MaxContentBytes    = 256 << 10
	MaxCallBytes       = 1 << 20
	MaxAhead           = 5 * time.Minute
)

// Message is one turn, stored once. Seq counts 1..n within its session; Timestamp is UTC with milliseconds and
// strictly increases within a session.
type Message struct {
	ID        string
	Seq       int
	SessionID string
	Context   string
	CoachID   string
	AgentID   string
	Role      Role
	Content   string
	// Tokens is the length of Content in the model family's tokens, counted once when it was stored.
	Tokens     int
	Timestamp  time.Time
	Mode       string
	Metadata   map[string]any
	Generation int64
}

// NewMessage is what a caller gives to append. A zero Timestamp means now, an empty Mode the session's.
type NewMessage struct {
	Role      Role
	Content   string
	Timestamp time.Time
	Mode      string
	AgentID   string
	Metadata  map[string]any
	// Tokens is the length of Content; the caller counts, so that no store needs a tokenizer.
	Tokens int
}

// Position is a place in a list, as the store that made it understands it; empty is the beginning (or the end of
// the list behind it). It holds key values only and is signed before it leaves the process.
type Position string

// Page asks for one page of a list.
type Page struct {
	// Limit is at most how many items to return, 1 to 200.
	Limit int
	After Position
	// Descending asks for newest first.
	Descending bool
}

// MaxPageBytes is the size of content at which a page ends before its limit (api 1).
const MaxPageBytes = 1 << 20

// Range limits a timeline to a half-open span of time and, where Context is set, to one context. Zero times are
// unbounded.
type Range struct {
	From, To time.Time
	Context  string
	// Unerased asks for what an unfinished erasure has left behind too, which costs a read less: a caller that knows
	// the user's generation compares it with the messages' own.
	Unerased bool
}
