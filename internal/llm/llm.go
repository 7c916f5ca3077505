// Package llm defines the requests and answers of a language model, for all vendors. Each package that uses a model
// declares an interface with the one or two methods that it needs.
package llm

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"time"
)

// Message is one message to or from a model.
type Message struct {
	// Role is system, user, assistant or tool.
	Role    string
	Content string
	// ToolCalls are the calls that an assistant message asks for. ToolCallID is the call that a tool message answers.
	ToolCalls  []ToolCall
	ToolCallID string
	// Files are what the user has sent with the message, where the app can fetch it.
	Files []File
	// Reusable says that a later request with the same CacheKey is likely to begin with the same messages up to here.
	Reusable bool
}

// File is a file at an address of the app's own store.
type File struct{ MediaType, URL string }

// IsImage reports whether the file is a picture.
func (f File) IsImage() bool { return strings.HasPrefix(strings.ToLower(f.MediaType), "image/") }

// IsPDF reports whether the file is a document in PDF.
func (f File) IsPDF() bool { return strings.EqualFold(f.MediaType, "application/pdf") }

// Tool is a function the model may ask for; Parameters is its JSON schema.
type Tool struct {
	Name        string          `json:"name" doc:"The name."`
	Description string          `json:"description" doc:"What the tool does, for the model."`
	Parameters  json.RawMessage `json:"parameters" doc:"The JSON schema of the tool's arguments."`
}

// ToolCall is a model's request to call a tool. Arguments is a JSON object.
type ToolCall struct {
	ID        string
	Name      string
	Arguments string
}

// Schema asks for an answer in JSON that matches the schema.
type Schema struct {
	Name string
	JSON json.RawMessage
}

// Request is one call of a model. An empty Model is the configured one. MaxTokens limits the answer
// without the model's hidden reasoning; 0 sets no limit.
type Request struct {
	Model     string
	Messages  []Message
	MaxTokens int
	Schema    *Schema
	Tools     []Tool
	// MustAnswer says that the model may call none of the tools. They stay in the request, because a vendor's cache begins
	// with them, and some services refuse the results of tools that a request does not name.
	MustAnswer bool
	// User is what EndUser returns, for the vendor's abuse monitoring.
	User string
	// CacheKey is what SessionKey returns, or the name of rules that are the same for all users. Requests with one key
	// meet the same prompt cache of the vendor. It is empty for requests that have no beginning in common.
	CacheKey string
	// Patient says that nobody waits for the answer. It may be asked for where it costs less and takes up to Patience
	// longer.
	Patient bool
	// LeastEffort asks a model for the least reasoning that it accepts: the answer retells the request.
	LeastEffort bool
}

// Patience is how much longer a patient request may take than another.
const Patience = 15 * time.Second

// EndUser returns a hash of a user's id: the vendor can tell users apart and does not learn their ids.
func EndUser(id string) string {
	hash := sha256.Sum256([]byte(id))
	return hex.EncodeToString(hash[:16])
}

// SessionKey returns a hash of a user and a session, from which the vendor learns neither.
func SessionKey(user, session string) string { return EndUser(user + "\x00" + session) }

// Usage counts tokens as the vendor bills them. CachedTokens are those of the prompt tokens that came from the vendor's
// prompt cache.
type Usage struct {
	PromptTokens     int `json:"promptTokens" doc:"The tokens of the prompt, those from the cache included."`
	CachedTokens     int `json:"cachedTokens" doc:"How many of the prompt's tokens came from the provider's cache."`
	CompletionTokens int `json:"completionTokens" doc:"The tokens of the answer, hidden reasoning included."`
	TotalTokens      int `json:"totalTokens" doc:"The tokens of prompt and answer."`
}

// Add returns the sum of two counts.
func (u Usage) Add(other Usage) Usage {
	return Usage{
		PromptTokens:     u.PromptTokens + other.PromptTokens,
		CachedTokens:     u.CachedTokens + other.CachedTokens,
		CompletionTokens: u.CompletionTokens + other.CompletionTokens,
		TotalTokens:      u.TotalTokens + other.TotalTokens,
	}
}

// The finish reasons of an answer, whichever API it came from.
const (
	FinishStop      = "stop"
	FinishLength    = "length"
	FinishToolCalls = "tool_calls"
	FinishFilter    = "content_filter"
)

// Completion is a model's whole answer.
type Completion struct {
	// Text is the answer, or the words in which the model refuses to give one.
	Text string
	// Refused says that the model's words refuse an answer.
	Refused      bool
	ToolCalls    []ToolCall
	Model        string
	FinishReason string
	Usage        Usage
}

// Counter counts a text's tokens as a model's family does.
type Counter interface {
	Count(text string) int
}
