package dynamo_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/chat"
	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/llm"
	"github.com/throughline/throughline/internal/llm/provider"
	"github.com/throughline/throughline/internal/prompt"
	"github.com/throughline/throughline/internal/recall"
	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/testing/dynamodbtest"
	"github.com/throughline/throughline/internal/testing/dynamotest"
)

// TestKilledTurns kills the process that answers at each of its steps: before and after each call to the table, while
// the prompt is built, before the model's first word, between its words and after the last one. The client repeats its
// request until it has an answer. Then the question and the answer are stored once, the answer is charged once, and all
// permits are free.
func TestKilledTurns(t *testing.T) {
	t.Parallel()
	table := dynamotest.Table(t)
	calm := newKilledTurn(t, table, "calm")
	calm.repeatUntilDone(t)
	steps := calm.steps
	if steps < 8 {
		t.Fatalf("a turn has %d steps", steps)
	}
	for step := range steps {
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d/%t", step, after), func(t *testing.T) {
				t.Parallel()
				k := newKilledTurn(t, table, fmt.Sprint("user", step, after))
				if err := k.ask(t, &lifetime{left: step + 1, after: after}); err == nil && step < steps-1 {
					t.Error("the killed process gave an answer")
				}
				k.repeatUntilDone(t)
				k.check(t)
			})
		}
	}
}

// lifetime is how many steps a process takes until it is killed: the last one not at all, or without its answer. With
// none left from the beginning it is not killed. After that it can do nothing.
type lifetime struct {
	mu    sync.Mutex
	left  int
	after bool
	dead  bool
	steps int
}

func (l *lifetime) step(_ string, run func() error) error {
	l.mu.Lock()
	l.steps++
	isLast := false
	if l.left > 0 {
		l.left--
		isLast = l.left == 0
	}
	dead := l.dead
	l.dead = dead || isLast
	l.mu.Unlock()
	switch {
	case dead, isLast && !l.after:
		return dynamotest.ErrCrash
	case isLast:
		return errors.Join(run(), dynamotest.ErrCrash)
	}
	return run()
}

func (l *lifetime) isDead() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.dead
}

// killedTurn is a turn of a user, and the processes that answer it.
type killedTurn struct {
	table string
	user  conversation.UserID
	now   time.Time
	steps int
	db    *dynamo.DB
}

func newKilledTurn(t *testing.T, table, user string) *killedTurn {
	t.Helper()
	k := &killedTurn{table: table, user: conversation.UserID(user), now: start}
	k.db = k.open(t, &lifetime{})
	in := conversation.NewSession{ID: "s", Context: "coach_conversation", CoachID: "c"}
	check.Got(dynamotest.StoresOf(k.db).Sessions.CreateSession(t.Context(), k.user, in, noKey))(t)
	return k
}

func (k *killedTurn) open(t *testing.T, l *lifetime) *dynamo.DB {
	return dynamo.New(dynamotest.Intercept(dynamodbtest.Client(t), dynamotest.Interceptor{Call: l.step}), k.table,
		dynamo.WithClock(func() time.Time { return k.now }), dynamo.WithAnswerLimit(2, longestTurn),
		dynamo.WithDailyTokens(manyTokens))
}

// killedModel builds prompts and answers in three words, each of them a step of the process.
type killedModel struct{ *lifetime }

// roleTokens is what the role of a prompt needs beside the message.
const roleTokens = 400

func (m killedModel) Build(_ context.Context, _ conversation.UserID, r prompt.Request) (p prompt.Prompt, err error) {
	if r.Budget != nil && r.Budget.Tokens < m.Count(r.Message)+roleTokens {
		return p, fault.InvalidField("message", "does not fit")
	}
	err = m.step("prompt", func() error { return nil })
	tools := []llm.Tool{{Name: prompt.SearchConversations}}
	p = prompt.Prompt{ID: "prompt_1770316200000_x", Recipe: prompt.Unified, Tools: tools}
	p.Forms = provider.New(r.Format, []llm.Message{{Role: "user", Content: r.Message}}, p.Tools)
	return p, err
}

func (m killedModel) Stream(_ context.Context, _ llm.Request, emit func(string) error) (llm.Completion, error) {
	for _, word := range []string{"Rest ", "your ", "glutes."} {
		if err := m.step("model", func() error { return emit(word) }); err != nil {
			return llm.Completion{}, err
		}
	}
	return llm.Completion{FinishReason: llm.FinishStop, Usage: llm.Usage{TotalTokens: 8}}, nil
}

func (m killedModel) Messages(context.Context, conversation.UserID, recall.MessageQuery) (recall.Records, error) {
	return recall.Records{}, dynamotest.ErrNoAnswer
}

func (m killedModel) Embed(context.Context, string) *recall.Embedding { return nil }

func (m killedModel) Count(text string) int { return len(text) }

// ask has a process of that lifetime answer. It returns nil when the answer has reached the client.
func (k *killedTurn) ask(t *testing.T, l *lifetime) error {
	t.Helper()
	db, m := k.open(t, l), killedModel{l}
	turns := dynamo.NewTurnStore(db)
	service := chat.New(chat.Deps{
		Turns: turns, Watch: turns, Prompts: m, Model: m, Recall: m, Embed: m, Archive: dynamo.NewPromptStore(db), Tokens: m,
		Now: func() time.Time { return k.now }, Timeout: time.Minute, Retention: time.Hour,
		Report: func(context.Context, string, error) {},
	})
	answer, err := service.Start(t.Context(), k.user, chat.Request{
		SessionID: "s", Message: "q", Idempotency: conversation.Idempotency{Scope: "chat", Key: "k", BodyHash: "h"},
	})
	if err != nil {
		return err
	}
	err = dynamotest.ErrCrash
	for e := range answer.Events {
		if e.Name == "done" && !l.isDead() {
			err = nil
		}
	}
	k.steps = l.steps
	return err
}

// repeatUntilDone repeats the request, at once and when the lease of a killed process has expired.
func (k *killedTurn) repeatUntilDone(t *testing.T) {
	t.Helper()
	for range 4 {
		err := k.ask(t, &lifetime{})
		if err == nil {
			return
		}
		if !fault.Is(err, fault.Conflict) {
			t.Fatalf("a repeat: %v", err)
		}
		k.now = k.now.Add(turnLease / 2)
	}
	t.Fatal("the lease of the killed process does not expire")
}

// check checks what is stored, what is charged and that the permits are free.
func (k *killedTurn) check(t *testing.T) {
	t.Helper()
	s := dynamotest.StoresOf(k.db)
	stored, _, err := s.Messages.Messages(t.Context(), k.user, "s", conversation.Page{Limit: 10})
	check.OK(t, err)
	var said []string
	for _, m := range stored {
		said = append(said, fmt.Sprint(m.Seq, " ", m.Role, ": ", m.Content))
	}
	check.Same(t, []string{"1 user: q", "2 assistant: Rest your glutes."}, said, "stored")
	if today, err := dynamo.NewQuotaStore(k.db).Today(t.Context(), k.user); today.Used != 8 || err != nil {
		t.Errorf("%d tokens are charged, %v; want 8", today.Used, err)
	}
	for i := range 2 {
		if _, err := s.Turns.BeginTurn(t.Context(), k.user, dynamotest.OneMessage("s", "more"), turnLease); err != nil {
			t.Errorf("turn %d after it: %v", i, err)
		}
	}
}
