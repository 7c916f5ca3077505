package meter

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/throughline/throughline/infra/bench/capacity"
)

// Reads are charged by whole records: a projection expression saves no units.

// GetItem gets and counts.
func (m *Meter) GetItem(
	ctx context.Context, in *dynamodb.GetItemInput, o ...option,
) (*dynamodb.GetItemOutput, error) {
	t := m.table(in.TableName)
	c := call{reads: func() capacity.Units {
		return m.readOne(t, in.Key, capacity.Consistency(aws.ToBool(in.ConsistentRead)))
	}}
	return counted(ctx, m, c, func() (*dynamodb.GetItemOutput, error) { return m.client.GetItem(ctx, in, o...) })
}

// BatchGetItem gets a batch and counts.
func (m *Meter) BatchGetItem(
	ctx context.Context, in *dynamodb.BatchGetItemInput, o ...option,
) (*dynamodb.BatchGetItemOutput, error) {
	c := call{reads: func() capacity.Units { return m.readBatch(in) }}
	return counted(ctx, m, c, func() (*dynamodb.BatchGetItemOutput, error) {
		out, err := m.client.BatchGetItem(ctx, in, o...)
		if err == nil && len(out.UnprocessedKeys) > 0 {
			m.reject("a batch was read in part")
		}
		return out, err
	})
}

// Query queries and counts.
func (m *Meter) Query(
	ctx context.Context, in *dynamodb.QueryInput, o ...option,
) (*dynamodb.QueryOutput, error) {
	t := m.table(in.TableName)
	var items []capacity.Item
	c := call{reads: func() capacity.Units {
		return m.readRange(t, in.IndexName, items, capacity.Consistency(aws.ToBool(in.ConsistentRead)))
	}}
	return counted(ctx, m, c, func() (*dynamodb.QueryOutput, error) {
		out, err := m.client.Query(ctx, in, o...)
		if err != nil {
			return out, err
		}
		items = out.Items
		if int(out.ScannedCount) != len(items) {
			m.reject("a query read records that it did not return")
		}
		return out, nil
	})
}

// The following are called with the lock held, when all calls before the read are charged.

func (m *Meter) readOne(t capacity.Table, key capacity.Item, c capacity.Consistency) capacity.Units {
	return capacity.Read(capacity.Size(m.images[recordID(t, key)]), c)
}

func (m *Meter) readBatch(in *dynamodb.BatchGetItemInput) (sum capacity.Units) {
	for name, keys := range in.RequestItems {
		for _, key := range keys.Keys {
			sum = sum.Add(m.readOne(m.tables[name], key, capacity.Consistency(aws.ToBool(keys.ConsistentRead))))
		}
	}
	return sum
}

// readRange charges a query by the sum of what it read: the table's records, or the index's entries.
func (m *Meter) readRange(
	t capacity.Table, index *string, items []capacity.Item, c capacity.Consistency,
) capacity.Units {
	bytes := 0
	for _, it := range items {
		whole := m.images[recordID(t, it)]
		if index != nil {
			whole = t.Indexes[*index].Entry(whole)
		}
		bytes += capacity.Size(whole)
	}
	return capacity.Read(bytes, c)
}
