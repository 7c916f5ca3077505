package invoke_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/lambda/messages"

	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/invoke"
	"github.com/throughline/throughline/internal/prompt"
	"github.com/throughline/throughline/internal/testing/check"
)

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
			check.Equal(t, "invalid", errorType(t, err), "the function answers with the error type")
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
		check.Fault(t, invoke.Check([]byte(payload)), fault.Invalid, "%q", payload)
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
