package dynamo_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo/dynamotest"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/longterm"
)

// contents reads a whole session through a store of its own.
func contents(t *testing.T, table, id string) []string {
	t.Helper()
	s := dynamotest.Open(t, table, atNow())
	messages, _, err := s.Messages.Messages(t.Context(), alice, id, conversation.Page{Limit: 200})
	if err != nil {
		t.Fatal(err)
	}
	out := make([]string, len(messages))
	for i, m := range messages {
		out[i] = m.Content
		if m.Seq != i+1 {
			t.Errorf("message %d has seq %d", i+1, m.Seq)
		}
	}
	return out
}

// TestAppendOnceWhateverTheAnswer holds that an append is stored once when calls fail, are throttled, meet other
// transactions, or are carried out without an answer, with and without an idempotency key.
func TestAppendOnceWhateverTheAnswer(t *testing.T) {
	throttle := &types.ProvisionedThroughputExceededException{}
	scripts := map[string]script{
		"no answer, not carried out": {errs: []error{errNoAnswer, errNoAnswer}},
		"no answer, carried out":     {errs: []error{errNoAnswer}, lost: true},
		"server error, carried out":  {errs: []error{&types.InternalServerError{}}, lost: true},
		"lost twice":                 {errs: []error{errNoAnswer, errNoAnswer}, lost: true},
		"lost, then conflict":        {errs: []error{errNoAnswer, cancelled("TransactionConflict", "None")}, lost: true},
		"throttled":                  {errs: []error{throttle, throttle, cancelled("ThrottlingError", "None")}},
		"conflicts": {errs: []error{
			cancelled("TransactionConflict"), cancelled("None", "TransactionConflict"), cancelled("TransactionConflict"),
		}},
	}
	for name, sc := range scripts {
		for _, mode := range []struct {
			key       string
			forgetful bool
		}{{"", false}, {"k", false}, {"", true}, {"k", true}} {
			t.Run(fmt.Sprintf("%s/%+v", name, mode), func(t *testing.T) {
				table := dynamotest.Table(t)
				plain := dynamotest.Open(t, table, atNow())
				newSession(t, plain, alice, "coach_conversation", "a", "before")
				sc.op = "TransactWriteItems"
				sc := sc
				s := withSeam(t, table, seam{call: sc.call, forgetful: mode.forgetful}, atNow())
				out, err := s.Messages.Append(t.Context(), alice, conversation.Append{
					SessionID: "a", Messages: []conversation.NewMessage{{Role: conversation.User, Content: "x"}},
					Idempotency: conversation.Idempotency{Scope: "s", Key: mode.key, BodyHash: "h"},
				})
				if err != nil || len(out.Messages) != 1 || out.Messages[0].Seq != 2 || out.Session.MessageCount != 2 {
					t.Fatalf("append: %+v, %v", out, err)
				}
				if diff := cmp.Diff([]string{"before", "x"}, contents(t, table, "a")); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		}
	}
}

func TestLastingTroubleIsUnavailable(t *testing.T) {
	table := dynamotest.Table(t)
	newSession(t, dynamotest.Open(t, table), alice, "coach_conversation", "a", "x")
	for name, cause := range map[string]error{
		"no answer": errNoAnswer, "throttled": &types.ThrottlingException{}, "server": &types.InternalServerError{},
	} {
		s := withSeam(t, table, seam{call: func(string, func() error) error { return cause }})
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
	s := withSeam(t, table, seam{call: func(string, func() error) error {
		calls++
		return &types.ResourceNotFoundException{}
	}})
	if _, err := s.Sessions.Session(t.Context(), alice, "a"); !fault.Is(err, fault.Internal) {
		t.Errorf("no table: %v", err)
	}
	calls = 0
	if _, err := s.Profiles.Put(t.Context(), alice, longterm.Profile{}); !fault.Is(err, fault.Internal) || calls != 1 {
		t.Errorf("write without a table: %v after %d calls, want 1 call", err, calls)
	}
}

func TestADeadlineEndsAnAppend(t *testing.T) {
	table := dynamotest.Table(t)
	newSession(t, dynamotest.Open(t, table), alice, "coach_conversation", "a", "x")
	s := withSeam(t, table, seam{call: func(op string, run func() error) error {
		if op == "TransactWriteItems" {
			return cancelled("TransactionConflict")
		}
		return run()
	}})
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, err := s.Messages.Append(ctx, alice, conversation.Append{SessionID: "a", Messages: []conversation.NewMessage{{Role: conversation.User, Content: "x"}}})
	if !fault.Is(err, fault.Unavailable) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("append past its deadline: %v", err)
	}
}
