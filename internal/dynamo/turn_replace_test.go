package dynamo_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/throughline/throughline/internal/chat"
	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/prompt"
	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/testing/dynamotest"
)

// ownTurn returns a request for a turn of the app's own model, without a message where it says nothing.
func ownTurn(key, message string, replaces *conversation.Replaces) chat.OwnRequest {
	r := chat.OwnRequest{
		SessionID: "s", Replaces: replaces,
		Idempotency: conversation.Idempotency{Scope: "own", Key: key, BodyHash: key + message},
	}
	if message != "" {
		r.Messages = []conversation.NewMessage{{Role: conversation.RoleUser, Content: message}}
	}
	return r
}

// history is what the session says, as a page shows it.
func (k *killedTurn) history(t *testing.T) string {
	t.Helper()
	stored, _, err := dynamotest.StoresOf(k.db).Messages.Messages(t.Context(), k.user, "s", conversation.Page{Limit: 20})
	check.OK(t, err)
	var said []string
	for _, m := range stored {
		said = append(said, m.Content)
	}
	return strings.Join(said, " ")
}

// TestTurnReplaces begins a turn in the place of earlier ones, as a page does that regenerates an answer or has a
// message edited. Then the history is that of the page.
func TestTurnReplaces(t *testing.T) {
	t.Parallel()
	table := dynamotest.Table(t)
	seq := func(n int) *conversation.Replaces { return &conversation.Replaces{AfterSeq: &n} }
	for i, tt := range []struct {
		name, message string
		// at names a message of "q1 a1 q2 a2", which have the seqs 1 to 4.
		at   string
		seq  *conversation.Replaces
		want string
		code fault.Code
	}{
		{name: "an answer again", at: "a2", want: "q1 a1 q2 new"},
		{name: "an answer again, by the question", at: "q2", want: "q1 a1 q2 new"},
		{name: "an answer again, with its question", at: "a2", message: "q2", want: "q1 a1 q2 new"},
		{name: "an earlier answer again", at: "a1", want: "q1 new"},
		{name: "an edited question", at: "q2", message: "other", want: "q1 a1 other new"},
		{name: "the first question edited", at: "q1", message: "other", want: "other new"},
		{name: "a message after an answer", at: "a1", message: "other", want: "q1 a1 other new"},
		{name: "after a seq", seq: seq(2), message: "other", want: "q1 a1 other new"},
		{name: "after the seq of a question", seq: seq(3), want: "q1 a1 q2 new"},
		{name: "from the beginning", seq: seq(0), message: "other", want: "other new"},
		{name: "after the seq of an answer, without a message", seq: seq(2), want: "q1 a1 q2 new"},
		{name: "after the end, without a message", seq: seq(4), want: "q1 a1 q2 a2", code: fault.Conflict},
		{name: "after a seq that is not there", seq: seq(5), message: "other", want: "q1 a1 q2 a2", code: fault.Conflict},
		{name: "a message that is not there", at: "gone", message: "other", want: "q1 a1 q2 a2", code: fault.Conflict},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			k := newKilledTurn(t, table, fmt.Sprint("replaces", i))
			service := k.ownService(t, &lifetime{})
			ids := map[string]string{"gone": "msg_20260205T060000000Z_gone"}
			for n := 1; n <= 2; n++ {
				turn := check.Got(service.BeginOwn(t.Context(), k.user, ownTurn(fmt.Sprint(n), fmt.Sprint("q", n), nil)))(t)
				end := check.Got(service.FinishOwn(t.Context(), k.user, turn.ID, ownAnswer(fmt.Sprint("a", n))))(t)
				ids[fmt.Sprint("q", n)], ids[fmt.Sprint("a", n)] = turn.UserMessageID, end.Answer.ID
			}
			r := ownTurn("new", tt.message, tt.seq)
			if tt.seq == nil {
				r.Replaces = &conversation.Replaces{MessageID: ids[tt.at]}
			}
			turn, err := service.BeginOwn(t.Context(), k.user, r)
			if code := fault.CodeOf(err); err != nil && code != tt.code || err == nil && tt.code != "" {
				t.Fatalf("begin: %v, want %s", err, tt.code)
			}
			if err == nil {
				again, err := service.BeginOwn(t.Context(), k.user, r)
				if err != nil || !again.Replayed || again.UserMessageID != turn.UserMessageID {
					t.Errorf("a repeat: %+v, %v", again, err)
				}
				check.Got(service.FinishOwn(t.Context(), k.user, turn.ID, ownAnswer("new")))(t)
			}
			check.Equal(t, tt.want, k.history(t), "the history")
		})
	}
}

