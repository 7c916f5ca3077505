package adopt_test

import (
	"context"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/throughline/throughline/internal/dynamo/adopt"
	"github.com/throughline/throughline/internal/dynamo/table"
	"github.com/throughline/throughline/internal/migration"
	"github.com/throughline/throughline/internal/testing/dynamotest"
)

// describedTable is a table that DynamoDB describes in a way.
type describedTable struct {
	adopt.ScanAPI
	table types.TableDescription
}

func (d describedTable) DescribeTable(context.Context, *dynamodb.DescribeTableInput, ...dynamotest.APIOption,
) (*dynamodb.DescribeTableOutput, error) {
	return &dynamodb.DescribeTableOutput{Table: &d.table}, nil
}

// TestCapacity reads the capacity of tables of both modes, as DynamoDB describes them.
func TestCapacity(t *testing.T) {
	t.Parallel()
	provisioned := func(reads, writes int64) *types.ProvisionedThroughputDescription {
		return &types.ProvisionedThroughputDescription{ReadCapacityUnits: &reads, WriteCapacityUnits: &writes}
	}
	warm := &types.TableWarmThroughputDescription{
		ReadUnitsPerSecond: aws.Int64(12_000), WriteUnitsPerSecond: aws.Int64(4000),
	}
	most := func(reads, writes int64) *types.OnDemandThroughput {
		return &types.OnDemandThroughput{MaxReadRequestUnits: &reads, MaxWriteRequestUnits: &writes}
	}
	reads, writes := migration.Kind{}, migration.Kind{Write: true}
	for name, c := range map[string]struct {
		table types.TableDescription
		want  migration.Capacity
	}{
		"provisioned": {
			types.TableDescription{
				ProvisionedThroughput: provisioned(100, 50), WarmThroughput: warm,
				GlobalSecondaryIndexes: []types.GlobalSecondaryIndexDescription{
					{IndexName: aws.String("due"), ProvisionedThroughput: provisioned(7, 5)},
				},
			},
			migration.Capacity{
				reads: {Units: 100}, writes: {Units: 50}, {Index: "due"}: {Units: 7}, {Index: "due", Write: true}: {Units: 5},
			},
		},
		"on demand": {
			types.TableDescription{
				ProvisionedThroughput: provisioned(0, 0), WarmThroughput: warm, OnDemandThroughput: most(-1, -1),
				GlobalSecondaryIndexes: []types.GlobalSecondaryIndexDescription{{
					IndexName: aws.String("due"), WarmThroughput: &types.GlobalSecondaryIndexWarmThroughputDescription{
						WriteUnitsPerSecond: aws.Int64(9000),
					},
				}},
			},
			migration.Capacity{
				reads: {Units: 12_000, Grows: true}, writes: {Units: 4000, Grows: true},
				{Index: "due", Write: true}: {Units: 9000, Grows: true},
			},
		},
		"on demand with a maximum": {
			types.TableDescription{WarmThroughput: warm, OnDemandThroughput: most(20_000, 1000)},
			migration.Capacity{reads: {Units: 12_000, Grows: true}, writes: {Units: 1000}},
		},
		"nothing known": {types.TableDescription{ProvisionedThroughput: provisioned(0, 0)}, migration.Capacity{}},
	} {
		got, err := adopt.NewMigrationStore(open(nil, "t"), describedTable{table: c.table}).Describe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, got.Capacity); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
}

// TestUnitsAreReported checks that a scan and each action say what they took of the table and of the indexes.
func TestUnitsAreReported(t *testing.T) {
	t.Parallel()
	a := newAppTable(t, sessionOf(t, "s", "hello", "there"))
	s := adopt.NewMigrationStore(a.db, a.client)
	page, err := s.Scan(t.Context(), migration.Backfill, migration.Segment{Total: 1}, "")
	if err != nil || len(page.Records) != 1 || page.Units[migration.Kind{}] == 0 {
		t.Fatalf("got %+v, %v", page, err)
	}
	work, err := s.Do(t.Context(), migration.Backfill, page.Records[0], migration.InStore)
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []migration.Kind{{}, {Index: table.BySource, Write: true}, {Write: true}} {
		if work.Units[kind] == 0 {
			t.Errorf("no units of %+v among %v", kind, work.Units)
		}
	}
	for _, action := range []migration.Action{migration.Verify, migration.Index} {
		work, err := s.Do(t.Context(), action, page.Records[0], migration.InStore)
		if err != nil || len(work.Units) == 0 {
			t.Errorf("%s took %v, %v", action, work.Units, err)
		}
	}
}

// sessionOf is an app's record of a user's session with messages.
func sessionOf(t *testing.T, id string, contents ...string) appRecord {
	t.Helper()
	var entries []any
	for _, content := range contents {
		entries = append(entries, map[string]any{"role": "user", "content": content})
	}
	r, err := attributevalue.MarshalMap(map[string]any{
		"pk": "user#u", "sk": "conversation#" + id, "attributes": map[string]any{"messages": entries},
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestMoveTakesOneTransaction moves a session of few messages, with as few calls as it can, and one with a message that
// fits no record of its own.
func TestMoveTakesOneTransaction(t *testing.T) {
	t.Parallel()
	a := newAppTable(t, sessionOf(t, "few", "hello", "there"), sessionOf(t, "large", strings.Repeat("x", 409_600-100)))
	var calls dynamotest.CallCounter
	db := open(&dynamotest.Interceptor{API: a.client, Call: calls.Call}, a.table, adopt.WithInitialStage(migration.Dual))
	work, err := adopt.Move(t.Context(), db, "u", "few", migration.InStore)
	if err != nil || work.Messages != 2 || work.Writes != 4 { // with the session and its parked array
		t.Errorf("got %+v, %v", work, err)
	}
	if diff := cmp.Diff([]string{"BatchGetItem", "Query", "TransactWriteItems"}, calls.Take()); diff != "" {
		t.Errorf("calls (-want +got)\n%s", diff)
	}
	work, err = adopt.Move(t.Context(), db, "u", "large", migration.InBoth)
	if reason, _ := migration.ReasonOf(err); reason != "a message fits no record of 400 KB" || work.Messages != 0 {
		t.Errorf("got %+v, %v", work, err)
	}
}
