package adopt

import (
	"context"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/throughline/throughline/internal/dynamo/table"
	"github.com/throughline/throughline/internal/migration"
)

// meter is a client of DynamoDB that adds up the capacity units of its calls, as DynamoDB reports them.
type meter struct {
	table.API
	mu   sync.Mutex
	used migration.Units
}

func (m *meter) add(write bool, reports ...types.ConsumedCapacity) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range reports {
		m.used.Add(unitsOf(write, r))
	}
}

// unitsOf returns the units of a report by the table and the indexes.
func unitsOf(write bool, r types.ConsumedCapacity) migration.Units {
	units := migration.Units{}
	if r.Table != nil {
		units[migration.Kind{Write: write}] = aws.ToFloat64(r.Table.CapacityUnits)
	}
	for name, c := range r.GlobalSecondaryIndexes {
		units[migration.Kind{Index: name, Write: write}] = aws.ToFloat64(c.CapacityUnits)
	}
	return units
}

// consumed returns the report of a call that has one, or none.
func consumed(r *types.ConsumedCapacity) []types.ConsumedCapacity {
	if r == nil {
		return nil
	}
	return []types.ConsumedCapacity{*r}
}

const byIndex = types.ReturnConsumedCapacityIndexes

// BatchGetItem implements API.
func (m *meter) BatchGetItem(ctx context.Context, in *dynamodb.BatchGetItemInput, o ...func(*dynamodb.Options),
) (*dynamodb.BatchGetItemOutput, error) {
	in.ReturnConsumedCapacity = byIndex
	out, err := m.API.BatchGetItem(ctx, in, o...)
	if err == nil {
		m.add(false, out.ConsumedCapacity...)
	}
	return out, err
}

// Query implements API.
func (m *meter) Query(ctx context.Context, in *dynamodb.QueryInput, o ...func(*dynamodb.Options),
) (*dynamodb.QueryOutput, error) {
	in.ReturnConsumedCapacity = byIndex
	out, err := m.API.Query(ctx, in, o...)
	if err == nil {
		m.add(false, consumed(out.ConsumedCapacity)...)
	}
	return out, err
}

// UpdateItem implements API.
func (m *meter) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, o ...func(*dynamodb.Options),
) (*dynamodb.UpdateItemOutput, error) {
	in.ReturnConsumedCapacity = byIndex
	out, err := m.API.UpdateItem(ctx, in, o...)
	if err == nil {
		m.add(true, consumed(out.ConsumedCapacity)...)
	}
	return out, err
}

// DeleteItem implements API.
func (m *meter) DeleteItem(ctx context.Context, in *dynamodb.DeleteItemInput, o ...func(*dynamodb.Options),
) (*dynamodb.DeleteItemOutput, error) {
	in.ReturnConsumedCapacity = byIndex
	out, err := m.API.DeleteItem(ctx, in, o...)
	if err == nil {
		m.add(true, consumed(out.ConsumedCapacity)...)
	}
	return out, err
}

// TransactWriteItems implements API.
func (m *meter) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput,
	o ...func(*dynamodb.Options),
) (*dynamodb.TransactWriteItemsOutput, error) {
	in.ReturnConsumedCapacity = byIndex
	out, err := m.API.TransactWriteItems(ctx, in, o...)
	if err == nil {
		m.add(true, out.ConsumedCapacity...)
	}
	return out, err
}