// TestReplacementThatIsRefused begins turns in the place of another one for which there is no prompt. Nothing is
// deleted.
func TestReplacementThatIsRefused(t *testing.T) {
	t.Parallel()
	table := dynamotest.Table(t)
	small := &prompt.Budget{Tokens: roleTokens}
	for name, tt := range map[string]struct {
		message string
		change  chat.OwnRequest
	}{
		"an answer again":     {"", chat.OwnRequest{Budget: small}},
		"an edit":             {"other", chat.OwnRequest{Budget: small}},
		"a long message":      {strings.Repeat("long ", roleTokens), chat.OwnRequest{Budget: small}},
		"an unknown strategy": {"other", chat.OwnRequest{Scoping: &prompt.Scoping{Strategy: "gone"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newKilledTurn(t, table, name)
			service := k.ownService(t, &lifetime{})
			turn := check.Got(service.BeginOwn(t.Context(), k.user, ownTurn("1", "q", nil)))(t)
			check.Got(service.FinishOwn(t.Context(), k.user, turn.ID, ownAnswer("a")))(t)
			r := ownTurn("2", tt.message, &conversation.Replaces{MessageID: turn.UserMessageID})
			r.Budget, r.Scoping = tt.change.Budget, tt.change.Scoping
			checkFault(t, errorOf(service.BeginOwn(t.Context(), k.user, r)), fault.Invalid, "begin")
			check.Equal(t, "q a", k.history(t), "the history")
		})
	}
}

// TestReplacedTurnEnds stops an answer and has it generated again. What the stopped turn still brings is refused, in
// whatever order both end, and the user's permits are free.
func TestReplacedTurnEnds(t *testing.T) {
	t.Parallel()
	table := dynamotest.Table(t)
	for name, message := range map[string]string{"regenerated": "", "edited": "q"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newKilledTurn(t, table, name)
			service := k.ownService(t, &lifetime{})
			first := "q"
			if message != "" {
				first = "before"
			}
			stopped := check.Got(service.BeginOwn(t.Context(), k.user, ownTurn("1", first, nil)))(t)
			r := ownTurn("2", message, &conversation.Replaces{MessageID: stopped.UserMessageID})
			turn := check.Got(service.BeginOwn(t.Context(), k.user, r))(t)
			late := func() {
				t.Helper()
				_, err := service.FinishOwn(t.Context(), k.user, stopped.ID, ownAnswer("Rest."))
				checkFault(t, err, fault.Conflict, "the stopped turn ends with")
				checkFault(t, errorOf(service.BeginOwn(t.Context(), k.user, ownTurn("1", first, nil))), fault.Conflict,
					"the stopped turn begins again with")
			}
			late()
			check.Got(service.FinishOwn(t.Context(), k.user, turn.ID, ownAnswer("Rest your glutes.")))(t)
			late()
			check.Equal(t, "q Rest your glutes.", k.history(t), "the history")
			for i := range 2 {
				if _, err := service.BeginOwn(t.Context(), k.user, ownTurn(fmt.Sprint("p", i), "more", nil)); err != nil {
					t.Errorf("a permit is taken: %v", err)
				}
			}
		})
	}
}

// TestKilledReplacement kills the process before and after each step of a turn that replaces an answer. The app repeats
// its calls. Then the question has one answer, the new one.
func TestKilledReplacement(t *testing.T) {
	t.Parallel()
	table := dynamotest.Table(t)
	run := func(t *testing.T, k *killedTurn, l *lifetime, answerID string) error {
		service := k.ownService(t, l)
		r := ownTurn("2", "", &conversation.Replaces{MessageID: answerID})
		turn, err := service.BeginOwn(t.Context(), k.user, r)
		if err == nil {
			_, err = service.FinishOwn(t.Context(), k.user, turn.ID, ownAnswer("Rest your glutes."))
		}
		return err
	}
	begin := func(t *testing.T, name string) (*killedTurn, string) {
		k := newKilledTurn(t, table, name)
		service := k.ownService(t, &lifetime{})
		turn := check.Got(service.BeginOwn(t.Context(), k.user, ownTurn("1", "q", nil)))(t)
		end := check.Got(service.FinishOwn(t.Context(), k.user, turn.ID, ownAnswer("Run.")))(t)
		return k, end.Answer.ID
	}
	calm, answerID := begin(t, "calm replacement")
	l := &lifetime{}
	if err := run(t, calm, l, answerID); err != nil || l.steps < 6 {
		t.Fatalf("%d steps, %v", l.steps, err)
	}
	for step := range l.steps {
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d/%t", step, after), func(t *testing.T) {
				t.Parallel()
				k, answerID := begin(t, fmt.Sprint("replacement", step, after))
				_ = run(t, k, &lifetime{left: step + 1, after: after}, answerID)
				check.OK(t, run(t, k, &lifetime{}, answerID))
				check.Same(t, "q Rest your glutes.", k.history(t), "stored")
			})
		}
	}
}
