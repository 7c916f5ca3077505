package chat_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/throughline/throughline/internal/chat"
	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/llm"
	"github.com/throughline/throughline/internal/testing/check"
)

// longAnswer is a model that says a word each second for a minute.
func longAnswer(ctx context.Context, _ llm.Request, emit func(string) error) (llm.Completion, error) {
	for range 60 {
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return llm.Completion{}, ctx.Err()
		}
		if err := emit("word "); err != nil {
			return llm.Completion{}, err
		}
	}
	return llm.Completion{FinishReason: "stop", Usage: llm.Usage{TotalTokens: 160}}, nil
}

// TestTurnsOfASessionThatIsGoneEnd deletes the session, erases the user, or deletes the message, five seconds after a
// long answer began. The answer ends within two seconds, its permit is given back, and what was generated is charged.
func TestTurnsOfASessionThatIsGoneEnd(t *testing.T) {
	t.Parallel()
	for _, gone := range []error{fault.Missing("session"), conversation.TurnReplaced()} {
		t.Run(gone.Error(), func(t *testing.T) { testEndedTurn(t, gone) })
	}
}

func testEndedTurn(t *testing.T, gone error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f, began := newFake(), time.Now()
		f.model = longAnswer
		f.check = func() error {
			if time.Since(began) < 5*time.Second {
				return nil
			}
			return gone
		}
		names, text, last := run(t, t.Context(), f)
		if took := time.Since(began); took > 7*time.Second {
			t.Errorf("the answer went on for %v", took)
		}
		problem, _ := last.(*fault.Error)
		if names[len(names)-1] != "error" || problem == nil || problem.Code != fault.From(gone).Code {
			t.Errorf("the last event is %s, %+v", names[len(names)-1], last)
		}
		if want := 100 + len(text); f.spent != want || len(f.finished) > 0 {
			t.Errorf("%d tokens are charged, want %d; stored %v", f.spent, want, f.finished)
		}
		if leases := f.leases(); !slices.Equal(leases, []time.Duration{0}) {
			t.Errorf("leases %v, want the turn released", leases)
		}
	})
}

// TestALookThatFailsEndsNothing has a table that does not answer whether the session is there.
func TestALookThatFailsEndsNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.model = longAnswer
		f.check = func() error { return fault.New(fault.Unavailable, "the table is down") }
		if names, _, _ := run(t, t.Context(), f); names[len(names)-1] != "done" || f.spent != 160 {
			t.Errorf("events %v, %d tokens", names, f.spent)
		}
	})
}

// TestWhatWasGeneratedIsCharged has turns that store no answer.
func TestWhatWasGeneratedIsCharged(t *testing.T) {
	t.Parallel()
	broken := errors.New("the stream broke")
	model := func(usage int, err error, words ...string) func(
		context.Context, llm.Request, func(string) error) (llm.Completion, error) {
		return func(_ context.Context, _ llm.Request, emit func(string) error) (llm.Completion, error) {
			for _, w := range words {
				_ = emit(w)
			}
			return llm.Completion{Usage: llm.Usage{TotalTokens: usage}}, err
		}
	}
	for name, c := range map[string]struct {
		model  func(context.Context, llm.Request, func(string) error) (llm.Completion, error)
		finish error
		want   int
	}{
		"the session is gone when the answer is stored": {model(42, nil, "word"), fault.Missing("session"), 42},
		"without usage":               {model(0, nil, "word"), fault.Missing("session"), 104},
		"the answer may be stored":    {model(42, nil, "word"), fault.New(fault.Unavailable, "no answer"), 42},
		"tokens without a text":       {model(42, nil), nil, 42},
		"a failure without any token": {model(0, broken), nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake()
			f.model, f.finishErr = c.model, c.finish
			answer := check.Got(f.service().Start(t.Context(), "ann", chat.Request{SessionID: "s", Message: "hello"}))(t)
			for range answer.Events {
			}
			if f.spent != c.want {
				t.Errorf("%d tokens are charged, want %d", f.spent, c.want)
			}
		})
	}
}
