package meter

import (
	"context"
	"errors"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/throughline/throughline/infra/bench/capacity"
)

// PutItem puts, and counts.
func (m *Meter) PutItem(ctx context.Context, in *dynamodb.PutItemInput, o ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	w := []write{{m.table(in.TableName), in.Item, put, in.Item}}
	return counted(ctx, m, call{charge: capacity.Write.Alone, writes: w}, func() (*dynamodb.PutItemOutput, error) {
		return m.client.PutItem(ctx, in, o...)
	})
}

// UpdateItem updates, and counts.
func (m *Meter) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, o ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	w := []write{{m.table(in.TableName), in.Key, update, nil}}
	return counted(ctx, m, call{charge: capacity.Write.Alone, writes: w}, func() (*dynamodb.UpdateItemOutput, error) {
		return m.client.UpdateItem(ctx, in, o...)
	})
}

// DeleteItem deletes, and counts.
func (m *Meter) DeleteItem(ctx context.Context, in *dynamodb.DeleteItemInput, o ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error) {
	w := []write{{m.table(in.TableName), in.Key, remove, nil}}
	return counted(ctx, m, call{charge: capacity.Write.Alone, writes: w}, func() (*dynamodb.DeleteItemOutput, error) {
		return m.client.DeleteItem(ctx, in, o...)
	})
}

// BatchWriteItem writes a batch, and counts.
func (m *Meter) BatchWriteItem(ctx context.Context, in *dynamodb.BatchWriteItemInput, o ...func(*dynamodb.Options)) (*dynamodb.BatchWriteItemOutput, error) {
	var writes []write
	for name, requests := range in.RequestItems {
		t := m.table(&name)
		for _, r := range requests {
			if r.PutRequest != nil {
				writes = append(writes, write{t, r.PutRequest.Item, put, r.PutRequest.Item})
			} else {
				writes = append(writes, write{t, r.DeleteRequest.Key, remove, nil})
			}
		}
	}
	return counted(ctx, m, call{charge: capacity.Write.Alone, writes: writes}, func() (*dynamodb.BatchWriteItemOutput, error) {
		out, err := m.client.BatchWriteItem(ctx, in, o...)
		if err == nil && len(out.UnprocessedItems) > 0 {
			m.unaccountable("a batch was written in part")
		}
		return out, err
	})
}

// TransactWriteItems writes a transaction, and counts.
func (m *Meter) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, o ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	c := call{charge: capacity.Write.InTransaction}
	for _, i := range in.TransactItems {
		c.writes = append(c.writes, m.inTransaction(i))
	}
	return counted(ctx, m, c, func() (*dynamodb.TransactWriteItemsOutput, error) {
		return m.client.TransactWriteItems(ctx, in, o...)
	})
}

func (m *Meter) inTransaction(i types.TransactWriteItem) write {
	switch {
	case i.Put != nil:
		return write{m.table(i.Put.TableName), i.Put.Item, put, i.Put.Item}
	case i.Update != nil:
		return write{m.table(i.Update.TableName), i.Update.Key, update, nil}
	case i.Delete != nil:
		return write{m.table(i.Delete.TableName), i.Delete.Key, remove, nil}
	}
	return write{m.table(i.ConditionCheck.TableName), i.ConditionCheck.Key, check, nil}
}

// counted sends a request and notes its call. A request that DynamoDB refused for what it was costs no units; one
// without any answer leaves open what was changed, and ends the books.
func counted[T any](ctx context.Context, m *Meter, c call, send func() (T, error)) (T, error) {
	m.clear(ctx, c.writes)
	out, err := send()
	var refused smithy.APIError
	switch {
	case err == nil:
	case errors.As(err, &refused):
		if c.failed = metCondition(err); !c.failed {
			c.writes, c.reads = nil, nil
		}
	default:
		m.unaccountable("a call had no answer")
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.pending = append(m.pending, c)
	return out, err
}

// clear settles before a record is written that an update has changed since: the update's outcome has to be read
// first. The time it takes is not the operation's.
func (m *Meter) clear(ctx context.Context, writes []write) {
	if !m.updated(writes) {
		return
	}
	start := time.Now()
	m.settle(ctx)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.usage.Wall -= time.Since(start)
}

func (m *Meter) updated(writes []write) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	open := map[string]bool{}
	for _, c := range m.pending {
		for _, w := range c.writes {
			if w.kind == update && !c.failed {
				open[w.id()] = true
			}
		}
	}
	for _, w := range writes {
		if open[w.id()] {
			return true
		}
	}
	return false
}

func metCondition(err error) bool {
	var failed *types.ConditionalCheckFailedException
	var cancelled *types.TransactionCanceledException
	return errors.As(err, &failed) || errors.As(err, &cancelled)
}

func (m *Meter) unaccountable(why string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fail(errors.New("meter: " + why))
}
