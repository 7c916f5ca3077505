package chat_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/throughline/throughline/internal/chat"
	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/llm"
	"github.com/throughline/throughline/internal/testing/check"
)

func TestATurn(t *testing.T) {
	t.Parallel()
	f := newFake()
	names, text, last := run(t, t.Context(), f)
	check.Same(t, []string{"prompt", "token", "token", "token", "done"}, names, "events")
	want := chat.Done{
		MessageID: "msg_answer", FinishReason: "stop", Model: "gpt-6-luna",
		Usage: llm.Usage{PromptTokens: 5, CachedTokens: 4, CompletionTokens: 3, TotalTokens: 8},
	}
	check.Same(t, any(want), last, "done")
	if len(f.finished) != 1 || f.finished[0].Content != text || f.finished[0].Metadata["interrupted"] != nil {
		t.Errorf("stored %+v, want %q once and whole", f.finished, text)
	}
	stored := map[string]any{"promptTokens": 5.0, "cachedTokens": 4.0, "completionTokens": 3.0, "totalTokens": 8.0}
	if diff := cmp.Diff(stored, f.finished[0].Metadata["usage"]); diff != "" || f.used != want.Usage {
		t.Errorf("observed %+v, stored (-want +got):\n%s", f.used, diff)
	}
	if len(f.saved) != 1 || f.saved[0].ID != "prm_1" || f.saved[0].Generation != 3 {
		t.Errorf("saved prompts %+v, want prm_1 of generation 3", f.saved)
	}
	if f.begun.Messages[0].Tokens != len("hello") {
		t.Error("the user's message was not counted")
	}
}

// TestAClientThatGoesAway stops listening after the first token. The answer goes on.
func TestAClientThatGoesAway(t *testing.T) {
	t.Parallel()
	f := newFake()
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	answer := check.Got(f.service().Start(ctx, "ann", request))(t)
	for e := range answer.Events {
		if e.Name == "token" {
			leave()
			break
		}
	}
	if len(f.finished) != 1 || f.finished[0].Content != "Rest your glutes." {
		t.Errorf("stored %+v, want the whole answer", f.finished)
	}
}

func TestAModelThatFails(t *testing.T) {
	t.Parallel()
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
			f := newFake()
			f.model = func(_ context.Context, _ llm.Request, emit func(string) error) (llm.Completion, error) {
				if test.says != "" {
					if err := emit(test.says); err != nil {
						return llm.Completion{}, err
					}
				}
				return llm.Completion{}, down
			}
			names, _, last := run(t, t.Context(), f)
			check.Equal(t, test.last, names[len(names)-1], "the last event")
			if stored := len(f.finished) == 1; stored != test.stored {
				t.Errorf("stored %+v", f.finished)
			}
			leases := f.leases()
			if released := len(leases) == 1 && leases[0] == 0; released != test.released {
				t.Errorf("leases %v, want the turn released: %v", leases, test.released)
			}
			if !test.stored {
				return
			}
			if f.finished[0].Metadata["interrupted"] != true || last.(chat.Done).FinishReason != chat.Interrupted {
				t.Errorf("a cut answer is not marked: %+v, %+v", f.finished[0].Metadata, last)
			}
		})
	}
}

// TestWhatATurnComesTo checks what each turn reports to the metrics. The limits of the model's service are no limits of
// the user's.
func TestWhatATurnComesTo(t *testing.T) {
	t.Parallel()
	busy := &fault.Error{Code: fault.RateLimited, RetryAfter: 7 * time.Second}
	tests := []struct {
		name string
		says string
		err  error
		want chat.Outcome
		code fault.Code
	}{
		{"a whole answer", "Rest.", nil, chat.Outcome{FirstToken: 3 * time.Second}, ""},
		{"cut", "Re", busy, chat.Outcome{FirstToken: 3 * time.Second, Interrupted: true}, ""},
		{"the service's limits", "", busy, chat.Outcome{}, fault.Unavailable},
		{"a wrong key", "", fault.New(fault.Internal, ""), chat.Outcome{}, fault.Internal},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFake()
				f.model = func(_ context.Context, _ llm.Request, emit func(string) error) (llm.Completion, error) {
					time.Sleep(3 * time.Second)
					if tt.says != "" {
						return llm.Completion{}, errors.Join(emit(tt.says), tt.err)
					}
					return llm.Completion{}, tt.err
				}
				_, _, last := run(t, t.Context(), f)
				if len(f.outcomes) != 1 {
					t.Fatalf("%d outcomes of one turn", len(f.outcomes))
				}
				got := f.outcomes[0]
				failure := got.Failure
				if got.Failure = nil; got != tt.want || (failure != nil) != (tt.code != "") {
					t.Errorf("outcome %+v, %v, want %+v and %q", got, failure, tt.want, tt.code)
				}
				shown, _ := last.(*fault.Error)
				if tt.code != "" && (shown.Code != tt.code || fault.CodeOf(failure) != tt.code) {
					t.Errorf("the user sees %v, the metrics %v, want %s", shown, failure, tt.code)
				}
				if tt.code == fault.Unavailable && (shown.RetryAfter != busy.RetryAfter || shown.Message == "") {
					t.Errorf("the user sees %+v, without a reason or the service's advice", shown)
				}
			})
		})
	}
}

