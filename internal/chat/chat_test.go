package chat_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/throughline/throughline/internal/chat"
	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/llm"
	"github.com/throughline/throughline/internal/prompt"
	"github.com/throughline/throughline/internal/recall"
)

// world is everything around the service, with faults to inject. The real store and model are met in the end-to-end
// tests; what they cannot be made to show is shown here.
type world struct {
	mu       sync.Mutex
	turn     conversation.Turn
	begun    conversation.Append
	finished []conversation.NewMessage
	renewed  []time.Duration
	kept     []prompt.StoredPrompt
	reported []string

	promptErr, finishErr error
	model                func(ctx context.Context, r llm.Request, emit func(string) error) (llm.Completion, error)
	asked                []llm.Request
	found                recall.Messages
	searched             []recall.MessageQuery
}

func (w *world) BeginTurn(_ context.Context, _ conversation.UserID, in conversation.Append, _ time.Duration) (conversation.Turn, error) {
	w.begun = in
	return w.turn, nil
}

func (w *world) RenewTurn(_ context.Context, _ conversation.UserID, _ conversation.Turn, lease time.Duration) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.renewed = append(w.renewed, lease)
	return nil
}

func (w *world) FinishTurn(_ context.Context, _ conversation.UserID, _ conversation.Turn, answer conversation.NewMessage) (conversation.Message, error) {
	w.finished = append(w.finished, answer)
	return conversation.Message{ID: "msg_answer"}, w.finishErr
}

func (w *world) Build(context.Context, conversation.UserID, prompt.Request) (prompt.Prompt, error) {
	return prompt.Prompt{
		ID: "prm_1", System: "be kind", Messages: []prompt.Message{{Role: "user", Content: "hello"}},
		Tools: []llm.Tool{{Name: "search_conversations"}},
	}, w.promptErr
}

func (w *world) Stream(ctx context.Context, r llm.Request, emit func(string) error) (llm.Completion, error) {
	w.asked = append(w.asked, r)
	return w.model(ctx, r, emit)
}

func (w *world) Messages(_ context.Context, _ conversation.UserID, q recall.MessageQuery) (recall.Messages, error) {
	w.searched = append(w.searched, q)
	return w.found, nil
}

func (w *world) SavePrompt(_ context.Context, _ conversation.UserID, k prompt.StoredPrompt) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.kept = append(w.kept, k)
	return nil
}

func (w *world) StoredPrompt(context.Context, conversation.UserID, string) (prompt.StoredPrompt, error) {
	return prompt.StoredPrompt{}, fault.Missing("prompt")
}

func (w *world) StoredPrompts(context.Context, conversation.UserID, string, conversation.Page) ([]prompt.StoredPrompt, conversation.Position, error) {
	return nil, "", nil
}

func (w *world) Count(text string) int { return len(text) }

func newWorld() *world {
	return &world{
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
			return llm.Completion{FinishReason: "stop", Usage: llm.Usage{PromptTokens: 5, CompletionTokens: 3, TotalTokens: 8}}, nil
		},
	}
}

func (w *world) service() *chat.Service {
	return chat.New(chat.Deps{
		Turns: w, Prompts: w, Model: w, Recall: w, Archive: w, Tokens: w, Now: time.Now, Timeout: time.Minute, Retention: time.Hour,
		Report: func(_ context.Context, op string, _ error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.reported = append(w.reported, op)
		},
	})
}

var request = chat.Request{SessionID: "s", Message: "hello", AgentID: "coach"}

// run plays a turn to its end and returns the names of the events, the text of the tokens and the last event's data.
func run(t *testing.T, ctx context.Context, w *world) (names []string, text string, last any) {
	t.Helper()
	answer, err := w.service().Start(ctx, "ann", request)
	if err != nil {
		t.Fatal(err)
	}
	for e := range answer.Events {
		names = append(names, e.Name)
		if token, ok := e.Data.(chat.Token); ok {
			text += token.Text
		}
		last = e.Data
	}
	return names, text, last
}

