package adopt

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/throughline/throughline/internal/dynamo/table"
	"github.com/throughline/throughline/internal/migration"
)

// Describe returns what DynamoDB says of the table. Its count of the records is up to six hours old.
func (s *MigrationStore) Describe(ctx context.Context) (migration.Description, error) {
	out, err := s.client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: aws.String(s.db.Name)})
	if err != nil {
		return migration.Description{}, table.Failed("describe table", err)
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
