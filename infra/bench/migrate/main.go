// Command migrate measures the backfill of a migration on DynamoDB Local: messages a second in 1, 2, 4 and 8 segments,
// beside bare parallel scans that write the same records in the same transactions and in batches, the capacity units of
// a message, and how far a dry run predicts them. From the units it forecasts time and cost for a million to a billion
// messages. It prints tables and writes a section of a document.
//
//	go run ./infra/bench/migrate [-sessions 150] [-messages 3000] [-docs folder]
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"math"
	"os"
	"slices"

	"github.com/throughline/throughline/infra/bench"
	"github.com/throughline/throughline/infra/bench/capacity"
	"github.com/throughline/throughline/infra/bench/report"
	"github.com/throughline/throughline/infra/bench/rig"
	"github.com/throughline/throughline/infra/bench/scale/forecast"
	"github.com/throughline/throughline/infra/legacy"
)

// The table of the benchmark: contents as long as those of people and models.
const (
	contentBytes = 400
	perUser      = 1
	seed         = 20260105
)

// The limits. A transaction takes the table's part twice, and a repeated backfill writes only its checkpoints.
const (
	maxWrites = 2.1
	maxAgain  = 0.05
	// maxTime is how long the backfills may take, over the same transactions alone.
	maxTime = 1.5
	// maxError is how far a prediction may be off, as a ratio.
	maxError = 1.15
)

var measuredSegments = []int{1, 2, 4, 8}

// rateShare is the rate limit of the backfill whose time is predicted, over what the engine does.
const rateShare = 0.3

func main() {
	sessions := flag.Int("sessions", 150, "sessions of the table")
	messages := flag.Int("messages", 3000, "messages in their arrays")
	prices := flag.String("prices", "docs/scale", "folder of the file of prices")
	bench.Command{
		Name: "migrate",
		Measure: func(ctx context.Context, endpoint string, progress func(string)) (bench.Result, error) {
			table := legacy.Table{
				Users: max(1, *sessions/perUser), Sessions: *sessions, Messages: *messages, Seed: seed, Bytes: contentBytes,
			}
			return measure(ctx, endpoint, table, *prices, progress)
		},
	}.Main()
}

// row is what was measured with a number of segments.
type row struct {
	Segments int `json:"segments"`
	// Migrated, Transactions and Batches are messages a second: of the backfill, and of bare writes of the same records.
	Migrated     float64 `json:"migrated"`
	Transactions float64 `json:"transactions"`
	Batches      float64 `json:"batches"`
	// Again is the time of a second backfill over that of the first.
	Again float64 `json:"again"`
}

// prediction is what a dry run predicts over what the backfill then takes, at a rate.
type prediction struct {
	Records, Write, Read, Time, Rate float64
}

type result struct {
	Messages  int         `json:"messages"`
	Bytes     float64     `json:"bytes"` // of a message's record
	Rows      []row       `json:"rows"`
	Units     []unitCosts `json:"units"`
	Predicted prediction  `json:"predicted"`
	forecast  report.Titled
	moved     map[string][]capacity.Item // what a backfill writes, by session
}

func measure(
	ctx context.Context, endpoint string, table legacy.Table, prices string, progress func(string),
) (bench.Result, error) {
	known, err := forecast.Load(os.DirFS(prices))
	if err != nil {
		return nil, err
	}
	server, err := gated(endpoint)
	if err != nil {
		return nil, err
	}
	defer server.Close()
	out, b := &result{}, tables{client: rig.Client(server.URL), endpoint: server.URL, app: table}
	progress("a backfill to warm up")
	if err := out.measureSpeed(ctx, b, 1); err != nil {
		return nil, err
	}
	for _, segments := range measuredSegments {
		progress(fmt.Sprintf("speed in %d segments", segments))
		if err := out.measureSpeed(ctx, b, segments); err != nil {
			return nil, err
		}
	}
	small := b
	small.app.Users, small.app.Sessions, small.app.Messages = table.Users/3, table.Sessions/3, table.Messages/3
	for _, segments := range measuredSegments {
		progress(fmt.Sprintf("units in %d segments", segments))
		rate := 0.0
		if segments == 1 { // the one that is predicted
			rate = math.Ceil(out.slowest() * rateShare)
		}
		if err := out.measureUnits(ctx, small, segments, rate); err != nil {
			return nil, err
		}
	}
	out.forecast = out.Units[0].forecasts(known.Prices)
	return *out, nil
}

