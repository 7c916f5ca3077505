package dynamo_test

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/throughline/throughline/internal/chat"
	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/llm"
	"github.com/throughline/throughline/internal/llm/provider"
	"github.com/throughline/throughline/internal/prompt"
	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/testing/dynamotest"
)

// askOwn has a process of that lifetime begin and finish a turn of the app's own model.
func (k *killedTurn) askOwn(t *testing.T, l *lifetime) (turn chat.OwnTurn, err error) {
	t.Helper()
	service := k.ownService(t, l)
	defer func() { k.steps = l.steps }()
	turn, err = service.BeginOwn(t.Context(), k.user, question())
	if err != nil {
		return turn, err
	}
	_, err = service.FinishOwn(t.Context(), k.user, turn.ID, ownAnswer("Rest your glutes."))
	return turn, err
}

func (k *killedTurn) ownService(t *testing.T, l *lifetime) *chat.Service {
	db, m := k.open(t, l), killedModel{l}
	turns := dynamo.NewTurnStore(db)
	return chat.New(chat.Deps{
		Turns: turns, Keeper: turns, Prompts: m, Tokens: m, Now: func() time.Time { return k.now },
		Report: func(context.Context, string, error) {},
	})
}

func question() chat.OwnRequest {
	return chat.OwnRequest{
		SessionID: "s", Messages: []conversation.NewMessage{{Role: conversation.RoleUser, Content: "q"}},
		Idempotency: conversation.Idempotency{Scope: "own", Key: "k", BodyHash: "h"},
	}
}

func ownAnswer(content string) chat.OwnAnswer {
	return chat.OwnAnswer{Content: content, Usage: llm.Usage{TotalTokens: 8}}
}

// TestKilledOwnTurns kills the process before and after each step of a turn of the app's own model. The app repeats
// both calls until they succeed. Then question and answer are stored once and charged once, and all permits are free.
func TestKilledOwnTurns(t *testing.T) {
	t.Parallel()
	table := dynamotest.Table(t)
	calm := newKilledTurn(t, table, "calm")
	check.Got(calm.askOwn(t, &lifetime{}))(t)
	calm.check(t)
	steps := calm.steps
	if steps < 6 {
		t.Fatalf("a turn has %d steps", steps)
	}
	for step := range steps {
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d/%t", step, after), func(t *testing.T) {
				t.Parallel()
				k := newKilledTurn(t, table, fmt.Sprint("own", step, after))
				first, _ := k.askOwn(t, &lifetime{left: step + 1, after: after})
				again := check.Got(k.askOwn(t, &lifetime{}))(t)
				if first.ID != "" && !cmp.Equal(first.Prompt, again.Prompt) {
					t.Errorf("the repeat has another prompt: %s", cmp.Diff(first.Prompt, again.Prompt))
				}
				k.check(t)
			})
		}
	}
}

// TestOwnTurnEndsOnce finishes a turn many times at once, with other answers. One is stored and charged.
func TestOwnTurnEndsOnce(t *testing.T) {
	t.Parallel()
	k := newKilledTurn(t, dynamotest.Table(t), "ann")
	turn := check.Got(k.ownService(t, &lifetime{}).BeginOwn(t.Context(), k.user, question()))(t)
	ids := make([]string, 6)
	var work sync.WaitGroup
	for i := range ids {
		service := k.ownService(t, &lifetime{})
		work.Go(func() {
			end, err := service.FinishOwn(t.Context(), k.user, turn.ID, ownAnswer("Rest your glutes."))
			if err != nil || end.Answer == nil || end.Session.MessageCount != 2 {
				t.Errorf("finish: %+v, %v", end, err)
				return
			}
			ids[i] = end.Answer.ID
		})
	}
	work.Wait()
	for _, id := range ids {
		if id != ids[0] {
			t.Errorf("answers %v", ids)
		}
	}
	k.check(t)
}

// TestToolsOfTheApp begins a turn with a tool of the app, which each provider's form has behind the prompt's, in a
// repeat, too.
func TestToolsOfTheApp(t *testing.T) {
	t.Parallel()
	table := dynamotest.Table(t)
	for _, format := range provider.Formats() {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			k := newKilledTurn(t, table, format)
			r := question()
			r.Format, r.Tools = format, []llm.Tool{{Name: "inventory", Parameters: []byte(`{"type":"object"}`)}}
			for range 2 {
				turn := check.Got(k.ownService(t, &lifetime{}).BeginOwn(t.Context(), k.user, r))(t)
				call, err := json.Marshal(turn.Prompt.Forms)
				check.OK(t, err)
				names := regexp.MustCompile(`"name":"(\w+)"`).FindAllStringSubmatch(string(call), -1)
				if format == provider.FormatParts {
					names = [][]string{{"", turn.Prompt.Tools[0].Name}, {"", turn.Prompt.Tools[1].Name}}
				}
				if len(names) != 2 || names[0][1] != prompt.SearchConversations || names[1][1] != "inventory" {
					t.Errorf("the tools are %v of %s", names, call)
				}
			}
		})
	}
}

