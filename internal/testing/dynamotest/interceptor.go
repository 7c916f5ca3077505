package dynamotest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go/middleware"
	"pgregory.net/rapid"

	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/testing/dynamodbtest"
)

// Interceptor observes the calls of a client, and makes them fail.
type Interceptor struct {
	// Call runs or fails one remote call. run carries it out.
	Call func(op string, run func() error) error
	// NewTokens makes the engine take each attempt of a transaction for a new one, as when a client token has expired.
	NewTokens bool
	// Token is called with the client token of each transaction, unless it is nil.
	Token func(string)
	// OnQuery changes the answer to a query, unless it is nil.
	OnQuery func(*dynamodb.QueryInput, *dynamodb.QueryOutput)
}

// Intercept returns a client like another one, whose calls go through an interceptor.
func Intercept(client *dynamodb.Client, i Interceptor) *dynamodb.Client {
	return dynamodb.New(client.Options(), func(o *dynamodb.Options) {
		o.APIOptions = append(slices.Clip(o.APIOptions), func(s *middleware.Stack) error {
			return s.Initialize.Add(middleware.InitializeMiddlewareFunc("intercept", i.call), middleware.Before)
		})
	})
}

func (i Interceptor) call(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (
	out middleware.InitializeOutput, metadata middleware.Metadata, err error,
) {
	if transaction, ok := in.Parameters.(*dynamodb.TransactWriteItemsInput); ok {
		if i.NewTokens {
			withoutToken := *transaction
			withoutToken.ClientRequestToken = nil // the client draws a new one
			in.Parameters = &withoutToken
		}
		if i.Token != nil {
			i.Token(aws.ToString(transaction.ClientRequestToken))
		}
	}
	err = i.Call(middleware.GetOperationName(ctx), func() (err error) {
		out, metadata, err = next.HandleInitialize(ctx, in)
		return err
	})
	if query, ok := in.Parameters.(*dynamodb.QueryInput); ok && err == nil && i.OnQuery != nil {
		i.OnQuery(query, out.Result.(*dynamodb.QueryOutput))
	}
	return out, metadata, err
}

// ErrNoAnswer is the error of a lost connection.
var ErrNoAnswer = errors.New("connection reset by peer")

// OpenIntercepted returns the stores of an existing table whose calls go through an interceptor.
func OpenIntercepted(t testing.TB, table string, i Interceptor, options ...dynamo.Option) Stores {
	t.Helper()
	client := Intercept(dynamodbtest.Client(t), i)
	return StoresOf(dynamo.New(client, table, append([]dynamo.Option{Adopting()}, options...)...))
}

// APIOption changes one call of the SDK.
type APIOption = func(*dynamodb.Options)

// PassThrough carries out every call.
func PassThrough(_ string, run func() error) error { return run() }

// CallCounter counts remote calls.
type CallCounter struct {
	mu    sync.Mutex
	calls []string
}

// Call carries out a call and counts it.
func (c *CallCounter) Call(op string, run func() error) error {
	c.mu.Lock()
	c.calls = append(c.calls, op)
	c.mu.Unlock()
	return run()
}

// Take returns the calls since the last take.
func (c *CallCounter) Take() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	calls := c.calls
	c.calls = nil
	return calls
}

// FailingCalls fails the first calls of one operation, each with the next of its errors.
type FailingCalls struct {
	Op   string
	Errs []error
	// CarriedOut says that the calls fail after they were carried out.
	CarriedOut bool

	mu     sync.Mutex
	Failed int
}

// Call carries out a call, or fails it.
func (f *FailingCalls) Call(op string, run func() error) error {
	err := f.next(op)
	if err == nil || f.CarriedOut {
		if err := run(); err != nil {
			return err
		}
	}
	return err
}

// next returns the error of the next call, or nil where it does not fail.
func (f *FailingCalls) next(op string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if op != f.Op || f.Failed == len(f.Errs) {
		return nil
	}
	f.Failed++
	return f.Errs[f.Failed-1]
}

// Failure is what happens to one remote call. Later constants override earlier ones.
type Failure int

const (
	NoFailure Failure = iota
	RequestLost
	AnswerLost
	Conflict      // of a write with a transaction
	mixedConflict // of a transaction whose conditions fail for now
	stillRunning  // a transaction that is carried out, and whose repetition comes too soon
	CrashBefore
	CrashAfter
)

// ErrCrash is the error of the remote call at which a process crashed, and of each call after it.
var ErrCrash = errors.New("the process crashed")

// The remote calls by their names: those of the table as API calls them, and all of the vector index.
const (
	Transact   = "TransactWriteItems"
	BatchGet   = "BatchGetItem"
	BatchWrite = "BatchWriteItem"
	QueryCall  = "Query"
	UpdateItem = "UpdateItem"
	DeleteItem = "DeleteItem"
	IndexCall  = "index"
)

// Apply carries out a call, where the failure allows it, and returns the error that the process gets. Reads and calls
// of the index do not meet transactions.
func (f Failure) Apply(op string, run func() error) error {
	isRead, isTransaction := op == QueryCall || op == BatchGet, op == Transact
	switch {
	case f == RequestLost:
		return ErrNoAnswer
	case f == CrashBefore:
		return ErrCrash
	case f == CrashAfter:
		_ = run()
		return ErrCrash
	case isRead && f != AnswerLost, op == IndexCall && (f == Conflict || f == mixedConflict):
		return run()
	case f == Conflict && !isTransaction, f == mixedConflict && !isTransaction:
		return &types.TransactionConflictException{}
	case f == Conflict:
		return TransactionCancelled("None", "TransactionConflict")
	case f == mixedConflict:
		return TransactionCancelled("ConditionalCheckFailed", "TransactionConflict", "ConditionalCheckFailed")
	}
	err := run()
	switch {
	case err != nil || f == NoFailure:
		return err
	case f == stillRunning && isTransaction:
		return &types.TransactionInProgressException{}
	}
	return ErrNoAnswer
}

// DrawFailure draws one of the failures from first on.
func DrawFailure(rt *rapid.T, first Failure) Failure {
	return Failure(rapid.IntRange(int(first), int(CrashAfter)).Draw(rt, "failure"))
}

// TransactionCancelled is DynamoDB's error for a cancelled transaction, with one reason for each of its items.
func TransactionCancelled(codes ...string) error {
	reasons := make([]types.CancellationReason, len(codes))
	for i, c := range codes {
		reasons[i].Code = aws.String(c)
	}
	return &types.TransactionCanceledException{CancellationReasons: reasons}
}

// IsUnanswered reports whether a client can't tell from the error whether its call was carried out.
func IsUnanswered(err error) bool {
	return fault.Is(err, fault.Unavailable) || errors.Is(err, ErrCrash) || errors.Is(err, ErrNoAnswer)
}
