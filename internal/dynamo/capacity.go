package dynamo

import (
	"context"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/throughline/throughline/internal/migration"
)

// Describe returns what DynamoDB says of the table. Its count of the records is up to six hours old.
func (s *MigrationStore) Describe(ctx context.Context) (migration.Description, error) {
	out, err := s.client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: aws.String(s.db.table)})
	if err != nil {
		return migration.Description{}, failed("describe table", err)
	}
	t, capacity := out.Table, migration.Capacity{}
	warm := t.WarmThroughput
	if warm == nil {
		warm = &types.TableWarmThroughputDescription{}
	}
	addLimits(capacity, "", t.ProvisionedThroughput, t.OnDemandThroughput, warm.ReadUnitsPerSecond,
		warm.WriteUnitsPerSecond)
	for _, x := range t.GlobalSecondaryIndexes {
		warm := x.WarmThroughput
		if warm == nil {
			warm = &types.GlobalSecondaryIndexWarmThroughputDescription{}
		}
		addLimits(capacity, aws.ToString(x.IndexName), x.ProvisionedThroughput, x.OnDemandThroughput,
			warm.ReadUnitsPerSecond, warm.WriteUnitsPerSecond)
	}
	return migration.Description{Items: int(aws.ToInt64(t.ItemCount)), Capacity: capacity}, nil
}

// addLimits adds what a table or an index takes.
func addLimits(to migration.Capacity, index string, provisioned *types.ProvisionedThroughputDescription,
	onDemand *types.OnDemandThroughput, warmReads, warmWrites *int64,
) {
	if provisioned == nil {
		provisioned = &types.ProvisionedThroughputDescription{}
	}
	if onDemand == nil {
		onDemand = &types.OnDemandThroughput{}
	}
	addLimit(to, migration.Kind{Index: index}, provisioned.ReadCapacityUnits, onDemand.MaxReadRequestUnits, warmReads)
	addLimit(to, migration.Kind{Index: index, Write: true}, provisioned.WriteCapacityUnits,
		onDemand.MaxWriteRequestUnits, warmWrites)
}

// addLimit adds the units that are provisioned, or the most that an on-demand table is set to, or else its warm
// throughput, from which it grows. An on-demand table has 0 provisioned units, and -1 or no setting of the most.
func addLimit(to migration.Capacity, kind migration.Kind, provisioned, most, warm *int64) {
	limit := migration.Limit{Units: float64(aws.ToInt64(provisioned))}
	if limit.Units == 0 {
		limit = migration.Limit{Units: float64(aws.ToInt64(warm)), Grows: true}
		if n := float64(aws.ToInt64(most)); n > 0 && (n <= limit.Units || limit.Units == 0) {
			limit = migration.Limit{Units: n}
		}
	}
	if limit.Units > 0 {
		to[kind] = limit
	}
}

// meteredClient is a client that adds up the capacity units of its calls, as DynamoDB reports them.
type meteredClient struct {
	API
	mu   sync.Mutex
	used migration.Units
}

// metered returns a copy of a DB whose calls are added up.
func metered(db *DB) (*DB, *meteredClient) {
	m := &meteredClient{API: db.client, used: migration.Units{}}
	own := *db
	own.client = m
	return &own, m
}

func (m *meteredClient) add(write bool, reports ...types.ConsumedCapacity) {
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
func (m *meteredClient) BatchGetItem(ctx context.Context, in *dynamodb.BatchGetItemInput, o ...func(*dynamodb.Options),
) (*dynamodb.BatchGetItemOutput, error) {
	in.ReturnConsumedCapacity = byIndex
	out, err := m.API.BatchGetItem(ctx, in, o...)
	if err == nil {
		m.add(false, out.ConsumedCapacity...)
	}
	return out, err
}

// Query implements API.
func (m *meteredClient) Query(ctx context.Context, in *dynamodb.QueryInput, o ...func(*dynamodb.Options),
) (*dynamodb.QueryOutput, error) {
	in.ReturnConsumedCapacity = byIndex
	out, err := m.API.Query(ctx, in, o...)
	if err == nil {
		m.add(false, consumed(out.ConsumedCapacity)...)
	}
	return out, err
}

// UpdateItem implements API.
func (m *meteredClient) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, o ...func(*dynamodb.Options),
) (*dynamodb.UpdateItemOutput, error) {
	in.ReturnConsumedCapacity = byIndex
	out, err := m.API.UpdateItem(ctx, in, o...)
	if err == nil {
		m.add(true, consumed(out.ConsumedCapacity)...)
	}
	return out, err
}

// DeleteItem implements API.
func (m *meteredClient) DeleteItem(ctx context.Context, in *dynamodb.DeleteItemInput, o ...func(*dynamodb.Options),
) (*dynamodb.DeleteItemOutput, error) {
	in.ReturnConsumedCapacity = byIndex
	out, err := m.API.DeleteItem(ctx, in, o...)
	if err == nil {
		m.add(true, consumed(out.ConsumedCapacity)...)
	}
	return out, err
}

// TransactWriteItems implements API.
func (m *meteredClient) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput,
	o ...func(*dynamodb.Options),
) (*dynamodb.TransactWriteItemsOutput, error) {
	in.ReturnConsumedCapacity = byIndex
	out, err := m.API.TransactWriteItems(ctx, in, o...)
	if err == nil {
		m.add(true, out.ConsumedCapacity...)
	}
	return out, err
}
