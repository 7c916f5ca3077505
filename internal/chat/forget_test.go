package chat_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/throughline/throughline/internal/chat"
	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/llm"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/testing/check"
)

// Forget deletes what is chosen of the fake's memories.
func (f *fake) Forget(_ context.Context, _ conversation.UserID, _ string,
	choose func([]longterm.Memory) []longterm.Memory,
) (int, error) {
	chosen := choose(slices.Clone(f.memories))
	f.memories = slices.DeleteFunc(f.memories, func(m longterm.Memory) bool {
		return slices.ContainsFunc(chosen, func(c longterm.Memory) bool { return c.ID == m.ID })
	})
	return len(chosen), f.forgetErr
}

// TestForgetTool lets the model forget what the user asks to forget. The receipt has no words of it.
func TestForgetTool(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		message, query string
		err            error
		left           int
		want           string
	}{
		"one fact":     {"Please forget my peanut allergy.", "peanut allergy", nil, 6, `"forgotten":1`},
		"the user's":   {"Forget that I'm allergic to peanuts.", "I'm allergic to peanuts", nil, 6, `"forgotten":1`},
		"another's":    {"Forget Leo's peanut allergy.", "Leo's peanut allergy", nil, 6, `"forgotten":1`},
		"whose":        {"Forget the asthma.", "asthma", nil, 7, `"matches":2,"note":"ask which one`},
		"of two sons":  {"Forget my son's asthma.", "my son's asthma", nil, 7, `"matches":2,"note":"ask which one`},
		"several":      {"Forget the knee.", "knee", nil, 7, `"matches":3`},
		"nothing":      {"Forget my boat.", "boat", nil, 7, "nothing that is remembered matches"},
		"not asked":    {"I can eat peanuts.", "peanut allergy", nil, 7, "has not asked"},
		"a store down": {"Forget my peanut allergy.", "peanut allergy", errors.New("down"), 6, "not known whether"},
		"no text":      {"Forget that.", "", nil, 7, "must be a text"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake()
			f.memories, f.forgetErr = []longterm.Memory{
				{ID: "1", Content: "The user is allergic to peanuts."},
				{ID: "2", Content: "The user has a bad knee."},
				{ID: "3", Content: "The user had knee surgery."},
				{ID: "4", Content: "The user's father has a new knee."},
				{ID: "5", Content: "The user's son Leo is allergic to peanuts.", About: "Leo, the user's son"},
				{ID: "6", Content: "Leo has asthma.", About: "Leo, the user's son"},
				{ID: "7", Content: "Tim has asthma.", About: "Tim, the user's son"},
			}, tt.err
			arguments := check.Got(json.Marshal(map[string]string{"query": tt.query}))(t)
			f.model = callsTool(llm.ToolCall{ID: "c1", Name: "forget", Arguments: string(arguments)})
			answer := check.Got(f.service().Start(t.Context(), "ann", chat.Request{SessionID: "s", Message: tt.message}))(t)
			for range answer.Events {
				continue
			}
			asked := f.asked[1].Messages
			receipt := asked[len(asked)-1].Content
			if !json.Valid([]byte(receipt)) || !strings.Contains(receipt, tt.want) || len(f.memories) != tt.left {
				t.Errorf("%d memories are left, and the receipt is %s", len(f.memories), receipt)
			}
			if strings.Contains(receipt, "peanut") || strings.Contains(receipt, "knee") {
				t.Errorf("the receipt has words of the fact: %s", receipt)
			}
		})
	}
}

// callsTool is a model that calls a tool and then answers.
func callsTool(call llm.ToolCall) func(context.Context, llm.Request, func(string) error) (llm.Completion, error) {
	round := 0
	return func(_ context.Context, _ llm.Request, emit func(string) error) (llm.Completion, error) {
		if round++; round == 1 {
			return llm.Completion{ToolCalls: []llm.ToolCall{call}}, nil
		}
		return llm.Completion{FinishReason: "stop"}, emit("Done.")
	}
}
