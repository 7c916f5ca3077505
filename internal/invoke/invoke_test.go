package invoke_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambda/messages"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/google/go-cmp/cmp"

	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/invoke"
	"github.com/throughline/throughline/internal/prompt"
	"github.com/throughline/throughline/internal/recall"
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
	built, err := invoke.NewPrompts(f, "prompt").
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
		at   []fault.Field
	}{
		{"not found", fault.Missing("session"), fault.NotFound, "session not found", nil},
		{
			"invalid", fault.InvalidField("budget.tokens", "must be at least 256"), fault.Invalid, "the input is not valid",
			[]fault.Field{{Field: "budget.tokens", Message: "must be at least 256"}},
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
			_, err := invoke.NewPrompts(&function{err: crossed}, "prompt").Build(t.Context(), "ann", prompt.Request{})
			got := fault.From(err)
			if got.Code != test.want || got.Message != test.says {
				t.Errorf("got %q %q, want %q %q", got.Code, got.Message, test.want, test.says)
			}
			if diff := cmp.Diff(test.at, got.Fields); diff != "" {
				t.Errorf("fields (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDecodeNamesWhatIsWrong(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, payload, field string }{
		{"unknown field", `{"userId":"ann","mood":"x"}`, "mood"},
		{"wrong kind", `{"userId":"ann","context":7}`, "context"},
		{"a vector of numbers", `{"userId":"ann","ahead":{"embedding":{"vector":[1]}}}`, "ahead.embedding.vector"},
		{"nested unknown field", `{"userId":"ann","budget":{"chars":1}}`, "budget.chars"},
		{"another case", `{"USERID":"ann"}`, "USERID"},
		{"nested, another case", `{"userId":"ann","budget":{"Tokens":256}}`, "budget.Tokens"},
		{"twice", `{"userId":"ann","message":"a","message":"b"}`, "message"},
		{"half a surrogate pair", `{"userId":"ann","message":"\ud83d"}`, "message"},
		{"not UTF-8", "{\"userId\":\"ann\",\"message\":\"\xff\"}", "message"},
		{"a number that would change", `{"userId":"ann","budget":{"tokens":1e999}}`, "budget.tokens"},
		{
			"nested without need",
			`{"userId":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}`,
			"userId" + strings.Repeat("[0]", 7),
		},
		{"two values", `{"userId":"ann"} {}`, ""},
		{"no JSON", `hello`, ""},
		{"no end", strings.Repeat("[", 200_000), ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			err := invoke.Decode([]byte(test.payload), &prompt.Invocation{})
			if !fault.Is(err, fault.Invalid) {
				t.Fatalf("got %v, want an invalid error", err)
			}
			if code := errorType(t, err); code != "invalid" {
				t.Errorf("the function answers with the error type %q", code)
			}
			if fields := fault.From(err).Fields; test.field != "" && (len(fields) != 1 || fields[0].Field != test.field) {
				t.Errorf("got fields %v, want %s", fields, test.field)
			}
		})
	}
}

// errorType returns the errorType of a Lambda function error.
func errorType(t *testing.T, err error) string {
	t.Helper()
	crossed, ok := errors.AsType[messages.InvokeResponse_Error](invoke.Error(err))
	if !ok {
		t.Fatalf("%v does not cross as an error of a function", err)
	}
	return crossed.Type
}

func TestCheckRefusesWhatNoRequestMayHold(t *testing.T) {
	t.Parallel()
	for _, payload := range []string{
		`{"operation":"query","query":"a","query":"b"}`, "{\"\xff\":1}", `{"query":"\ud83d"}`, `{`,
	} {
		if err := invoke.Check([]byte(payload)); !fault.Is(err, fault.Invalid) {
			t.Errorf("%q: %v", payload, err)
		}
	}
	if err := invoke.Check([]byte(`{"operation":"query","anything":{}}`)); err != nil {
		t.Error(err)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"userId":"ann","context":"workout_log","sessionId":"s","message":"hi"}`))
	f.Fuzz(func(t *testing.T, payload []byte) {
		if err := invoke.Decode(payload, &prompt.Invocation{}); err != nil && !fault.Is(err, fault.Invalid) {
			t.Errorf("got %v, want an invalid error", err)
		}
	})
}
