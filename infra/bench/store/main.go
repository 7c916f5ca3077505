// Command store measures the message store on DynamoDB Local. It compares the store with an embedded array, the design
// that users replace, and with the bare calls that every store has to make. It measures DynamoDB calls, capacity units
// and time, per turn and per page, over the length of the session. It prints tables, writes JSON and a section of a
// document to the paths in its flags, and fails when a bar is not met.
//
//	go -C infra/bench run ./store [-lengths 0,10,100,1000,10000,50000] [-repeats 45] [-json file] [-docs folder]
package main

import (
	"context"
	"flag"
	"fmt"

	"github.com/throughline/throughline/infra/bench"
	"github.com/throughline/throughline/infra/bench/rig"
	"github.com/throughline/throughline/infra/bench/store/storebench"
	"github.com/throughline/throughline/internal/dynamo/table"
)

const (
	tableName = "bench-store"
	seed      = 20260105
)

func main() {
	lengths := bench.Lengths{0, 10, 100, 1000, 10_000, 50_000}
	flag.Func("lengths", "lengths of the sessions in messages, ascending (default 0,10,100,1000,10000,50000)", lengths.Set)
	repeats := flag.Int("repeats", 45, "how often each contender does each thing at each length")
	bench.Command{
		Name: "store",
		Measure: func(ctx context.Context, endpoint string, progress func(string)) (bench.Result, error) {
			s := storebench.Settings{Lengths: lengths, Repeats: *repeats, Seed: seed}
			return measure(ctx, endpoint, s, progress)
		},
	}.Main()
}

func measure(
	ctx context.Context, endpoint string, s storebench.Settings, progress func(string),
) (storebench.Result, error) {
	client := rig.Client(endpoint)
	if _, err := client.CreateTable(ctx, table.CreateTableInput(tableName)); err != nil {
		return storebench.Result{}, fmt.Errorf("create table: %w", err)
	}
	return storebench.Run(ctx, client, tableName, s, progress)
}
