package table

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// API lists the DynamoDB calls that a DB makes. *dynamodb.Client implements it.
type API interface {
	BatchGetItem(context.Context, *dynamodb.BatchGetItemInput, ...func(*dynamodb.Options),
	) (*dynamodb.BatchGetItemOutput, error)
	Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
	UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error)
	DeleteItem(context.Context, *dynamodb.DeleteItemInput, ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error)
	BatchWriteItem(context.Context, *dynamodb.BatchWriteItemInput, ...func(*dynamodb.Options),
	) (*dynamodb.BatchWriteItemOutput, error)
	TransactWriteItems(context.Context, *dynamodb.TransactWriteItemsInput, ...func(*dynamodb.Options),
	) (*dynamodb.TransactWriteItemsOutput, error)
}

// Table is the one table, with the clock and the random numbers of its writes. It is safe for concurrent use.
type Table struct {
	Client API
	Name   string
	Now    func() time.Time
	Random io.Reader
}

// NewTable returns the table of that name.
func NewTable(client API, name string) *Table {
	return &Table{Client: client, Name: name, Now: time.Now, Random: rand.Reader}
}

const (
	// OperationTimeout bounds an operation that retries because of other writers. It is below the 30 s of the HTTP API.
	OperationTimeout = 25 * time.Second
	// settleTimeout bounds the read after an operation that ended without an answer.
	settleTimeout = 2 * time.Second
)

// ErrInvalidKey reports a defect of the caller, which has to check ids before it stores records.
var ErrInvalidKey = errors.New("dynamo: an id does not fit a key")

// Field is an attribute in an expression, by its path.
func Field(attribute string) expression.NameBuilder { return expression.Name(attribute) }

// Value is a value in an expression.
func Value(v any) expression.ValueBuilder { return expression.Value(Attr(v)) }

// ScanItems is how many records a call of a scan reads at most. DynamoDB ends a page at 1 MB in any case, which is
// about as many messages. Without a limit DynamoDB Local reads the whole rest of a segment for each page.
const ScanItems = 2000
