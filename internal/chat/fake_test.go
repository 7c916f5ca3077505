package chat_test

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/chat"
	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/llm"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/prompt"
	"github.com/throughline/throughline/internal/recall"
	"github.com/throughline/throughline/internal/testing/check"
)

// fake has all dependencies of the service, with faults to inject. The end-to-end tests use the real store and the
// offline model; these tests cover faults that those cannot be made to show.
type fake struct {
	mu       sync.Mutex
	turn     conversation.Turn
	begun    conversation.Append
	finished []conversation.NewMessage
	spent    int
	used     llm.Usage
	outcomes []chat.Outcome
	renewed  []time.Duration
	saved    []prompt.StoredPrompt
	reported []string

	promptErr, finishErr error
	model                func(ctx context.Context, r llm.Request, emit func(string) error) (llm.Completion, error)
	asked                []llm.Request
	found                recall.Records
	searched             []recall.MessageQuery
	built                []prompt.Request
	memories             []longterm.Memory
	forgetErr            error
	// history is in the prompt before the current message, in the recipe, unified by default.
	history []prompt.Message
	recipe  string
	// begin and embed, where set, replace BeginTurn and Embed.
	begin func() (conversation.Turn, error)
	// check, where set, replaces CheckTurn.
	check func() error
	// joined is what CheckTurn reports, progress what was saved.
	joined   bool
	progress []conversation.Progress
	joins    conversation.TurnJoiner
	embed    func(ctx context.Context, text string) *recall.Embedding
}

func (f *fake) BeginTurn(
	_ context.Context, _ conversation.UserID, in conversation.Append, _ time.Duration,
) (conversation.Turn, error) {
	f.begun = in
	if f.begin != nil {
		return f.begin()
	}
	return f.turn, nil
}

func (f *fake) RenewTurn(_ context.Context, _ conversation.UserID, _ conversation.Turn, lease time.Duration) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.renewed = append(f.renewed, lease)
	return nil
}

func (f *fake) ReleaseTurn(_ context.Context, _ conversation.UserID, turn conversation.Turn) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.renewed = append(f.renewed, 0)
	f.spent += turn.Spent
	return nil
}

func (f *fake) CheckTurn(context.Context, conversation.UserID, conversation.Turn) (bool, error) {
	if f.check != nil {
		return f.joined, f.check()
	}
	return f.joined, nil
}

func (f *fake) SaveProgress(
	_ context.Context, _ conversation.UserID, _ conversation.Turn, p conversation.Progress,
) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.progress = append(f.progress, p)
	return nil
}

// savedProgress returns what was saved so far for those who have joined.
func (f *fake) savedProgress() []conversation.Progress {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.progress)
}

// leases returns the leases that the turn got so far. 0 is its release.
func (f *fake) leases() []time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.renewed)
}

func (f *fake) FinishTurn(
	_ context.Context, _ conversation.UserID, turn conversation.Turn, answer conversation.NewMessage,
) (conversation.Message, error) {
	if f.finished = append(f.finished, answer); !fault.Is(f.finishErr, fault.NotFound) {
		f.spent += turn.Spent
	}
	return conversation.Message{ID: "msg_answer"}, f.finishErr
}

func (f *fake) Build(_ context.Context, _ conversation.UserID, r prompt.Request) (prompt.Prompt, error) {
	f.built = append(f.built, r)
	return prompt.Prompt{
		ID: "prm_1", Recipe: cmp.Or(f.recipe, prompt.Unified), System: "be kind",
		Messages: append(slices.Clone(f.history), prompt.Message{Role: "user", Content: "hello"}),
		Tools:    []llm.Tool{{Name: "search_conversations"}}, Tokens: prompt.Tokens{Total: 100},
	}, f.promptErr
}

func (f *fake) Stream(ctx context.Context, r llm.Request, emit func(string) error) (llm.Completion, error) {
	f.asked = append(f.asked, r)
	return f.model(ctx, r, emit)
}

func (f *fake) Messages(_ context.Context, _ conversation.UserID, q recall.MessageQuery) (recall.Records, error) {
	f.searched = append(f.searched, q)
	return f.found, nil
}

func (f *fake) Embed(ctx context.Context, text string) *recall.Embedding {
	if f.embed != nil {
		return f.embed(ctx, text)
	}
	return nil
}

func (f *fake) SavePrompt(_ context.Context, _ conversation.UserID, k prompt.StoredPrompt) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.saved = append(f.saved, k)
	return nil
}

func (f *fake) StoredPrompt(context.Context, conversation.UserID, string) (prompt.StoredPrompt, error) {
	return prompt.StoredPrompt{}, fault.Missing("prompt")
}

func (f *fake) StoredPrompts(
	context.Context, conversation.UserID, string, conversation.Page,
) ([]prompt.StoredPrompt, conversation.Position, error) {
	return nil, "", nil
}

func (f *fake) Count(text string) int { return len(text) }

func newFake() *fake {
	return &fake{
		turn: conversation.Turn{
			Message: conversation.Message{ID: "msg_user"}, Lease: "l",
			Session: conversation.Session{ID: "s", Context: "coach_conversation", CoachID: "c", Generation: 3},
		},
		model: func(_ context.Context, _ llm.Request, emit func(string) error) (llm.Completion, error) {
			for _, piece := range []string{"Rest ", "your ", "glutes."} {
				if err := emit(piece); err != nil {
					return llm.Completion{}, err
				}
			}
			usage := llm.Usage{PromptTokens: 5, CachedTokens: 4, CompletionTokens: 3, TotalTokens: 8}
			return llm.Completion{FinishReason: "stop", Usage: usage, Model: "gpt-6-luna"}, nil
		},
	}
}

func (f *fake) observe(_ context.Context, o chat.Outcome) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.used = f.used.Add(o.Usage)
	f.outcomes = append(f.outcomes, o)
}

func (f *fake) service() *chat.Service {
	return chat.New(chat.Deps{
		Turns: f, Watch: f, Joins: f.joins, Prompts: f, Model: f, Recall: f, Forget: f, Embed: f, Archive: f, Tokens: f,
		Now:     time.Now,
		Timeout: time.Minute, AnswerTokens: 300, Retention: time.Hour, Observe: f.observe,
		Report: func(_ context.Context, op string, _ error) {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.reported = append(f.reported, op)
		},
	})
}

var request = chat.Request{SessionID: "s", Message: "hello", AgentID: "coach"}

// run plays a turn to its end and returns the names of the events, the text of the tokens and the last event's data.
func run(t *testing.T, ctx context.Context, f *fake) (names []string, text string, last any) {
	t.Helper()
	answer := check.Got(f.service().Start(ctx, "ann", request))(t)
	for e := range answer.Events {
		names = append(names, e.Name)
		if token, ok := e.Data.(chat.Token); ok {
			text += token.Text
		}
		last = e.Data
	}
	return names, text, last
}