// TestATurnThatCannotBegin is an outcome, too.
func TestATurnThatCannotBegin(t *testing.T) {
	t.Parallel()
	f := newFake()
	f.promptErr = fault.New(fault.Unavailable, "")
	if _, err := f.service().Start(t.Context(), "ann", request); err == nil || len(f.outcomes) != 1 ||
		!fault.Is(f.outcomes[0].Failure, fault.Unavailable) {
		t.Errorf("outcomes %+v after %v", f.outcomes, err)
	}
}

// TestADeadlineCutsTheAnswer has a model that never ends. What it generated is stored before the invocation ends.
func TestADeadlineCutsTheAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.model = func(ctx context.Context, _ llm.Request, emit func(string) error) (llm.Completion, error) {
			if err := emit("and then"); err != nil {
				return llm.Completion{}, err
			}
			<-ctx.Done()
			return llm.Completion{}, ctx.Err()
		}
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Second)
		defer cancel()
		_, _, last := run(t, ctx, f)
		if last.(chat.Done).FinishReason != chat.Interrupted || ctx.Err() != nil {
			t.Errorf("ended with %+v (invocation: %v), want an interrupted answer in time", last, ctx.Err())
		}
		check.Same(t, []time.Duration{30 * time.Second, 30 * time.Second}, f.leases(), "renewals of the lease in 45 s")
	})
}

func TestAReplay(t *testing.T) {
	t.Parallel()
	f := newFake()
	run(t, t.Context(), f)
	first := f.finished[0]
	f.turn.Answer = &conversation.Message{ID: "msg_answer", Content: first.Content, Metadata: first.Metadata}
	if again, err := f.service().Start(t.Context(), "ann", request); err != nil || !again.Replayed {
		t.Errorf("the repeat is %+v, %v, want a replay", again, err)
	}
	names, text, last := run(t, t.Context(), f)
	check.Same(t, []string{"prompt", "token", "done"}, names, "events")
	done := last.(chat.Done)
	if text != first.Content || done.MessageID != "msg_answer" || done.FinishReason != "stop" ||
		done.Usage.TotalTokens != 8 || done.Model != "gpt-6-luna" {
		t.Errorf("replayed %q, %+v", text, done)
	}
	if len(f.finished) != 1 || len(f.asked) != 1 {
		t.Errorf("a replay generated: %d answers, %d model calls", len(f.finished), len(f.asked))
	}
}

func TestAPromptThatFailsReleasesTheTurn(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		lease, permit string
		released      []time.Duration
	}{
		"with a lease": {"l", "", []time.Duration{0}}, "with a permit": {"", "0#s", []time.Duration{0}}, "with none": {},
	} {
		f := newFake()
		f.turn.Lease, f.turn.Permit = tc.lease, tc.permit
		f.promptErr = fault.New(fault.Unavailable, "the table is not available")
		check.Fault(t, check.ErrorOf(f.service().Start(t.Context(), "ann", request)), fault.Unavailable, "%s", name)
		check.Same(t, tc.released, f.leases(), "%s: leases", name)
	}
}

func TestAnAnswerThatCannotBeStoredIsAnError(t *testing.T) {
	t.Parallel()
	f := newFake()
	f.finishErr = errors.New("throttled")
	names, _, last := run(t, t.Context(), f)
	if names[len(names)-1] != "error" || !fault.Is(last.(error), fault.Internal) {
		t.Errorf("ended with %v %v, want an error", names, last)
	}
}