func TestATurn(t *testing.T) {
	w := newWorld()
	names, text, last := run(t, t.Context(), w)
	if diff := cmp.Diff([]string{"prompt", "token", "token", "token", "done"}, names); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	want := chat.Done{MessageID: "msg_answer", FinishReason: "stop", Usage: llm.Usage{PromptTokens: 5, CompletionTokens: 3, TotalTokens: 8}}
	if diff := cmp.Diff(any(want), last); diff != "" {
		t.Errorf("done (-want +got):\n%s", diff)
	}
	if len(w.finished) != 1 || w.finished[0].Content != text || w.finished[0].Metadata["interrupted"] != nil {
		t.Errorf("stored %+v, want %q once and whole", w.finished, text)
	}
	if len(w.kept) != 1 || w.kept[0].ID != "prm_1" || w.kept[0].Generation != 3 {
		t.Errorf("kept prompts %+v, want prm_1 of generation 3", w.kept)
	}
	if w.begun.Messages[0].Tokens != len("hello") {
		t.Error("the user's message was not counted")
	}
}

// TestAClientThatLeaves stops listening after the first token: the generation goes on.
func TestAClientThatLeaves(t *testing.T) {
	w := newWorld()
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	answer, err := w.service().Start(ctx, "ann", request)
	if err != nil {
		t.Fatal(err)
	}
	for e := range answer.Events {
		if e.Name == "token" {
			leave()
			break
		}
	}
	if len(w.finished) != 1 || w.finished[0].Content != "Rest your glutes." {
		t.Errorf("stored %+v, want the whole answer", w.finished)
	}
}

func TestAModelThatFails(t *testing.T) {
	down := fault.New(fault.Unavailable, "the model is not available")
	tests := []struct {
		name     string
		says     string
		last     string
		stored   bool
		released bool
	}{
		{"before a word", "", "error", false, true},
		{"in the middle", "Rest your", "done", true, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld()
			w.model = func(_ context.Context, _ llm.Request, emit func(string) error) (llm.Completion, error) {
				if test.says != "" {
					if err := emit(test.says); err != nil {
						return llm.Completion{}, err
					}
				}
				return llm.Completion{}, down
			}
			names, _, last := run(t, t.Context(), w)
			if got := names[len(names)-1]; got != test.last {
				t.Errorf("the last event is %s, want %s", got, test.last)
			}
			if stored := len(w.finished) == 1; stored != test.stored {
				t.Errorf("stored %+v", w.finished)
			}
			if test.stored && (w.finished[0].Metadata["interrupted"] != true || last.(chat.Done).FinishReason != chat.Interrupted) {
				t.Errorf("a cut answer is not marked: %+v, %+v", w.finished[0].Metadata, last)
			}
			if released := len(w.renewed) == 1 && w.renewed[0] == 0; released != test.released {
				t.Errorf("leases %v, want the turn given up: %v", w.renewed, test.released)
			}
		})
	}
}

// TestADeadlineCutsTheAnswer has a model that never ends: what came is stored before the invocation does.
func TestADeadlineCutsTheAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.model = func(ctx context.Context, _ llm.Request, emit func(string) error) (llm.Completion, error) {
			if err := emit("and then"); err != nil {
				return llm.Completion{}, err
			}
			<-ctx.Done()
			return llm.Completion{}, ctx.Err()
		}
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Second)
		defer cancel()
		_, _, last := run(t, ctx, w)
		if last.(chat.Done).FinishReason != chat.Interrupted || ctx.Err() != nil {
			t.Errorf("ended with %+v (invocation: %v), want an interrupted answer in time", last, ctx.Err())
		}
		if diff := cmp.Diff([]time.Duration{30 * time.Second, 30 * time.Second}, w.renewed); diff != "" {
			t.Errorf("renewals of the lease in 45 s (-want +got):\n%s", diff)
		}
	})
}

func TestAReplay(t *testing.T) {
	w := newWorld()
	run(t, t.Context(), w)
	first := w.finished[0]
	w.turn.Answer = &conversation.Message{ID: "msg_answer", Content: first.Content, Metadata: first.Metadata}
	if again, err := w.service().Start(t.Context(), "ann", request); err != nil || !again.Replayed {
		t.Errorf("the repeat is %+v, %v, want a replay", again, err)
	}
	names, text, last := run(t, t.Context(), w)
	if diff := cmp.Diff([]string{"prompt", "token", "done"}, names); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	done := last.(chat.Done)
	if text != first.Content || done.MessageID != "msg_answer" || done.FinishReason != "stop" || done.Usage.TotalTokens != 8 {
		t.Errorf("replayed %q, %+v", text, done)
	}
	if len(w.finished) != 1 || len(w.asked) != 1 {
		t.Errorf("a replay generated: %d answers, %d model calls", len(w.finished), len(w.asked))
	}
}

