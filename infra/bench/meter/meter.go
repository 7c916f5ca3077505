// Package meter counts what operations use of DynamoDB: calls, capacity units by the rules of package capacity, and
// time. It wraps the client of a store. Every write to its tables goes through it, so it knows each record as it was
// before a write.
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

// option is an option of one call.
type option = func(*dynamodb.Options)

// API is the part of DynamoDB that a meter measures. *dynamodb.Client implements it.
type API interface {
	GetItem(context.Context, *dynamodb.GetItemInput, ...option) (*dynamodb.GetItemOutput, error)
	BatchGetItem(context.Context, *dynamodb.BatchGetItemInput, ...option) (*dynamodb.BatchGetItemOutput, error)
	Query(context.Context, *dynamodb.QueryInput, ...option) (*dynamodb.QueryOutput, error)
	PutItem(context.Context, *dynamodb.PutItemInput, ...option) (*dynamodb.PutItemOutput, error)
	UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...option) (*dynamodb.UpdateItemOutput, error)
	DeleteItem(context.Context, *dynamodb.DeleteItemInput, ...option) (*dynamodb.DeleteItemOutput, error)
	BatchWriteItem(context.Context, *dynamodb.BatchWriteItemInput, ...option) (*dynamodb.BatchWriteItemOutput, error)
	TransactWriteItems(
		context.Context, *dynamodb.TransactWriteItemsInput, ...option,
	) (*dynamodb.TransactWriteItemsOutput, error)
}

// Usage is what one operation took.
type Usage struct {
	Calls int
	Units capacity.Units
	// Wall is the operation's own time, without the reads of the meter itself.
	Wall time.Duration
}

// Meter is an API that counts. One operation may call it concurrently; it measures one operation at a time.
type Meter struct {
	client API
	tables map[string]capacity.Table

	mu      sync.Mutex
	images  map[string]capacity.Item // every record as the table holds it, by its id
	pending []call                   // calls that are not charged yet
	usage   Usage
	err     error // of the first call that cannot be charged
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

// Measure runs an operation and returns what it took. Its error is the operation's, or that of a call which the meter
// cannot charge. After such a call every later measurement fails too.
func (m *Meter) Measure(ctx context.Context, operation func(context.Context) error) (Usage, error) {
	m.charge(ctx) // calls made outside of a measurement
	m.usage = Usage{}
	start := time.Now()
	err := operation(ctx)
	wall := time.Since(start)
	m.charge(ctx)
	m.usage.Wall += wall
	return m.usage, errors.Join(err, m.err)
}

// call is one request that was answered.
type call struct {
	charge func(capacity.Write) capacity.Units
	writes []write
	reads  func() capacity.Units // nil if it reads nothing; called when all calls before it are charged
	failed bool                  // a condition failed: it is charged and changed nothing
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

// recordID identifies a record among all tables.
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

// charge charges the pending calls and updates the images. It reads the records that were updated, since the meter does
// not evaluate update expressions.
func (m *Meter) charge(ctx context.Context) {
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
			m.setImage(w.id(), after)
		}
	}
	m.pending = nil
}

func (m *Meter) setImage(id string, it capacity.Item) {
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
		return m.read(ctx, w)
	case check:
	}
	return before, nil
}

// read reads a record without counting the call.
func (m *Meter) read(ctx context.Context, w write) (capacity.Item, error) {
	key := capacity.Item{}
	for _, name := range w.table.Key {
		key[name] = w.key[name]
	}
	out, err := m.client.GetItem(ctx, &dynamodb.GetItemInput{
		TableName: aws.String(w.table.Name), Key: key, ConsistentRead: aws.Bool(true),
	})
	if err != nil {
		return nil, fmt.Errorf("read updated record: %w", err)
	}
	return out.Item, nil
}

// fail keeps the first error. The caller holds the lock.
func (m *Meter) fail(err error) {
	if m.err == nil {
		m.err = err
	}
}

// table returns the table of a request.
func (m *Meter) table(name *string) capacity.Table {
	t, ok := m.tables[aws.ToString(name)]
	if !ok {
		m.reject("a call names a table that it does not know")
	}
	return t
}