// TestOwnTurnLapses waits until the lease of a turn is over. It is interrupted then, its permit is free, a late answer
// is stored all the same, and a repeat gets the same turn.
func TestOwnTurnLapses(t *testing.T) {
	t.Parallel()
	k := newKilledTurn(t, dynamotest.Table(t), "ann")
	service := k.ownService(t, &lifetime{})
	turn := check.Got(service.BeginOwn(t.Context(), k.user, question()))(t)
	status := func(want string) {
		t.Helper()
		state, err := service.StateOfOwn(t.Context(), k.user, turn.ID)
		if err != nil || state.Status != want || state.UserMessageID != turn.UserMessageID {
			t.Errorf("%+v, %v, want %s", state, err, want)
		}
	}
	status(chat.TurnOpen)
	k.now = k.now.Add(10*time.Minute + time.Second)
	status(chat.TurnInterrupted)
	again, err := service.BeginOwn(t.Context(), k.user, question())
	if err != nil || again.ID != turn.ID || again.UserMessageID != turn.UserMessageID {
		t.Errorf("a late repeat: %+v, %v", again, err)
	}
	status(chat.TurnOpen)
	k.now = k.now.Add(time.Hour)
	if _, err := service.FinishOwn(t.Context(), k.user, turn.ID, ownAnswer("Rest your glutes.")); err != nil {
		t.Error(err)
	}
	status(chat.TurnFinished)
	k.check(t)
}

// TestOwnTurnOfADeletedMessage deletes the message, or its session, while the app's model answers. Nothing is stored,
// what the model took is charged once, and the permit is free.
func TestOwnTurnOfADeletedMessage(t *testing.T) {
	t.Parallel()
	table := dynamotest.Table(t)
	for _, name := range []string{"message", "session"} {
		k := newKilledTurn(t, table, name)
		service, stores := k.ownService(t, &lifetime{}), dynamotest.StoresOf(k.db)
		turn := check.Got(service.BeginOwn(t.Context(), k.user, question()))(t)
		if name == "message" {
			stored, _, err := stores.Messages.Messages(t.Context(), k.user, "s", conversation.Page{Limit: 1})
			check.OK(t, err)
			check.Got(stores.Deletion.DeleteMessage(t.Context(), k.user, stored[0], nil, k.now))(t)
		} else {
			check.Got(stores.Deletion.DeleteSession(t.Context(), k.user, "s", k.now))(t)
			in := conversation.NewSession{ID: "s", Context: "coach_conversation", CoachID: "c"}
			k.now = k.now.Add(time.Second)
			check.Got(stores.Sessions.CreateSession(t.Context(), k.user, in, noKey))(t)
		}
		for range 2 {
			_, err := service.FinishOwn(t.Context(), k.user, turn.ID, ownAnswer("late"))
			checkFault(t, err, fault.NotFound, "%s: finish", name)
		}
		if today, err := dynamo.NewQuotaStore(k.db).Today(t.Context(), k.user); today.Used != 8 || err != nil {
			t.Errorf("%s: %d tokens are charged, %v; want 8", name, today.Used, err)
		}
		for i := range 2 {
			if _, err := service.BeginOwn(t.Context(), k.user, ownTurn(fmt.Sprint("p", i), "more", nil)); err != nil {
				t.Errorf("%s: a permit is taken: %v", name, err)
			}
		}
	}
}

// TestOwnTurnOfADeletedSession deletes the session, and erases the user, in the middle of a turn. Nothing of it is
// left.
func TestOwnTurnOfADeletedSession(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*killedTurn) error{
		"deleted": func(k *killedTurn) error {
			stores := dynamotest.StoresOf(k.db)
			tombstone, err := stores.Deletion.DeleteSession(t.Context(), k.user, "s", k.now)
			if err != nil {
				return err
			}
			return stores.Deletion.DeleteMarks(t.Context(), k.user, *tombstone.Session)
		},
		"erased": func(k *killedTurn) error { eraseUser(t, dynamotest.StoresOf(k.db), k.user, k.now); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			k := newKilledTurn(t, dynamotest.Table(t), "ann")
			service := k.ownService(t, &lifetime{})
			turn, err := service.BeginOwn(t.Context(), k.user, question())
			check.OK(t, err)
			check.OK(t, end(k))
			_, err = service.FinishOwn(t.Context(), k.user, turn.ID, ownAnswer("late"))
			checkFault(t, err, fault.NotFound, "finish")
			kept := dynamo.NewTurnStore(k.db)
			late := conversation.Turn{Session: conversation.Session{ID: "s", Context: "coach_conversation"}}
			_, err = kept.KeepPrompt(t.Context(), k.user, late, conversation.KeptPrompt{Data: []byte("x")})
			checkFault(t, err, fault.NotFound, "a late prompt")
			for _, sk := range dynamotest.Keys(t, k.table, k.user) {
				if len(sk) > 5 && (sk[:5] == "turn#" || sk[:5] == "answe") {
					t.Errorf("left: %s", sk)
				}
			}
		})
	}
}
