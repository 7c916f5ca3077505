package function_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/lambda/messages"

	"github.com/throughline/throughline/internal/function"
)

// TestDirectAnswersFitLambda answers a direct invocation with the most that Lambda returns, and with one byte more,
// which is an error with a code.
func TestDirectAnswersFitLambda(t *testing.T) {
	t.Parallel()
	for _, over := range []int{0, 1} {
		answer := strings.Repeat("x", 6<<20-2+over)
		handler := function.Direct(func(context.Context, json.RawMessage) (any, error) { return answer, nil })
		out, err := handler(t.Context(), nil)
		var failed messages.InvokeResponse_Error
		if over == 0 && (err != nil || len(out.(json.RawMessage)) != 6<<20) ||
			over == 1 && (!errors.As(err, &failed) || failed.Type != "too_large") {
			t.Errorf("%d bytes over: %v", over, err)
		}
	}
}
