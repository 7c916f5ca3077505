package dynamo_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"pgregory.net/rapid"

	"github.com/throughline/throughline/infra/local/dynamodblocal/dynamodbtest"
	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/dynamo/dynamotest"
	"github.com/throughline/throughline/internal/storetest"
)

// interceptor is an API that a test can observe and make fail.
type interceptor struct {
	api dynamo.API
	// call runs or fails one remote call. run carries it out.
	call func(op string, run func() error) error
	// newTokens makes the engine take each attempt of a transaction for a new one, as when a client token has expired.
	newTokens bool
	// token is called with the client token of each transaction, unless it is nil.
	token func(string)
	// query changes the answer to a query, unless it is nil.
	query func(*dynamodb.QueryInput, *dynamodb.QueryOutput)
}

var _ dynamo.API = (*interceptor)(nil)

// errNoAnswer is the error of a lost connection.
var errNoAnswer = errors.New("connection reset by peer")

// openIntercepted returns the stores of an existing table whose calls go through an interceptor.
func openIntercepted(t testing.TB, table string, i interceptor, options ...dynamo.Option) storetest.Stores {
	t.Helper()
	i.api = dynamodbtest.Client(t)
	return dynamotest.Stores(dynamo.New(&i, table, options...))
}

// apiOptions change one call of the SDK.
type apiOptions = func(*dynamodb.Options)

func intercept[I, O any](
	i *interceptor, ctx context.Context, op string, in I, do func(context.Context, I, ...apiOptions) (*O, error),
	options []apiOptions,
) (out *O, err error) {
	err = i.call(op, func() (err error) {
		out, err = do(ctx, in, options...)
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

func (i *interceptor) BatchGetItem(ctx context.Context, in *dynamodb.BatchGetItemInput, o ...apiOptions,
) (*dynamodb.BatchGetItemOutput, error) {
	return intercept(i, ctx, batchGet, in, i.api.BatchGetItem, o)
}

func (i *interceptor) Query(ctx context.Context, in *dynamodb.QueryInput, o ...apiOptions,
) (*dynamodb.QueryOutput, error) {
	out, err := intercept(i, ctx, queryCall, in, i.api.Query, o)
	if err == nil && i.query != nil {
		i.query(in, out)
	}
	return out, err
}

func (i *interceptor) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, o ...apiOptions,
) (*dynamodb.UpdateItemOutput, error) {
	return intercept(i, ctx, updateItem, in, i.api.UpdateItem, o)
}

func (i *interceptor) DeleteItem(ctx context.Context, in *dynamodb.DeleteItemInput, o ...apiOptions,
) (*dynamodb.DeleteItemOutput, error) {
	return intercept(i, ctx, deleteItem, in, i.api.DeleteItem, o)
}

func (i *interceptor) BatchWriteItem(ctx context.Context, in *dynamodb.BatchWriteItemInput, o ...apiOptions,
) (*dynamodb.BatchWriteItemOutput, error) {
	return intercept(i, ctx, batchWrite, in, i.api.BatchWriteItem, o)
}

func (i *interceptor) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, o ...apiOptions,
) (*dynamodb.TransactWriteItemsOutput, error) {
	if i.newTokens {
		withoutToken := *in
		withoutToken.ClientRequestToken = nil // the client draws a new one
		in = &withoutToken
	}
	if i.token != nil {
		i.token(aws.ToString(in.ClientRequestToken))
	}
	return intercept(i, ctx, transact, in, i.api.TransactWriteItems, o)
}

// passThrough carries out every call.
func passThrough(_ string, run func() error) error { return run() }

// callCounter counts remote calls.
type callCounter struct {
	mu    sync.Mutex
	calls []string
}

func (c *callCounter) call(op string, run func() error) error {
	c.mu.Lock()
	c.calls = append(c.calls, op)
	c.mu.Unlock()
	return run()
}

// take returns the calls since the last take.
func (c *callCounter) take() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	calls := c.calls
	c.calls = nil
	return calls
}

// failingCalls fails the first calls of one operation, each with the next of its errors.
type failingCalls struct {
	op   string
	errs []error
	// carriedOut says that the calls fail after they were carried out.
	carriedOut bool

	mu     sync.Mutex
	failed int
}

func (f *failingCalls) call(op string, run func() error) error {
	err := f.next(op)
	if err == nil || f.carriedOut {
		if err := run(); err != nil {
			return err
		}
	}
	return err
}

// next returns the error of the next call, or nil where it does not fail.
func (f *failingCalls) next(op string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if op != f.op || f.failed == len(f.errs) {
		return nil
	}
	f.failed++
	return f.errs[f.failed-1]
}

// failure is what happens to one remote call. Later constants override earlier ones.
type failure int

const (
	noFailure failure = iota
	requestLost
	answerLost
	conflict      // of a write with a transaction
	mixedConflict // of a transaction whose conditions fail for now
	stillRunning  // a transaction that is carried out, and whose repetition comes too soon
	crashBefore
	crashAfter
)

// errCrash is the error of the remote call at which a process crashed, and of each call after it.
var errCrash = errors.New("the process crashed")

// The remote calls by their names: those of the table as API calls them, and all of the vector index.
const (
	transact   = "TransactWriteItems"
	batchGet   = "BatchGetItem"
	batchWrite = "BatchWriteItem"
	queryCall  = "Query"
	updateItem = "UpdateItem"
	deleteItem = "DeleteItem"
	indexCall  = "index"
)

// apply carries out a call, where the failure allows it, and returns the error that the process gets. Reads and calls
// of the index do not meet transactions.
func (f failure) apply(op string, run func() error) error {
	isRead, isTransaction := op == queryCall || op == batchGet, op == transact
	switch {
	case f == requestLost:
		return errNoAnswer
	case f == crashBefore:
		return errCrash
	case f == crashAfter:
		_ = run()
		return errCrash
	case isRead && f != answerLost, op == indexCall && (f == conflict || f == mixedConflict):
		return run()
	case f == conflict && !isTransaction, f == mixedConflict && !isTransaction:
		return &types.TransactionConflictException{}
	case f == conflict:
		return transactionCancelled("None", "TransactionConflict")
	case f == mixedConflict:
		return transactionCancelled("ConditionalCheckFailed", "TransactionConflict", "ConditionalCheckFailed")
	}
	err := run()
	switch {
	case err != nil || f == noFailure:
		return err
	case f == stillRunning && isTransaction:
		return &types.TransactionInProgressException{}
	}
	return errNoAnswer
}

// drawFailure draws one of the failures from first on.
func drawFailure(rt *rapid.T, first failure) failure {
	return failure(rapid.IntRange(int(first), int(crashAfter)).Draw(rt, "failure"))
}

// transactionCancelled is DynamoDB's error for a cancelled transaction, with one reason for each of its items.
func transactionCancelled(codes ...string) error {
	reasons := make([]types.CancellationReason, len(codes))
	for i, c := range codes {
		reasons[i].Code = aws.String(c)
	}
	return &types.TransactionCanceledException{CancellationReasons: reasons}
}
