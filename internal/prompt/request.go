package prompt

import (
	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/llm"
	"github.com/throughline/throughline/internal/recall"
)

// Budget limits a prompt; Tokens is at least MinBudget.
type Budget struct {
	Tokens int `json:"tokens"`
}

// MinBudget is the smallest budget a caller may ask for (api 4).
const MinBudget = 256

// Request asks for one prompt: the body of POST /v1/prompts (api 4).
type Request struct {
	// Recipe names the way to build it; empty means Unified.
	Recipe string `json:"recipe,omitempty"`
	// Context and SessionID say where the user stands.
	Context   string `json:"context"`
	SessionID string `json:"sessionId"`
	// CoachID is the persona; empty means the session's.
	CoachID string `json:"coachId,omitempty"`
	// AgentID is the part that the model plays; empty means coach.
	AgentID string `json:"agentId,omitempty"`
	// Message is the user's current message, 1 byte to 256 KiB; it is never cut.
	Message string `json:"message"`
	// MessageID names the current message where it is stored already, so that it is not told twice: the user's message
	// of this session, with Message as its content.
	MessageID string `json:"messageId,omitempty"`
	// Timezone is an IANA name; empty means the user's preference.
	Timezone string `json:"timezone,omitempty"`
	// Budget is the token budget for the whole prompt, the current message included; nil means the recipe's.
	Budget *Budget `json:"budget,omitempty"`
	// SystemRole stands in for the recipe's or the coach's own role text.
	SystemRole string `json:"systemRole,omitempty"`

	// SkipSave leaves keeping the prompt to the caller, who packs it with Pack. No HTTP caller can set it.
	SkipSave bool `json:"-"`
}

// Invocation is a direct invocation of the prompt function (api 5): the request with its user. SkipSave is for the
// coach function, which keeps the prompt while the model generates.
type Invocation struct {
	UserID   conversation.UserID `json:"userId"`
	SkipSave bool                `json:"skipSave,omitempty"`
	Request
}

// Message is one role message of a prompt.
type Message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// Tokens is what a prompt takes of its budget. Total counts what the model is sent, in the tokens of its family: the
// contents of system and messages, or text where there is one, and the definitions of the tools. It is never less than
// the tokenizer's count of these. It is at most Budget, to which the current message comes on top in context-format's
// default budget alone (design 2).
type Tokens struct {
	Total  int `json:"total"`
	Budget int `json:"budget"`
}

// Prompt is one model call's prompt and the record of how it came to be (api 4). Messages ends with the current
// message, once.
type Prompt struct {
	ID        string     `json:"promptId"`
	SessionID string     `json:"sessionId"`
	Recipe    string     `json:"recipe"`
	System    string     `json:"system"`
	Messages  []Message  `json:"messages"`
	Text      string     `json:"text,omitempty"`
	Tools     []llm.Tool `json:"tools,omitempty"`
	Tokens    Tokens     `json:"tokens"`
	Manifest  Manifest   `json:"manifest"`
	// Model is the chat model that the coach's record names, empty for the configured one.
	Model string `json:"model,omitempty"`
}

// Decision is what became of one item.
type Decision string

// An item is included whole, included cut, or dropped.
const (
	Included Decision = "included"
	Trimmed  Decision = "trimmed"
	Dropped  Decision = "dropped"
)

// Item is the manifest's line for one item: ids and decisions, never its text.
type Item struct {
	Kind       string   `json:"kind"`
	ID         string   `json:"id"`
	SessionID  string   `json:"sessionId,omitempty"`
	Context    string   `json:"context,omitempty"`
	OccurredAt string   `json:"occurredAt,omitempty"`
	Tokens     int      `json:"tokens"`
	Score      float64  `json:"score,omitempty"`
	Decision   Decision `json:"decision"`
	// Reason says why, in plain words.
	Reason string `json:"reason"`
}

// Block is the manifest's account of one block. Tokens and Chars are what it takes in the prompt, its heading
// included; Cap says its limits in words, empty where it has none.
type Block struct {
	Name   string `json:"name"`
	Tokens int    `json:"tokens"`
	Chars  int    `json:"chars"`
	Cap    string `json:"cap"`
	Items  []Item `json:"items"`
}

// Manifest is the record of one prompt: every block and item and what became of it, the sources that were missing,
// warnings, and how many milliseconds each source took.
type Manifest struct {
	Blocks   []Block              `json:"blocks"`
	Degraded []recall.Degradation `json:"degraded"`
	Warnings []string             `json:"warnings"`
	Timings  map[string]float64   `json:"timings"`
}

// Record is a prompt as it was kept. The rendered parts are there only where keeping text is switched on, and the
// manifest only where one prompt is read.
type Record struct {
	ID        string `json:"promptId"`
	SessionID string `json:"sessionId"`
	Recipe    string `json:"recipe"`
	CreatedAt string `json:"createdAt"`
	ExpiresAt string `json:"expiresAt"`
	// SHA256 is the hex hash of the rendered prompt, kept whether or not the text is.
	SHA256   string    `json:"sha256"`
	Tokens   Tokens    `json:"tokens"`
	Manifest *Manifest `json:"manifest,omitempty"`
	System   *string   `json:"system,omitempty"`
	Messages []Message `json:"messages,omitempty"`
	Text     string    `json:"text,omitempty"`
	// Tools are what the recipe offers with it.
	Tools []llm.Tool `json:"tools,omitempty"`
}
