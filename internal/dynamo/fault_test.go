package dynamo_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/testing/dynamotest"
)

// contents returns the contents of a session's messages of alice, read with a new store.
func contents(t *testing.T, table, id string) []string {
	t.Helper()
	return contentsFor(t, table, alice, id)
}

// contentsFor returns those of a session of a user.
func contentsFor(t *testing.T, table string, user conversation.UserID, id string) []string {
	t.Helper()
	s := dynamotest.Open(t, table, dynamotest.FixedClock())
	messages, _, err := s.Messages.Messages(t.Context(), user, id, conversation.Page{Limit: 200})
	check.OK(t, err)
	out := make([]string, len(messages))
	for i, m := range messages {
		out[i] = m.Content
		if m.Seq != i+1 {
			t.Errorf("message %d has seq %d", i+1, m.Seq)
		}
	}
	return out
}

// TestClientTokens checks that a transaction is repeated with the token of an attempt that may have been carried out,
// and with a new token after an attempt that was not: DynamoDB answers a repeated token with the attempt's outcome.
func TestClientTokens(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err  error
		same bool
	}{
		"no answer":    {dynamotest.ErrNoAnswer, true},
		"server error": {&types.InternalServerError{}, true},
		"conflict":     {dynamotest.TransactionCancelled("TransactionConflict"), false},
		"throttled":    {&types.ThrottlingException{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			table := dynamotest.Table(t)
			dynamotest.NewSession(t, dynamotest.Open(t, table), alice, "coach_conversation", "a", "x")
			calls := dynamotest.FailingCalls{Op: "TransactWriteItems", Errs: []error{c.err}}
			var tokens []string
			s := dynamotest.OpenIntercepted(t, table, dynamotest.Interceptor{Call: calls.Call, Token: func(token string) {
				tokens = append(tokens, token)
			}})
			check.Got(s.Messages.Append(t.Context(), alice, dynamotest.OneMessage("a", "y")))(t)
			if len(tokens) != 2 || tokens[0] == "" || (tokens[0] == tokens[1]) != c.same {
				t.Errorf("tokens %q", tokens)
			}
		})
	}
}

// TestPersistentFailures checks the errors of calls that go on to fail: Unavailable where a repeat may succeed, and
// Internal, without a repeat, where it can't.
func TestPersistentFailures(t *testing.T) {
	t.Parallel()
	table := dynamotest.Table(t)
	dynamotest.NewSession(t, dynamotest.Open(t, table), alice, "coach_conversation", "a", "x")
	for name, cause := range map[string]error{
		"no answer": dynamotest.ErrNoAnswer, "throttled": &types.ThrottlingException{},
		"server": &types.InternalServerError{},
	} {
		s := dynamotest.OpenIntercepted(t, table,
			dynamotest.Interceptor{Call: func(string, func() error) error { return cause }})
		_, read := s.Sessions.Session(t.Context(), alice, "a")
		_, write := s.Profiles.Put(t.Context(), alice, longterm.Profile{Name: "x"})
		for op, err := range map[string]error{"read": read, "write": write} {
			f := fault.From(err)
			if f == nil || f.Code != fault.Unavailable || f.RetryAfter <= 0 || !errors.Is(err, cause) {
				t.Errorf("%s, %s: %v", name, op, err)
			}
		}
	}
	calls := 0
	s := dynamotest.OpenIntercepted(t, table, dynamotest.Interceptor{Call: func(string, func() error) error {
		calls++
		return &types.ResourceNotFoundException{}
	}})
	checkFault(t, errorOf(s.Sessions.Session(t.Context(), alice, "a")), fault.Internal, "read without a table")
	calls = 0
	if _, err := s.Profiles.Put(t.Context(), alice, longterm.Profile{}); !fault.Is(err, fault.Internal) || calls != 1 {
		t.Errorf("write without a table: %v after %d calls, want 1 call", err, calls)
	}
}

// TestAppendDeadline checks that an append which only meets conflicts ends with its context.
func TestAppendDeadline(t *testing.T) {
	t.Parallel()
	table := dynamotest.Table(t)
	dynamotest.NewSession(t, dynamotest.Open(t, table), alice, "coach_conversation", "a", "x")
	s := dynamotest.OpenIntercepted(t, table, dynamotest.Interceptor{Call: func(op string, run func() error) error {
		if op == "TransactWriteItems" {
			return dynamotest.TransactionCancelled("TransactionConflict")
		}
		return run()
	}})
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, err := s.Messages.Append(ctx, alice, dynamotest.OneMessage("a", "x"))
	if !fault.Is(err, fault.Unavailable) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("append past its deadline: %v", err)
	}
}
