package summary_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/llm"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/summary"
	"github.com/throughline/throughline/internal/sweep"
)

// spineNow is when the fixture's clock starts.
var spineNow = time.Date(2026, 2, 5, 18, 0, 0, 0, time.UTC)

// spineFixture is the spine of one user and coach, with a model that reports what it was given.
type spineFixture struct {
	now      time.Time
	due      summary.DueSpine
	sessions []conversation.Session
	gone     bool
	saveErr  error

	answer     map[string]any // of the model, nil for one that reports the calls
	answerErr  error
	inputs     []string
	quota      fakeQuota
	background bool
	postponed  []time.Time
	written    []int
}

func newSpineFixture() *spineFixture {
	return &spineFixture{now: spineNow, background: true, due: summary.DueSpine{
		Spine: longterm.Spine{CoachID: "mia"}, Access: longterm.Access{Preferences: longterm.DefaultPreferences()},
	}}
}

func (f *spineFixture) SpineDue(context.Context, sweep.Due) (summary.DueSpine, error) {
	if f.gone {
		return summary.DueSpine{}, fault.Missing("spine")
	}
	return f.due, nil
}

func (f *spineFixture) CoachSessions(ctx context.Context, _ conversation.UserID, of conversation.CoachSessions,
	page conversation.Page,
) (out []conversation.Session, next conversation.Position, err error) {
	from, _ := strconv.Atoi(string(page.After))
	for i, s := range f.sessions[from:] {
		if len(out) == page.Limit {
			return out, conversation.Position(strconv.Itoa(from + i)), nil
		}
		ok, err := of.Allows(ctx, s.Context)
		if err != nil {
			return nil, "", err
		}
		if ok && s.CoachID == of.CoachID {
			out = append(out, s)
		}
	}
	return out, "", nil
}

func (f *spineFixture) SaveSpine(_ context.Context, _ conversation.UserID, _ int64, s longterm.Spine) error {
	if f.saveErr != nil {
		return f.saveErr
	}
	if s.Version != f.due.Version {
		return fault.New(fault.Conflict, "another version")
	}
	s.Version++
	f.due.Spine = s
	return nil
}

func (f *spineFixture) Postpone(_ context.Context, _ sweep.Claim, at time.Time, succeeded bool) error {
	if succeeded {
		return errors.New("a wait that does not grow")
	}
	f.postponed = append(f.postponed, at)
	return nil
}

func (f *spineFixture) Complete(_ context.Context, r llm.Request) (llm.Completion, error) {
	f.inputs = append(f.inputs, r.Messages[len(r.Messages)-1].Content)
	answer := f.answer
	if answer == nil {
		n := fmt.Sprint(len(f.inputs))
		answer = map[string]any{
			"spine": "spine " + n, "patterns": []string{"pattern " + n}, "wins": []string{}, "struggles": []string{"s " + n},
		}
	}
	text, err := json.Marshal(answer)
	return llm.Completion{Text: string(text), Model: "m", Usage: llm.Usage{TotalTokens: 9}}, errors.Join(err, f.answerErr)
}

func (f *spineFixture) Count(text string) int { return len(strings.Fields(text)) }

// visit visits the spine and returns what becomes of it in the index.
func (f *spineFixture) visit(t *testing.T) (sweep.Outcome, error) {
	t.Helper()
	s := summary.NewSpines(summary.SpineDeps{
		Store: f, Model: f, Quota: &f.quota, Tokens: f, Now: func() time.Time { return f.now },
		Random: func() float64 { return 0 }, Report: func(context.Context, string, error) {},
		Written: func(_ context.Context, n int) { f.written = append(f.written, n) },
		Idle:    15 * time.Minute, Background: f.background,
	})
	return s.Visit(t.Context(), sweep.Claim{Due: sweep.Due{User: "ann"}, Failures: 2})
}

// check visits the spine and checks what becomes of it, and how many calls of the model there were so far.
func (f *spineFixture) check(t *testing.T, want sweep.Outcome, calls int) {
	t.Helper()
	got, err := f.visit(t)
	if err != nil || got != want || len(f.inputs) != calls {
		t.Fatalf("outcome %+v, %v, %d calls; want %+v and %d calls", got, err, len(f.inputs), want, calls)
	}
}

// session returns a session of two messages whose summary is that much older than now, the last message an hour more.
func (f *spineFixture) session(id, context, text string, age time.Duration) conversation.Session {
	at := f.now.Add(-age)
	return conversation.Session{
		ID: id, Context: context, CoachID: "mia", Status: conversation.Active, LastSeq: 2, MessageCount: 2,
		LastMessageAt: at.Add(-time.Hour), StartedAt: at.Add(-2 * time.Hour), Summarized: conversation.Watermark{Seq: 2},
		Summary: &conversation.SessionSummary{
			Text: text, Kind: conversation.ByModel, InProgress: true, CoveredThrough: 2, UpdatedAt: at,
		},
	}
}
