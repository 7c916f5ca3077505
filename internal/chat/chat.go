// Package chat is the streaming coach. It stores the user's message, has the prompt built, streams the model's answer
// and stores the whole answer, even when the client goes away.
package chat

import (
	"context"
	"time"
	"unicode/utf8"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/llm"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/prompt"
	"github.com/throughline/throughline/internal/recall"
)

// Request is one turn of the chat, as the user's client asks for it.
type Request struct {
	SessionID   string
	Message     string
	AgentID     string
	Recipe      string
	Idempotency conversation.Idempotency
}

// Event is one event of the answer's stream: one "prompt", any number of "token", then exactly one "done" or "error".
type Event struct {
	Name string
	Data any
}

// Built is the data of the "prompt" event: the prompt is built and the user's message is stored.
type Built struct {
	PromptID      string `json:"promptId" doc:"The id of the prompt."`
	UserMessageID string `json:"userMessageId" doc:"The id of the user's message, which is stored."`
	// AnswerID is the id that the answer will have. Done has another if a message came between. It is the stored answer's
	// in a replay. Only the stream for useChat has it, because that names the message first.
	AnswerID string `json:"-"`
}

// Token is the data of a "token" event: the next piece of the answer.
type Token struct {
	Text string `json:"text" doc:"The next piece of the answer."`
}

// Done is the data of the "done" event: the answer is stored.
type Done struct {
	MessageID string    `json:"messageId" doc:"The id of the message."`
	Usage     llm.Usage `json:"usage"`
	// FinishReason is the model's, or Interrupted.
	FinishReason string `json:"finishReason" doc:"Why the model stopped."`
	// Model is the name by which the vendor calls the model that answered, and by which it bills the tokens. It is empty
	// where the vendor names none.
	Model string `json:"model,omitempty" doc:"The model that is asked. Absent where the default is."`
}

// Interrupted is the finish reason of an answer that was cut by a deadline or a model error. The part that was
// generated is stored with metadata.interrupted.
const Interrupted = "interrupted"

// Outcome is what a turn came to.
type Outcome struct {
	// Usage is what the model took.
	Usage llm.Usage
	// FirstToken is the time from the request to the first piece of the answer, zero where there was none.
	FirstToken time.Duration
	// Interrupted says that a part of the answer is stored.
	Interrupted bool
	// Failure is why nothing was stored, nil where an answer was.
	Failure error
}

// Prompter builds the prompt of a turn without storing it: the service stores it while the model generates.
type Prompter interface {
	Build(ctx context.Context, user conversation.UserID, r prompt.Request) (prompt.Prompt, error)
}

// Streamer streams a model's answer piece by piece and returns the whole.
type Streamer interface {
	Stream(ctx context.Context, r llm.Request, emit func(delta string) error) (llm.Completion, error)
}

// Recaller answers the model's search_conversations tool.
type Recaller interface {
	Messages(ctx context.Context, user conversation.UserID, q recall.MessageQuery) (recall.Records, error)
}

// Forgetter answers the model's forget tool.
type Forgetter interface {
	// Forget deletes the memories that choose returns of the user's, of which the newest past ones are a part, as
	// extraction does with what the user asks to forget. The message asks for it, and is forgotten with them. It returns
	// how many are gone.
	Forget(ctx context.Context, user conversation.UserID, messageID string,
		choose func([]longterm.Memory) []longterm.Memory) (int, error)
}

// Embedder embeds the text that a prompt searches for.
type Embedder interface {
	// Embed returns nil where only the search can know the model.
	Embed(ctx context.Context, text string) *recall.Embedding
}

// Deps are the dependencies of a Service. All are needed.
type Deps struct {
	Turns   conversation.TurnStore
	Watch   conversation.TurnWatcher
	Joins   conversation.TurnJoiner
	Keeper  conversation.TurnKeeper
	Prompts Prompter
	Model   Streamer
	Recall  Recaller
	Forget  Forgetter
	Embed   Embedder
	Archive prompt.Archive
	Tokens  llm.Counter
	Now     func() time.Time
	// Timeout limits how long the model answers.
	Timeout time.Duration
	// AnswerTokens limits the text of one answer. 0 means any length. An answer that reaches it is stored as it is, with
	// the finish reason "length".
	AnswerTokens int
	// StoreText keeps rendered prompts beside their manifests; Retention is how long both are kept.
	StoreText bool
	Retention time.Duration
	// Observe, if set, is called with what each turn came to, for metrics. A replay is none.
	Observe func(ctx context.Context, o Outcome)
	// Report is called with failures that the client does not see, such as a manifest that could not be stored.
	Report func(ctx context.Context, op string, err error)
}

// Service runs turns. It is safe for concurrent use.
type Service struct{ Deps }

// New returns a service on its dependencies.
func New(d Deps) *Service { return &Service{Deps: d} }

const (
	// buildTimeout limits the building of the prompt. The prompt function ends after 15 s, and may have to start first.
	buildTimeout = 20 * time.Second
	// reserve is the time before the invocation's deadline that is left for storing the answer. It also limits the storing
	// of the manifest.
	reserve = 5 * time.Second
	// embedTimeout limits the embedding of the user's message, from the time of the request. It is as long as the prompt
	// function would wait for its search.
	embedTimeout = 1500 * time.Millisecond
)

// Longest is how long a turn with that timeout of the model may take from the storing of the user's message to its end.
func Longest(timeout time.Duration) time.Duration { return buildTimeout + timeout + 2*reserve }

func (r Request) validate() error {
	var wrong fault.Problems
	wrong.If(!conversation.ValidID(r.SessionID), "sessionId", "must be 1 to 128 of A-Z a-z 0-9 _ . : -")
	n := len(r.Message)
	wrong.If(n < 1 || n > conversation.MaxContentBytes || !utf8.ValidString(r.Message),
		"message", "must be 1 byte to 256 KiB of UTF-8")
	return wrong.Err()
}