// slowest is the least number of messages a second of all backfills.
func (r result) slowest() float64 {
	return slices.MinFunc(r.Rows, func(a, b row) int { return cmp.Compare(a.Migrated, b.Migrated) }).Migrated
}

// timeOver is the time of all backfills over that of the same transactions.
func (r result) timeOver() float64 {
	migrated, bare := 0.0, 0.0
	for _, row := range r.Rows {
		migrated, bare = migrated+1/row.Migrated, bare+1/row.Transactions
	}
	return migrated / bare
}

// Bars returns the limits.
func (r result) Bars() []report.Bar {
	u := r.Units[0]
	off := func(ratio float64) float64 { return math.Max(ratio, 1/ratio) }
	return []report.Bar{
		report.AtMost("time of the backfills over that of the same transactions", r.timeOver(), maxTime),
		report.AtMost("write units of a migrated message over those in batches", u.Write/u.BareWrite, maxWrites),
		report.AtMost("write units of a message when the backfill is repeated", u.AgainWrite, maxAgain),
		report.AtMost("records that a dry run predicts, off by", off(r.Predicted.Records), maxError),
		report.AtMost("write units that it predicts, off by", off(r.Predicted.Write), maxError),
		report.AtMost("time that it predicts, off by", off(r.Predicted.Time), maxError),
	}
}

// Note says what was copied.
func (r result) Note() string {
	return fmt.Sprintf("DynamoDB Local; %d messages of about %.0f bytes", r.Messages, r.Bytes)
}

// Tables returns the tables of what was measured, and of the forecast.
func (r result) Tables() []report.Titled {
	speed := report.NewTitled("Messages a second",
		"segments", "messages/s", "same transactions", "ratio", "batches", "ratio", "second time")
	for _, row := range r.Rows {
		speed.Add(fmt.Sprint(row.Segments), fmt.Sprintf("%.0f", row.Migrated), fmt.Sprintf("%.0f", row.Transactions),
			fmt.Sprintf("%.2f", row.Migrated/row.Transactions), fmt.Sprintf("%.0f", row.Batches),
			fmt.Sprintf("%.2f", row.Migrated/row.Batches), fmt.Sprintf("%.2f", row.Again))
	}
	units := report.NewTitled("Capacity units for a message",
		"segments", "write", "in batches", "read", "second time, write", "second time, read", "verify, read")
	for _, u := range r.Units {
		units.Add(fmt.Sprint(u.Segments), fmt.Sprintf("%.2f", u.Write), fmt.Sprintf("%.2f", u.BareWrite),
			fmt.Sprintf("%.2f", u.Read), fmt.Sprintf("%.3f", u.AgainWrite), fmt.Sprintf("%.2f", u.AgainRead),
			fmt.Sprintf("%.2f", u.VerifyRead))
	}
	p := r.Predicted
	predicted := report.NewTitled("What a dry run of a third of the table predicts",
		"predicted / real", "records", "write units", "read units", "time")
	predicted.Add(fmt.Sprintf("at %.0f messages/s", p.Rate), fmt.Sprintf("%.2f", p.Records),
		fmt.Sprintf("%.2f", p.Write), fmt.Sprintf("%.2f", p.Read), fmt.Sprintf("%.2f", p.Time))
	return []report.Titled{speed, units, predicted, r.forecast}
}
