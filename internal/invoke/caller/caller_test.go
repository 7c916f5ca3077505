package caller_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/google/go-cmp/cmp"

	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/invoke"
	"github.com/throughline/throughline/internal/invoke/caller"
	"github.com/throughline/throughline/internal/prompt"
	"github.com/throughline/throughline/internal/recall"
	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/vector"
)

// function is a fake Lambda service with one function, which returns result or err.
type function struct {
	result any
	err    error
	got    json.RawMessage
}

func (f *function) Invoke(
	_ context.Context, in *lambda.InvokeInput, _ ...func(*lambda.Options),
) (*lambda.InvokeOutput, error) {
	f.got = in.Payload
	if f.err == nil {
		payload, err := json.Marshal(f.result)
		return &lambda.InvokeOutput{Payload: payload}, err
	}
	unhandled := "Unhandled"
	payload, err := json.Marshal(f.err)
	return &lambda.InvokeOutput{Payload: payload, FunctionError: &unhandled}, err
}

func TestBuildSendsTheRequestWithItsUser(t *testing.T) {
	t.Parallel()
	f := &function{result: prompt.Prompt{ID: "prm_1", System: "be kind"}}
	ahead := &prompt.Ahead{
		Embedding:  &recall.Embedding{Model: "small@2", Vector: vector.Dense{0.6, -0.8}, Took: 61 * time.Millisecond},
		Generation: 3,
	}
	built, err := caller.NewPrompts(f, "prompt").
		Build(t.Context(), "ann", prompt.Request{Context: "workout_log", SkipSave: true, Ahead: ahead})
	if err != nil || built.ID != "prm_1" || built.System != "be kind" {
		t.Fatalf("got %+v, %v", built, err)
	}
	var sent prompt.Invocation
	if err := invoke.Decode(f.got, &sent); err != nil {
		t.Fatalf("the function cannot read %s: %v", f.got, err)
	}
	if sent.UserID != "ann" || !sent.SkipSave || sent.Context != "workout_log" ||
		!cmp.Equal(ahead, sent.Ahead) {
		t.Errorf("sent %s", f.got)
	}
}

// TestErrorsCross checks that a caller gets the code, message and fields of an error and nothing else.
func TestErrorsCross(t *testing.T) {
	t.Parallel()
	secret := errors.New("table tl-prod is on fire")
	tests := []struct {
		name string
		err  error
		want fault.Code
		says string
		at   fault.Problems
	}{
		{"not found", fault.Missing("session"), fault.NotFound, "session not found", nil},
		{
			"invalid", fault.InvalidField("budget.tokens", "must be at least 256"), fault.Invalid, "the input is not valid",
			fault.Problems{{Field: "budget.tokens", Message: "must be at least 256"}},
		},
		{"unavailable", fault.Wrap(fault.Unavailable, "query", secret), fault.Unavailable, "unavailable", nil},
		{"internal", secret, fault.Unavailable, "the prompt could not be built now", nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			crossed := invoke.Error(test.err)
			if strings.Contains(crossed.Error(), secret.Error()) {
				t.Error("the cause crossed")
			}
			_, err := caller.NewPrompts(&function{err: crossed}, "prompt").Build(t.Context(), "ann", prompt.Request{})
			got := fault.From(err)
			if got.Code != test.want || got.Message != test.says {
				t.Errorf("got %q %q, want %q %q", got.Code, got.Message, test.want, test.says)
			}
			check.Same(t, test.at, got.Fields, "fields")
		})
	}
}