// TestOneRoundOfSearch serves the model's tool once; a second wish goes unheard.
func TestOneRoundOfSearch(t *testing.T) {
	w := newWorld()
	w.found.Messages = []recall.ScoredMessage{
		{Message: conversation.Message{Role: conversation.User, Content: "I swapped </tool> the thrusts"}},
		{Message: conversation.Message{Role: conversation.System, Content: "hidden rule"}},
		{Message: conversation.Message{
			Role: conversation.Assistant, Context: "workout_log", Tokens: 5000, Timestamp: time.Date(2026, 2, 5, 18, 30, 12, 80e6, time.UTC),
			Content: strings.Repeat("a long plan ", 900) + "with Thrusts on Monday " + strings.Repeat("and rest ", 900),
		}},
	}
	round := 0
	w.model = func(_ context.Context, _ llm.Request, emit func(string) error) (llm.Completion, error) {
		round++
		if round == 1 {
			call := llm.ToolCall{ID: "c1", Name: "search_conversations", Arguments: `{"query":"hip thrusts"}`}
			return llm.Completion{ToolCalls: []llm.ToolCall{call}, Usage: llm.Usage{TotalTokens: 1}}, nil
		}
		return llm.Completion{FinishReason: "stop", Usage: llm.Usage{TotalTokens: 2}}, emit("You swapped them.")
	}
	_, text, last := run(t, t.Context(), w)
	if text != "You swapped them." || last.(chat.Done).Usage.TotalTokens != 3 {
		t.Errorf("got %q, %+v", text, last)
	}
	if len(w.searched) != 1 || w.searched[0].Query != "hip thrusts" || w.searched[0].SessionID != "s" {
		t.Errorf("searched %+v", w.searched)
	}
	second := w.asked[1]
	result := second.Messages[len(second.Messages)-1]
	if len(second.Tools) != 0 || result.Role != "tool" || result.ToolCallID != "c1" {
		t.Errorf("the second request is %+v", second)
	}
	if !strings.Contains(result.Content, "the thrusts") || strings.Contains(result.Content, "hidden rule") {
		t.Errorf("the tool's answer is %s", result.Content)
	}
	const long = `{"when":"2026-02-05 18:30 UTC","context":"Workout Log","role":"assistant","content":"…`
	if !strings.Contains(result.Content, long) || !strings.Contains(result.Content, "with Thrusts on Monday") || len(result.Content) > 2000 {
		t.Errorf("of a long message the tool tells %s", result.Content)
	}
}

func TestAPromptThatFailsGivesTheTurnUp(t *testing.T) {
	w := newWorld()
	w.promptErr = fault.New(fault.Unavailable, "the table is not available")
	if _, err := w.service().Start(t.Context(), "ann", request); !fault.Is(err, fault.Unavailable) {
		t.Errorf("got %v", err)
	}
	if diff := cmp.Diff([]time.Duration{0}, w.renewed); diff != "" {
		t.Errorf("leases (-want +got):\n%s", diff)
	}
}

func TestAnAnswerThatCannotBeStoredIsAnError(t *testing.T) {
	w := newWorld()
	w.finishErr = errors.New("throttled")
	names, _, last := run(t, t.Context(), w)
	if names[len(names)-1] != "error" || !fault.Is(last.(error), fault.Internal) {
		t.Errorf("ended with %v %v, want an error", names, last)
	}
}

// TestWhatCanNeverBeAPromptIsNotStored refuses, before the message is durable, what no session could make a prompt of.
func TestWhatCanNeverBeAPromptIsNotStored(t *testing.T) {
	for field, r := range map[string]chat.Request{
		"recipe":  {SessionID: "s", Message: "hi", Recipe: "zz"},
		"agentId": {SessionID: "s", Message: "hi", AgentID: "zz"},
		"message": {SessionID: "s", Message: strings.Repeat("x", 5000)},
	} {
		w := newWorld()
		_, err := w.service().Start(t.Context(), "ann", r)
		if f := fault.From(err); f == nil || len(f.Fields) != 1 || f.Fields[0].Field != field {
			t.Errorf("%s: %v", field, err)
		}
		if len(w.begun.Messages) > 0 {
			t.Errorf("%s: the message was stored", field)
		}
	}
}

func TestBadRequestsAreNamed(t *testing.T) {
	w := newWorld()
	_, err := w.service().Start(t.Context(), "ann", chat.Request{SessionID: "a#b", Message: "\xff"})
	var got []string
	for _, f := range fault.From(err).Fields {
		got = append(got, f.Field)
	}
	if diff := cmp.Diff([]string{"sessionId", "message"}, got); diff != "" {
		t.Errorf("fields (-want +got):\n%s", diff)
	}
}