// TestARequestWithoutAPossiblePromptIsNotStored checks that requests for which no prompt can be built are rejected
// before the message is stored.
func TestARequestWithoutAPossiblePromptIsNotStored(t *testing.T) {
	t.Parallel()
	for field, r := range map[string]chat.Request{
		"recipe":  {SessionID: "s", Message: "hi", Recipe: "zz"},
		"agentId": {SessionID: "s", Message: "hi", AgentID: "zz"},
		"message": {SessionID: "s", Message: strings.Repeat("x", 5000)},
	} {
		f := newFake()
		_, err := f.service().Start(t.Context(), "ann", r)
		if e := fault.From(err); e == nil || len(e.Fields) != 1 || e.Fields[0].Field != field {
			t.Errorf("%s: %v", field, err)
		}
		if len(f.begun.Messages) > 0 {
			t.Errorf("%s: the message was stored", field)
		}
	}
}

func TestInvalidFieldsAreNamed(t *testing.T) {
	t.Parallel()
	f := newFake()
	_, err := f.service().Start(t.Context(), "ann", chat.Request{SessionID: "a#b", Message: "\xff"})
	var got []string
	for _, field := range fault.From(err).Fields {
		got = append(got, field.Field)
	}
	check.Same(t, []string{"sessionId", "message"}, got, "fields")
}

// TestSpentTokens counts what a turn costs: the usage of all its calls, or an estimate of it where the model says none.
func TestSpentTokens(t *testing.T) {
	t.Parallel()
	usage := llm.Usage{PromptTokens: 30, CompletionTokens: 10, TotalTokens: 40}
	const text = "Rest."
	for name, tt := range map[string]struct {
		answers []llm.Completion
		failure error
		want    int
	}{
		"one call": {[]llm.Completion{{Text: text, Usage: usage}}, nil, 40},
		"a search": {
			[]llm.Completion{{ToolCalls: []llm.ToolCall{{ID: "1"}}, Usage: usage}, {Text: text, Usage: usage}}, nil, 80,
		},
		"cut off":   {[]llm.Completion{{Text: text}}, errors.New("lost"), 100 + len(text)},
		"no counts": {[]llm.Completion{{Text: text}}, nil, 100 + len(text)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake()
			answers := tt.answers
			f.model = func(_ context.Context, _ llm.Request, emit func(string) error) (llm.Completion, error) {
				next := answers[0]
				if answers = answers[1:]; next.Text != "" {
					if err := emit(next.Text); err != nil {
						return next, err
					}
				}
				return next, tt.failure
			}
			run(t, t.Context(), f)
			if f.spent != tt.want {
				t.Errorf("%d tokens, want %d", f.spent, tt.want)
			}
		})
	}
}

// TestAnswerThatReachesItsLimit stores an answer that has as many tokens as it may, and says why it ended.
func TestAnswerThatReachesItsLimit(t *testing.T) {
	t.Parallel()
	f := newFake()
	f.model = func(_ context.Context, _ llm.Request, emit func(string) error) (llm.Completion, error) {
		return llm.Completion{FinishReason: "length"}, emit("Rest your")
	}
	_, text, last := run(t, t.Context(), f)
	stored := f.finished[0]
	if text != "Rest your" || last.(chat.Done).FinishReason != "length" || stored.Content != text ||
		stored.Metadata["finishReason"] != "length" || stored.Metadata["interrupted"] != nil {
		t.Errorf("%q ended with %+v, stored as %+v", text, last, stored)
	}
}

// TestAnAnswerLongerThanAMessage stores what a message can hold, and marks that the answer was cut.
func TestAnAnswerLongerThanAMessage(t *testing.T) {
	t.Parallel()
	for _, pieces := range []int{20, 1} {
		f := newFake()
		f.model = func(_ context.Context, _ llm.Request, emit func(string) error) (c llm.Completion, err error) {
			for i := 0; i < pieces && err == nil; i++ {
				err = emit(strings.Repeat("Ménagez-vous. ", 20_000/pieces))
			}
			return c, err
		}
		_, text, last := run(t, t.Context(), f)
		if len(f.finished) != 1 {
			t.Fatalf("an answer in %d pieces is stored as %d messages, and ends with %+v", pieces, len(f.finished), last)
		}
		stored := f.finished[0]
		if last.(chat.Done).FinishReason != chat.Interrupted || stored.Content != text ||
			len(text) < conversation.MaxContentBytes-1 || stored.Metadata["interrupted"] != true {
			t.Errorf("%d bytes end with %+v, stored are %d bytes, %v", len(text), last, len(stored.Content), stored.Metadata)
		}
	}
}
