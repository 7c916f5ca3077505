// Command store measures the message store on DynamoDB Local beside the calls that every store has to make, the bare
// transaction of the same items and the bare query, and beside an array of messages inside one item, the design that
// users replace: calls, capacity units and time, over the length of the session.
//
//	go -C infra/bench run ./store [-docs ../../docs]
package main

import (
	"context"
	"fmt"

	"github.com/throughline/throughline/infra/bench/meter"
	"github.com/throughline/throughline/infra/bench/report"
	"github.com/throughline/throughline/infra/bench/rig"
	"github.com/throughline/throughline/infra/local/dynamodblocal"
	"github.com/throughline/throughline/internal/dynamo/table"
)

const tableName = "bench-store"

func main() {
	rig.Main("store", func(ctx context.Context, endpoint string) (report.Result, error) {
		client := dynamodblocal.Client(endpoint)
		if _, err := client.CreateTable(ctx, table.CreateTableInput(tableName)); err != nil {
			return report.Result{}, fmt.Errorf("create table: %w", err)
		}
		b := newBench(meter.New(client, table.CreateTableInput(tableName)), tableName)
		return b.run(ctx, []int{0, 100, 1000, 10_000, 50_000}, 45)
	})
}
