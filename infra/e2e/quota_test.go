package e2e_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/throughline/throughline/infra/client"
	"github.com/throughline/throughline/internal/testing/check"
)

// TestDailyTokens has users who may spend a few answers' tokens a day. When they are spent, the chat is refused until
// the day ends, and another user's goes on.
func TestDailyTokens(t *testing.T) {
	t.Parallel()
	stack := startStack(t, "DAILY_TOKENS=2000")
	ann := check.Got(client.New(stack.Base).As(t.Context(), "ann"))(t)
	open(t, ann, "coach_conversation", "s")
	var problem *client.Problem
	answered := 0
	for ; answered < 10 && problem == nil; answered++ {
		var a answer
		err := ann.Chat(t.Context(), map[string]any{"sessionId": "s", "message": swap}, a.read)
		if err != nil && !errors.As(err, &problem) || err == nil && a.Last != "done" {
			t.Fatalf("turn %d ended in %q, %v", answered, a.Last, err)
		}
	}
	if problem == nil || problem.Status != 429 || problem.Code != "rate_limited" {
		t.Fatalf("after %d turns %v, want 429", answered, problem)
	}
	if answered--; answered < 1 {
		t.Errorf("%d turns were answered", answered)
	}
	now := time.Now().UTC()
	left := now.Truncate(24 * time.Hour).Add(24 * time.Hour).Sub(now)
	if wait := problem.RetryAfter; wait < left-time.Minute || wait > left+time.Minute {
		t.Errorf("retry after %v, want the rest of the day, %v", wait, left)
	}
	if n := len(messages(t, ann, "s")); n != 2*answered {
		t.Errorf("%d messages of %d turns", n, answered)
	}
	bob, err := client.New(stack.Base).As(t.Context(), "bob")
	check.OK(t, err)
	open(t, bob, "coach_conversation", "s")
	talk(t, bob, "s", swap)
}

// TestAnswerTokens limits the length of an answer. It ends at the limit, and is stored as the user saw it.
func TestAnswerTokens(t *testing.T) {
	t.Parallel()
	ann := check.Got(client.New(startStack(t, "ANSWER_TOKENS=20", "OPENAI_CHAT_EFFORT=none").Base).As(t.Context(),
		"ann"))(t)
	open(t, ann, "coach_conversation", "s")
	var a answer
	check.OK(t, ann.Chat(t.Context(), map[string]any{"sessionId": "s", "message": swap}, a.read))
	stored := messages(t, ann, "s")
	if a.Last != "done" || a.FinishReason != "length" || len(stored) != 2 || stored[1].Content != a.Text ||
		len(strings.Fields(a.Text)) > 20 {
		t.Errorf("the answer %q ended with %s, %q: %+v", a.Text, a.Last, a.FinishReason, stored)
	}
}
