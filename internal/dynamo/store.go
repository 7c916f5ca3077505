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

	"github.com/throughline/throughline/internal/conversation"
)

// API is what the store calls of DynamoDB; *dynamodb.Client has it.
type API interface {
	BatchGetItem(context.Context, *dynamodb.BatchGetItemInput, ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error)
	Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
	UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error)
	DeleteItem(context.Context, *dynamodb.DeleteItemInput, ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error)
	BatchWriteItem(context.Context, *dynamodb.BatchWriteItemInput, ...func(*dynamodb.Options)) (*dynamodb.BatchWriteItemOutput, error)
	TransactWriteItems(context.Context, *dynamodb.TransactWriteItemsInput, ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error)
}

// Store keeps everything in one table. It is safe for concurrent use; one is made at start-up and shared.
type Store struct {
	client API
	table  string
	now    func() time.Time
	random io.Reader
	idle   time.Duration
	known  *memo
	turns  *turnstile
}

var (
	_ conversation.SessionStore = (*Store)(nil)
	_ conversation.MessageStore = (*Store)(nil)
)

// Option changes how a Store works.
type Option func(*Store)

// WithClock sets the clock that times and expiry are taken from; time.Now by default.
func WithClock(now func() time.Time) Option { return func(s *Store) { s.now = now } }

// WithRandom sets where ids and jitter come from, which has to be safe for concurrent use; crypto/rand by default.
func WithRandom(r io.Reader) Option { return func(s *Store) { s.random = r } }

// WithIdle sets how long after its first uncovered message a session falls due for the sweep; 15 minutes by default.
func WithIdle(d time.Duration) Option { return func(s *Store) { s.idle = d } }

const (
	defaultIdle      = 15 * time.Minute
	knownSessions    = 500
	idempotencyLife  = 24 * time.Hour
	freshLife        = 15 * time.Minute
	operationTimeout = 25 * time.Second // below the HTTP API's 30 s, which bounds a call that races with others
)

// New returns a store on an existing table made from CreateTableInput, or an app's own with the same keys and
// indexes.
func New(client API, table string, options ...Option) *Store {
	s := &Store{
		client: client, table: table, now: time.Now, random: rand.Reader, idle: defaultIdle,
		known: newMemo(knownSessions), turns: newTurnstile(),
	}
	for _, o := range options {
		o(s)
	}
	return s
}

// errBadKey is a defect of the caller's: ids are checked before they reach a record.
var errBadKey = errors.New("dynamo: an id does not fit a key")

func field(attribute string) expression.NameBuilder { return expression.Name(attribute) }

func value(v types.AttributeValue) expression.ValueBuilder { return expression.Value(v) }
