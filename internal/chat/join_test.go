package chat_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/throughline/throughline/internal/chat"
	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/llm"
	"github.com/throughline/throughline/internal/testing/check"
)

// progresses answers a join with one progress after the other, and then with the last one again.
type progresses struct {
	all         []conversation.Progress
	err         error
	asked, left int
}

func (p *progresses) JoinTurn(
	context.Context, conversation.UserID, string, time.Duration,
) (conversation.Joined, error) {
	if p.all == nil {
		return conversation.Joined{}, p.err
	}
	return conversation.Joined{End: func(context.Context) error { p.left++; return nil }}, nil
}

func (p *progresses) AskForProgress(context.Context, conversation.UserID, conversation.Joined) error {
	p.asked++
	return nil
}

func (p *progresses) FollowTurn(
	context.Context, conversation.UserID, conversation.Joined,
) (conversation.Progress, error) {
	if len(p.all) == 0 {
		return conversation.Progress{}, p.err
	}
	next := p.all[0]
	if len(p.all) > 1 || p.err != nil {
		p.all = p.all[1:]
	}
	return next, nil
}

func stored(content string) *conversation.Message {
	return &conversation.Message{ID: "msg_stored", Content: content, Metadata: map[string]any{"promptId": "prm_1"}}
}

// TestJoin follows answers to their ends.
func TestJoin(t *testing.T) {
	t.Parallel()
	saved := func(text string) conversation.Progress {
		return conversation.Progress{PromptID: "prm_1", QuestionID: "msg_user", AnswerID: "msg_planned", Text: text}
	}
	none, done := conversation.Progress{}, conversation.Progress{Answer: stored("Rest your glutes.")}
	given := conversation.Progress{Ended: true}
	for name, tc := range map[string]struct {
		progresses progresses
		names      string
		text       string
		last       fault.Code
	}{
		"as it grows": {
			progresses{all: []conversation.Progress{none, saved("Rest "), saved("Rest "), saved("Rest your "), done}},
			"prompt token token token done", "Rest your glutes.", "",
		},
		"at its end": {
			progresses{all: []conversation.Progress{none, done}}, "prompt token done", "Rest your glutes.", "",
		},
		"read backwards": {
			progresses{all: []conversation.Progress{saved("Rest "), none, done}},
			"prompt token token done", "Rest your glutes.", "",
		},
		"given up": {
			progresses{all: []conversation.Progress{saved("Rest "), given}},
			"prompt token error", "Rest ", fault.Unavailable,
		},
		"answered anew": {
			progresses{all: []conversation.Progress{saved("Sleep"), done}}, "prompt token error", "Sleep", fault.Conflict,
		},
		"cut by a shorter": {
			progresses{all: []conversation.Progress{saved("Rest your glutes. And"), done}},
			"prompt token error", "Rest your glutes. And", fault.Conflict,
		},
		"deleted": {
			progresses{all: []conversation.Progress{saved("Rest ")}, err: fault.Missing("session")},
			"prompt token error", "Rest ", fault.NotFound,
		},
		"endless": {
			progresses{all: []conversation.Progress{saved("Rest ")}}, "prompt token error", "Rest ", fault.Unavailable,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, p := newFake(), tc.progresses
				f.joins = &p
				answer := check.Got(f.service().Join(t.Context(), "ann", "s"))(t)
				var names []string
				text, last := "", fault.Code("")
				for e := range answer.Events {
					names = append(names, e.Name)
					switch data := e.Data.(type) {
					case chat.Token:
						text += data.Text
					case error:
						last = fault.CodeOf(data)
					case chat.Built:
						if data.PromptID != "prm_1" {
							t.Errorf("begins with %+v", data)
						}
					}
				}
				if got := strings.Join(names, " "); got != tc.names || text != tc.text || last != tc.last || p.left != 1 {
					t.Errorf("%s, %q, %s; left %d times", got, text, last, p.left)
				}
				if name == "endless" && p.asked < 10 {
					t.Errorf("asked for the progress %d times", p.asked)
				}
			})
		})
	}
}

// TestJoinNothing asks where nothing is generated, and where there is no session.
func TestJoinNothing(t *testing.T) {
	t.Parallel()
	f := newFake()
	f.joins = &progresses{}
	if answer, err := f.service().Join(t.Context(), "ann", "s"); err != nil || answer.Events != nil {
		t.Errorf("%+v, %v", answer, err)
	}
	f.joins = &progresses{err: fault.Missing("session")}
	for _, id := range []string{"s", "s#1"} {
		check.Fault(t, check.ErrorOf(f.service().Join(t.Context(), "ann", id)), fault.NotFound, "%s", id)
	}
}

// TestProgressIsSaved generates for 20 seconds. Only an answer that somebody has joined has its text saved.
func TestProgressIsSaved(t *testing.T) {
	t.Parallel()
	for _, joined := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			f := newFake()
			f.joined = joined
			f.model = func(_ context.Context, _ llm.Request, emit func(string) error) (llm.Completion, error) {
				for range 40 {
					time.Sleep(500 * time.Millisecond)
					if err := emit("x"); err != nil {
						return llm.Completion{}, err
					}
				}
				return llm.Completion{FinishReason: "stop"}, nil
			}
			run(t, t.Context(), f)
			synctest.Wait() // for a look that began as the answer ended
			saved := f.savedProgress()
			if !joined {
				if len(saved) > 0 {
					t.Errorf("saved %d times for nobody", len(saved))
				}
				return
			}
			if n := len(saved); n < 12 || n > 16 {
				t.Errorf("saved %d times", n)
			}
			if !slices.IsSortedFunc(saved, func(a, b conversation.Progress) int { return len(a.Text) - len(b.Text) }) {
				t.Error("the text shrank")
			}
			if first := saved[0]; first.PromptID != "prm_1" || len(first.Text) < 8 {
				t.Errorf("first saved: %+v", first)
			}
		})
	}
}
