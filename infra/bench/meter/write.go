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

// PutItem puts and counts.
func (m *Meter) PutItem(
	ctx context.Context, in *dynamodb.PutItemInput, o ...option,
) (*dynamodb.PutItemOutput, error) {
	w := []write{{m.table(in.TableName), in.Item, put, in.Item}}
	return counted(ctx, m, call{charge: capacity.Write.Alone, writes: w}, func() (*dynamodb.PutItemOutput, error) {
		return m.client.PutItem(ctx, in, o...)
	})
}

// UpdateItem updates and counts.
func (m *Meter) UpdateItem(
	ctx context.Context, in *dynamodb.UpdateItemInput, o ...option,
) (*dynamodb.UpdateItemOutput, error) {
	w := []write{{m.table(in.TableName), in.Key, update, nil}}
	return counted(ctx, m, call{charge: capacity.Write.Alone, writes: w}, func() (*dynamodb.UpdateItemOutput, error) {
		return m.client.UpdateItem(ctx, in, o...)
	})
}

// DeleteItem deletes and counts.
func (m *Meter) DeleteItem(
	ctx context.Context, in *dynamodb.DeleteItemInput, o ...option,
) (*dynamodb.DeleteItemOutput, error) {
	w := []write{{m.table(in.TableName), in.Key, remove, nil}}
	return counted(ctx, m, call{charge: capacity.Write.Alone, writes: w}, func() (*dynamodb.DeleteItemOutput, error) {
		return m.client.DeleteItem(ctx, in, o...)
	})
}

// BatchWriteItem writes a batch and counts.
func (m *Meter) BatchWriteItem(
	ctx context.Context, in *dynamodb.BatchWriteItemInput, o ...option,
) (*dynamodb.BatchWriteItemOutput, error) {
	c := call{charge: capacity.Write.Alone}
	for name, requests := range in.RequestItems {
		t := m.table(&name)
		for _, r := range requests {
			if r.PutRequest != nil {
				c.writes = append(c.writes, write{t, r.PutRequest.Item, put, r.PutRequest.Item})
			} else {
				c.writes = append(c.writes, write{t, r.DeleteRequest.Key, remove, nil})
			}
		}
	}
	return counted(ctx, m, c, func() (*dynamodb.BatchWriteItemOutput, error) {
		out, err := m.client.BatchWriteItem(ctx, in, o...)
		if err == nil && len(out.UnprocessedItems) > 0 {
			m.reject("a batch was written in part")
		}
		return out, err
	})
}

// TransactWriteItems writes a transaction and counts.
func (m *Meter) TransactWriteItems(
	ctx context.Context, in *dynamodb.TransactWriteItemsInput, o ...option,
) (*dynamodb.TransactWriteItemsOutput, error) {
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

// counted sends a request and records its call. A request that DynamoDB rejects as invalid costs no units. A request
// without an answer may have changed something, so that nothing can be charged after it.
func counted[T any](ctx context.Context, m *Meter, c call, send func() (T, error)) (T, error) {
	m.chargeUpdates(ctx, c.writes)
	out, err := send()
	var refused smithy.APIError
	switch {
	case err == nil:
	case errors.As(err, &refused):
		if c.failed = conditionFailed(err); !c.failed {
			c.writes, c.reads = nil, nil
		}
	default:
		m.reject("a call had no answer")
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.pending = append(m.pending, c)
	return out, err
}

// chargeUpdates charges the pending calls if one of them updated a record that is now written again: the result of the
// update has to be read first. The time that this takes is not the operation's.
func (m *Meter) chargeUpdates(ctx context.Context, writes []write) {
	if !m.anyUpdated(writes) {
		return
	}
	start := time.Now()
	m.charge(ctx)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.usage.Wall -= time.Since(start)
}

func (m *Meter) anyUpdated(writes []write) bool {
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

func conditionFailed(err error) bool {
	var failed *types.ConditionalCheckFailedException
	var cancelled *types.TransactionCanceledException
	return errors.As(err, &failed) || errors.As(err, &cancelled)
}

func (m *Meter) reject(reason string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fail(errors.New("meter: " + reason))
}
