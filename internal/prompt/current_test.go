package prompt_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/prompt"
	"github.com/throughline/throughline/internal/testing/check"
)

// talk is a session of n messages by turns, the last of them the user's, and the request that follows it.
func talk(w *fixture, n int) prompt.Request {
	var lines []line
	for i := range n {
		l := says(time.Duration(i)*minute, fmt.Sprint("question ", i+1))
		if (n-i)%2 == 0 {
			l = answers(time.Duration(i)*minute, fmt.Sprint("answer ", i+1))
		}
		lines = append(lines, l)
	}
	p := w.user("u")
	p.converse("elsewhere", "workout_log", "c", now.Add(-400*minute), says(0, fmt.Sprint("question ", n)))
	p.converse("here", "coach_conversation", "c", now.Add(-300*minute), lines...)
	return prompt.Request{
		Context: "coach_conversation", SessionID: "here", CoachID: "c",
		Message: fmt.Sprint("question ", n), MessageID: fmt.Sprint("msg_here_", n),
	}
}

// A messageId names the current message as this session stores it, and nothing else.
func TestMessageIDNamesTheCurrentMessage(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*prompt.Request){
		"unknown":                func(r *prompt.Request) { r.MessageID = "msg_here_99" },
		"of another session":     func(r *prompt.Request) { r.MessageID = "msg_elsewhere_1" },
		"of another user":        func(r *prompt.Request) { r.MessageID = "msg_theirs_1" },
		"the assistant's":        func(r *prompt.Request) { r.MessageID, r.Message = "msg_here_4", "answer 4" },
		"with another content":   func(r *prompt.Request) { r.Message += "!" },
		"another of the session": func(r *prompt.Request) { r.MessageID = "msg_here_3" },
	} {
		t.Run(name, func(t *testing.T) {
			for _, recipe := range prompt.Recipes {
				w := newFixture()
				r := talk(w, 5)
				w.user("other").converse("theirs", "coach_conversation", "c", now, says(0, r.Message))
				change(&r)
				r.Recipe = recipe.Name
				_, err := w.service(now).Build(t.Context(), "u", r)
				if f := fault.From(err); f == nil || f.Code != fault.Invalid || len(f.Fields) != 1 ||
					f.Fields[0].Field != "messageId" {
					t.Errorf("%s: %v", recipe.Name, err)
				}
			}
		})
	}
}

// The message of a session that is still in the app's own record is found there.
func TestMessageIDIsFoundInTheAppsRecord(t *testing.T) {
	t.Parallel()
	for _, recipe := range prompt.Recipes {
		for _, of := range []adopted{{}, {hasCopies: true}} {
			w := newFixture()
			w.inAppsRecord = true
			r := talk(w, 5)
			p := w.user("u")
			p.sessions[len(p.sessions)-1].Adopted = of
			r.Recipe = recipe.Name
			if got := build(t, w.service(now), "u", r); strings.Count(everything(got), r.Message) < 1 {
				t.Errorf("%s, %+v: the message is missing", recipe.Name, of)
			}
			r.MessageID = "msg_here_99"
			check.Fault(t, check.ErrorOf(w.service(now).Build(t.Context(), "u", r)), fault.Invalid,
				"%s, %+v: an unknown messageId", recipe.Name, of)
		}
	}
}

// The message is found wherever it is, and is in the prompt once: among what is read anyway, or by its id, in the one
// call that this costs, where the timeline lags or others have come in since.
func TestMessageIDIsFound(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		lag, messages, named int
		wantResolve          int
	}{
		"read anyway":         {messages: 5, named: 5},
		"the timeline lags":   {messages: 5, named: 5, lag: 1, wantResolve: 1},
		"long ago":            {messages: 251, named: 3, wantResolve: 1},
		"long ago, with lag":  {messages: 251, named: 3, lag: 1, wantResolve: 1},
		"the first of a pair": {messages: 3, named: 1},
	} {
		t.Run(name, func(t *testing.T) {
			for _, recipe := range prompt.Recipes {
				w := newFixture()
				r := talk(w, tt.messages)
				w.timelineLag = tt.lag
				r.Recipe = recipe.Name
				r.MessageID, r.Message = fmt.Sprint("msg_here_", tt.named), fmt.Sprint("question ", tt.named)
				p := build(t, w.service(now), "u", r)
				shown := 0
				for _, m := range p.Messages {
					if m.Content == r.Message {
						shown++
					}
				}
				if text := p.System + p.Text + fmt.Sprint(p.Messages); strings.Contains(text, fmt.Sprint("answer ", tt.named+1)) {
					t.Errorf("%s: has what was said after the current message", recipe.Name)
				}
				if last := p.Messages[len(p.Messages)-1]; shown != 1 || last.Content != r.Message {
					t.Errorf("%s: in the prompt %d times, the last is %q", recipe.Name, shown, last.Content)
				}
				if (recipe.Name == prompt.TieredHistory || recipe.Name == prompt.Unified) && tt.messages > 200 {
					continue // it reads the whole of that day
				}
				if w.calls["tail"] != 0 || w.calls["resolve"] != tt.wantResolve {
					t.Errorf("%s: tail read %d times, %d looked up", recipe.Name, w.calls["tail"], w.calls["resolve"])
				}
			}
		})
	}
}

// A store that can't say whether the message is there is unavailable: no prompt is made that may tell it twice.
func TestMessageIDThatCannotBeLookedUp(t *testing.T) {
	t.Parallel()
	w := newFixture()
	r := talk(w, 251)
	r.Recipe, r.MessageID, r.Message = prompt.WorkingContext, "msg_here_3", "question 3"
	w.fail["resolve"] = errors.New("timeout")
	check.Fault(t, check.ErrorOf(w.service(now).Build(t.Context(), "u", r)), fault.Unavailable, "the result")
}
