package dynamo

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
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

// DB is one table, which all stores share. It is safe for concurrent use.
type DB struct {
	client API
	table  string
	now    func() time.Time
	random io.Reader
	idle   time.Duration
	// summaryEvery is after how many messages a session asks for a summary.
	summaryEvery int
	// dailyTokens is how many tokens a user may spend in a day, 0 for any number.
	dailyTokens int
	// slots is how many answers of a user may be generated at once, 0 for any number, and longestAnswer how long one takes
	// at most.
	slots         int
	longestAnswer time.Duration

	// countTokens counts the tokens of messages that the app wrote. It is nil where nobody does.
	countTokens func(string) int

	cache  *sessionCache
	stages *stageCache
	locks  *keyedMutex // of the sessions that are being appended to
}

// Option changes how a DB works.
type Option func(*DB)

// WithClock sets the clock for times and expiry. The default is time.Now.
func WithClock(now func() time.Time) Option { return func(db *DB) { db.now = now } }

// WithRandom sets the source of ids and jitter, which has to be safe for concurrent use. The default is crypto/rand.
func WithRandom(r io.Reader) Option { return func(db *DB) { db.random = r } }

// WithIdle sets how long after its first message without a summary a session falls due for the sweep. The default is
// 15 minutes.
func WithIdle(d time.Duration) Option { return func(db *DB) { db.idle = d } }

// WithSummaryEvery sets after how many messages since its summary a session asks for another one. The default is 20.
func WithSummaryEvery(n int) Option { return func(db *DB) { db.summaryEvery = max(1, n) } }

// WithTokens sets what counts the tokens of messages that the app wrote, when they are moved to the shared store.
func WithTokens(count func(string) int) Option { return func(db *DB) { db.countTokens = count } }

const (
	defaultIdle         = 15 * time.Minute
	defaultSummaryEvery = 20
	cachedSessions      = 500
	// operationTimeout bounds an operation that retries because of other writers. It is below the 30 s of the HTTP API.
	operationTimeout = 25 * time.Second
	// settleTimeout bounds the read after an operation that ended without an answer.
	settleTimeout = 2 * time.Second
)

// New returns a DB on a table made from CreateTableInput, or on an app's own table with the same keys and indexes.
func New(client API, table string, options ...Option) *DB {
	db := &DB{
		client: client, table: table, now: time.Now, random: rand.Reader, idle: defaultIdle,
		summaryEvery: defaultSummaryEvery,
		cache:        newSessionCache(cachedSessions), stages: newStageCache(), locks: newKeyedMutex(),
	}
	for _, o := range options {
		o(db)
	}
	return db
}

// errInvalidKey reports a defect of the caller, which has to check ids before it stores records.
var errInvalidKey = errors.New("dynamo: an id does not fit a key")

func field(attribute string) expression.NameBuilder { return expression.Name(attribute) }

func value(v types.AttributeValue) expression.ValueBuilder { return expression.Value(v) }
