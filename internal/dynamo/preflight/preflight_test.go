package preflight_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/throughline/throughline/internal/dynamo/preflight"
	"github.com/throughline/throughline/internal/dynamo/table"
	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/testing/dynamodbtest"
)

func TestMain(m *testing.M) { dynamodbtest.Main(m) }

func TestTableOfThroughlineIsReady(t *testing.T) {
	t.Parallel()
	a := newAppTable(t, nil)
	a.expireBy(t, table.TTLAttribute)
	r := a.run(t)
	for _, f := range r.Findings {
		if f.Level != preflight.OK {
			t.Errorf("found %+v", f)
		}
	}
	if !r.Ready || r.Parameters["ExistingTableName"] != a.name || r.Parameters["ExistingTableStreamArn"] == "" {
		t.Errorf("got ready %t and parameters %v", r.Ready, r.Parameters)
	}
}

func TestMissingTableIsAnError(t *testing.T) {
	t.Parallel()
	services := preflight.Services{Table: dynamodbtest.Client(t)}
	_, err := preflight.Run(t.Context(), services, preflight.Options{Table: "none"})
	if err == nil || !strings.Contains(err.Error(), "describe table none") {
		t.Errorf("got %v", err)
	}
}

func TestAWSManagedKeyNeedsNothing(t *testing.T) {
	t.Parallel()
	a := newAppTable(t, nil)
	a.expireBy(t, table.TTLAttribute)
	a.describe = func(d *types.TableDescription) {
		d.SSEDescription = &types.SSEDescription{KMSMasterKeyArn: aws.String("arn:aws:kms:us-east-1:1:key/aws")}
	}
	if r := a.run(t); !r.Ready || r.Parameters["ExistingTableKmsKeyArn"] != "" {
		t.Errorf("got %+v", r)
	}
	// Who may not read the key is told to look, and gets the parameter.
	a.denied = "kms:DescribeKey"
	if r := a.run(t); !r.Ready || r.Parameters["ExistingTableKmsKeyArn"] == "" {
		t.Errorf("got %+v", r)
	}
}

func TestIndexRoom(t *testing.T) {
	t.Parallel()
	a := newAppTable(t, func(in *dynamodb.CreateTableInput) { drop(in, table.DueIndex, table.CoachRecent) })
	a.expireBy(t, table.TTLAttribute)
	for _, c := range []struct {
		indexes int
		fits    bool
	}{{18, true}, {19, false}} {
		a.describe = func(d *types.TableDescription) {
			for n := len(d.GlobalSecondaryIndexes); n < c.indexes; n++ {
				d.GlobalSecondaryIndexes = append(d.GlobalSecondaryIndexes, types.GlobalSecondaryIndexDescription{
					IndexName: aws.String(fmt.Sprint("app-", n)), KeySchema: keys("app", "appAt"),
				})
			}
		}
		got := finding(a.run(t), "index room", preflight.Error).Found == ""
		if got != c.fits {
			t.Errorf("with %d indexes and 2 to come, room = %t, want %t", c.indexes, got, c.fits)
		}
	}
}

func TestAttributeWithAnotherTypeInAnIndex(t *testing.T) {
	t.Parallel()
	a := newAppTable(t, func(in *dynamodb.CreateTableInput) {
		drop(in, table.BySource)
		addIndex(in, "visits", "visitor", "timestamp", "N")
	})
	a.expireBy(t, table.TTLAttribute)
	text := a.run(t).Text()
	for _, w := range []string{
		"index sourceId-timestamp: an index of the app's has timestamp as a key of type N", "app's index visits: its key",
	} {
		check.Contains(t, text, w, "the report")
	}
	check.Lacks(t, text, "missing: sourceId-timestamp", "the report has commands that cannot succeed")
}

func TestProvisionedIndexHasCapacity(t *testing.T) {
	t.Parallel()
	a := newAppTable(t, func(in *dynamodb.CreateTableInput) { drop(in, table.DueIndex) })
	a.describe = func(d *types.TableDescription) {
		d.BillingModeSummary = nil
		d.ProvisionedThroughput = &types.ProvisionedThroughputDescription{
			ReadCapacityUnits: aws.Int64(11), WriteCapacityUnits: aws.Int64(12),
		}
	}
	check.Contains(t, a.run(t).Text(), `"ReadCapacityUnits":11,"WriteCapacityUnits":12`,
		"the command gives the index no capacity")
}

func TestErrorsOfTheSampleEndTheCheck(t *testing.T) {
	t.Parallel()
	a := newAppTable(t, nil)
	broken := errors.New("broken")
	_, err := preflight.Run(t.Context(), preflight.Services{
		Table:      &brokenScan{a, broken},
		KeyManager: func(context.Context, string) (string, error) { return "", nil },
		Consumers:  func(context.Context, string) ([]string, error) { return nil, nil },
	}, preflight.Options{Table: a.name, SampleItems: 1, SampleUnits: 1})
	if !errors.Is(err, broken) {
		t.Errorf("got %v, want the error of the scan", err)
	}
}

type brokenScan struct {
	*appTable
	err error
}

func (b *brokenScan) Scan(
	context.Context, *dynamodb.ScanInput, ...func(*dynamodb.Options),
) (*dynamodb.ScanOutput, error) {
	return nil, b.err
}
