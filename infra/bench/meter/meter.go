package meter

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/throughline/throughline/infra/bench/capacity"
)

// API is what a meter measures of DynamoDB; *dynamodb.Client has it.
type API interface {
	GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
	BatchGetItem(context.Context, *dynamodb.BatchGetItemInput, ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error)
	Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
	PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error)
	UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error)
	DeleteItem(context.Context, *dynamodb.DeleteItemInput, ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error)
	BatchWriteItem(context.Context, *dynamodb.BatchWriteItemInput, ...func(*dynamodb.Options)) (*dynamodb.BatchWriteItemOutput, error)
	TransactWriteItems(context.Context, *dynamodb.TransactWriteItemsInput, ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error)
}

// Usage is what one operation took.
type Usage struct {
	Calls int
	Units capacity.Units
	// Wall is the operation's own time; what the meter reads for its books is not in it.
	Wall time.Duration
}

// Meter is an API that counts. It may be called concurrently by one operation, but measures one at a time.
type Meter struct {
	client API
	tables map[string]capacity.Table

	mu      sync.Mutex
	images  map[string]capacity.Item // every record as it stands, by its id
	pending []call                   // not in the books yet
	usage   Usage
	err     error // the first call that cannot be accounted for
}

var _ API = (*Meter)(nil)

// New returns a meter for tables that are empty and that nothing else writes to.
func New(client API, tables ...*dynamodb.CreateTableInput) *Meter {
	m := &Meter{client: client, tables: map[string]capacity.Table{}, images: map[string]capacity.Item{}}
	for _, in := range tables {
		t := capacity.TableOf(in)
		m.tables[t.Name] = t
	}
	return m
}

// Measure runs an operation and returns what it took. Its error is the operation's, or says that the meter met a call
// which it cannot account for: then no later measurement counts either.
func (m *Meter) Measure(ctx context.Context, operation func(context.Context) error) (Usage, error) {
	m.settle(ctx) // calls made outside of a measurement
	m.usage = Usage{}
	start := time.Now()
	err := operation(ctx)
	wall := time.Since(start)
	m.settle(ctx)
	m.usage.Wall += wall
	return m.usage, errors.Join(err, m.err)
}

// call is one request that was answered.
type call struct {
	charge func(capacity.Write) capacity.Units
	writes []write
	reads  func() capacity.Units // nil where it reads nothing; called when all that came before is in the books
	failed bool                  // refused by a condition: charged, and nothing was changed
}

// write is a change of one record.
type write struct {
	table capacity.Table
	key   capacity.Item
	kind  kind
	item  capacity.Item // of a put
}

type kind int

const (
	put kind = iota
	update
	remove
	check
)

func (w write) id() string { return recordID(w.table, w.key) }

// recordID names a record among all tables.
func recordID(t capacity.Table, it capacity.Item) string {
	parts := []string{t.Name}
	for _, name := range t.Key {
		switch v := it[name].(type) {
		case *types.AttributeValueMemberS:
			parts = append(parts, v.Value)
		case *types.AttributeValueMemberN:
			parts = append(parts, v.Value)
		}
	}
	return strings.Join(parts, "\x00")
}

// settle enters the pending calls into the books. Only what an update made of its record has to be read.
func (m *Meter) settle(ctx context.Context) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, c := range m.pending {
		m.usage.Calls++
		if c.reads != nil {
			m.usage.Units = m.usage.Units.Add(c.reads())
		}
		for _, w := range c.writes {
			before := m.images[w.id()]
			after, err := m.after(ctx, w, c, before)
			m.fail(err)
			m.usage.Units = m.usage.Units.Add(c.charge(w.table.Write(before, after)))
			m.keep(w.id(), after)
		}
	}
	m.pending = nil
}

func (m *Meter) keep(id string, it capacity.Item) {
	if it == nil {
		delete(m.images, id)
	} else {
		m.images[id] = it
	}
}

func (m *Meter) after(ctx context.Context, w write, c call, before capacity.Item) (capacity.Item, error) {
	if c.failed {
		return before, nil
	}
	switch w.kind {
	case put:
		return w.item, nil
	case remove:
		return nil, nil
	case update:
		return m.look(ctx, w)
	case check:
	}
	return before, nil
}

// look reads a record outside of every count.
func (m *Meter) look(ctx context.Context, w write) (capacity.Item, error) {
	key := capacity.Item{}
	for _, name := range w.table.Key {
		key[name] = w.key[name]
	}
	out, err := m.client.GetItem(ctx, &dynamodb.GetItemInput{
		TableName: aws.String(w.table.Name), Key: key, ConsistentRead: aws.Bool(true),
	})
	if err != nil {
		return nil, fmt.Errorf("read record for the books: %w", err)
	}
	return out.Item, nil
}

// fail keeps the first error. The lock is held.
func (m *Meter) fail(err error) {
	if m.err == nil {
		m.err = err
	}
}

// table returns the table of a request.
func (m *Meter) table(name *string) capacity.Table {
	t, ok := m.tables[aws.ToString(name)]
	if !ok {
		m.unaccountable("a call names a table that it does not know")
	}
	return t
}
