package dynamo_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/throughline/throughline/infra/local/dynamodblocal/dynamodbtest"
	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/dynamo/dynamotest"
	"github.com/throughline/throughline/internal/storetest"
)

// seam stands between the store and the engine and decides what becomes of each remote call.
type seam struct {
	api dynamo.API
	// call runs or fails one remote call; run carries it out.
	call func(op string, run func() error) error
	// forgetful makes the engine take each attempt of a transaction for a new one, as it does when a token has lapsed.
	forgetful bool
	// query, where set, changes what a query answers.
	query func(*dynamodb.QueryInput, *dynamodb.QueryOutput)
}

var _ dynamo.API = (*seam)(nil)

// errNoAnswer is what a lost connection looks like.
var errNoAnswer = errors.New("connection reset by peer")

// through passes one call through the seam.
func through[I, O any](s *seam, ctx context.Context, op string, in I, do func(context.Context, I, ...func(*dynamodb.Options)) (*O, error)) (out *O, err error) {
	err = s.call(op, func() (err error) {
		out, err = do(ctx, in)
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

func (s *seam) BatchGetItem(ctx context.Context, in *dynamodb.BatchGetItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error) {
	return through(s, ctx, "BatchGetItem", in, s.api.BatchGetItem)
}

func (s *seam) Query(ctx context.Context, in *dynamodb.QueryInput, _ ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	out, err := through(s, ctx, "Query", in, s.api.Query)
	if err == nil && s.query != nil {
		s.query(in, out)
	}
	return out, err
}

func (s *seam) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	return through(s, ctx, "UpdateItem", in, s.api.UpdateItem)
}

func (s *seam) DeleteItem(ctx context.Context, in *dynamodb.DeleteItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error) {
	return through(s, ctx, "DeleteItem", in, s.api.DeleteItem)
}

func (s *seam) BatchWriteItem(ctx context.Context, in *dynamodb.BatchWriteItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.BatchWriteItemOutput, error) {
	return through(s, ctx, "BatchWriteItem", in, s.api.BatchWriteItem)
}

func (s *seam) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, _ ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	if s.forgetful {
		anew := *in
		anew.ClientRequestToken = nil // the client draws one
		in = &anew
	}
	return through(s, ctx, "TransactWriteItems", in, s.api.TransactWriteItems)
}

// counter counts remote calls.
type counter struct {
	mu    sync.Mutex
	calls []string
}

func (c *counter) call(op string, run func() error) error {
	c.mu.Lock()
	c.calls = append(c.calls, op)
	c.mu.Unlock()
	return run()
}

// take returns the calls since the last take.
func (c *counter) take() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	calls := c.calls
	c.calls = nil
	return calls
}

// script fails the first calls with its errors, after carrying them out where lost says so.
type script struct {
	op     string
	errs   []error
	lost   bool
	failed int
}

func (s *script) call(op string, run func() error) error {
	if op != s.op || s.failed == len(s.errs) {
		return run()
	}
	s.failed++
	if s.lost {
		if err := run(); err != nil {
			return err
		}
	}
	return s.errs[s.failed-1]
}

// cancelled is a transaction that DynamoDB gave up for these reasons.
func cancelled(codes ...string) error {
	reasons := make([]types.CancellationReason, len(codes))
	for i, c := range codes {
		reasons[i].Code = aws.String(c)
	}
	return &types.TransactionCanceledException{CancellationReasons: reasons}
}

// withSeam returns a store on an existing table behind a seam.
func withSeam(t testing.TB, table string, seam seam, options ...dynamo.Option) storetest.Stores {
	t.Helper()
	seam.api = dynamodbtest.Client(t)
	return dynamotest.Stores(dynamo.New(&seam, table, options...))
}
