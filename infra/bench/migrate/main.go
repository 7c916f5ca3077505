// Command migrate measures the backfill of a migration on DynamoDB Local: messages a second in 1, 2, 4 and 8 segments,
// beside bare parallel scans that write the same records in the same transactions and in batches, the capacity units of
// a message, and how far a dry run predicts them. From the units it forecasts time and cost for a million to a billion
// messages. It prints tables and writes a section of a document.
//
//	go run ./infra/bench/migrate [-sessions 150] [-messages 3000] [-docs folder]
package main

import (
	"context"
	"flag"
	"fmt"
	"math"
	"strings"

	"github.com/throughline/throughline/infra/bench"
	"github.com/throughline/throughline/infra/bench/capacity"
	"github.com/throughline/throughline/infra/bench/report"
	"github.com/throughline/throughline/infra/legacy"
	"github.com/throughline/throughline/internal/migration"
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

// measuredSegments are the numbers of segments that are compared.
var measuredSegments = []int{1, 2, 4, 8}

// rateShare is the rate limit of the backfill whose time is predicted, over what the engine does.
const rateShare = 0.3

func main() {
	sessions := flag.Int("sessions", 150, "sessions of the table")
	messages := flag.Int("messages", 3000, "messages in their arrays")
	prices := flag.String("prices", "docs", "folder of the documents, which has the file of prices")
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

// result is what the benchmark found.
type result struct {
	Messages  int         `json:"messages"`
	Bytes     float64     `json:"bytes"` // of a message's record
	Rows      []row       `json:"rows"`
	Units     []unitCosts `json:"units"`
	Predicted prediction  `json:"predicted"`
	forecast  *report.Table
	moved     map[string][]capacity.Item // what a backfill writes, by session
}

func measure(
	ctx context.Context, endpoint string, table legacy.Table, docs string, progress func(string),
) (bench.Result, error) {
	prices, err := readPrices(docs)
	if err != nil {
		return nil, err
	}
	server, err := gated(endpoint)
	if err != nil {
		return nil, err
	}
	defer server.Close()
	out, b := &result{}, newTables(server.URL, table)
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
	out.forecast = out.Units[0].forecasts(prices)
	return *out, nil
}

// slowest is the least number of messages a second of all backfills.
func (r result) slowest() float64 {
	least := math.Inf(1)
	for _, row := range r.Rows {
		least = min(least, row.Migrated)
	}
	return least
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

func (r result) tables() (speed, units, predicted *report.Table) {
	speed = &report.Table{Header: []string{
		"segments", "messages/s", "same transactions", "ratio", "batches", "ratio", "second time",
	}}
	for _, row := range r.Rows {
		speed.Add(fmt.Sprint(row.Segments), fmt.Sprintf("%.0f", row.Migrated), fmt.Sprintf("%.0f", row.Transactions),
			fmt.Sprintf("%.2f", row.Migrated/row.Transactions), fmt.Sprintf("%.0f", row.Batches),
			fmt.Sprintf("%.2f", row.Migrated/row.Batches), fmt.Sprintf("%.2f", row.Again))
	}
	units = &report.Table{Header: []string{
		"segments", "write", "in batches", "read", "second time, write", "second time, read", "verify, read",
	}}
	for _, u := range r.Units {
		units.Add(fmt.Sprint(u.Segments), fmt.Sprintf("%.2f", u.Write), fmt.Sprintf("%.2f", u.BareWrite),
			fmt.Sprintf("%.2f", u.Read), fmt.Sprintf("%.3f", u.AgainWrite), fmt.Sprintf("%.2f", u.AgainRead),
			fmt.Sprintf("%.2f", u.VerifyRead))
	}
	p := r.Predicted
	predicted = &report.Table{Header: []string{"predicted / real", "records", "write units", "read units", "time"}}
	predicted.Add(fmt.Sprintf("at %.0f messages/s", p.Rate), fmt.Sprintf("%.2f", p.Records),
		fmt.Sprintf("%.2f", p.Write), fmt.Sprintf("%.2f", p.Read), fmt.Sprintf("%.2f", p.Time))
	return speed, units, predicted
}

// Text renders the result for a terminal.
func (r result) Text() string {
	speed, units, predicted := r.tables()
	return strings.Join([]string{
		speed.Text(), units.Text(), predicted.Text(), r.forecast.Text(), report.BarTable(r.Bars()).Text(),
	}, "\n")
}

// Markdown renders the section of the document.
func (r result) Markdown() string {
	speed, units, predicted := r.tables()
	u := r.Units[0]
	return fmt.Sprintf(`## Migration

A backfill of %d messages of about %.0f bytes from the arrays of an app's records, by the function migrate on DynamoDB
Local, beside bare parallel scans that write the same records: in the same transactions, measured before and after the
backfill, and in batches, which have no conditions and may be carried out in part. Measured on %s.

DynamoDB Local has one lock: it carries out one write after the other, and writes that wait too long for the lock fail.
So it is handed one write at a time, of the backfill and of the bare writes alike. More segments are therefore not
faster here; the ratios count. "Second time" is a backfill that finds everything done, over the first.

`, r.Messages, r.Bytes, report.ThisMachine()) + speed.Markdown() + `
Units for a message, by AWS's documented rules, because the engine reports wrong ones for transactions. A message is
written in a transaction, which takes the table's part twice and the index's once.

` + units.Markdown() + `
What a dry run of a third of the table predicts, over what the backfill then took. The prediction of read units has
those that AWS charges for records which are not there; the engine does not report them.

` + predicted.Markdown() + `
` + fmt.Sprintf(`What a table takes: n messages in s segments write at most min(s × %d × %.0f / %.1f s, %d / %.2f)
messages a second. The first term is %d sessions at once in each segment, %.0f messages to a transaction, at an assumed
%.1f s for each with its reads; the second is what DynamoDB grants a table without an increase. A run begins with half
of what the table takes at once, which for a new on-demand table is %d write units a second, and doubles that in %d
minutes. The cost is n × (%.2f × write price + %.2f × read price) for backfill and verify, and the seconds of a
function of %d GB for each segment, at the prices of [docs/scale](scale/prices.json). The action index comes on top: it
costs what summaries and indexing of live sessions cost.

`, migration.MaxWorkers, u.Messages, callTime.Seconds(), tableUnits, u.Write, migration.MaxWorkers, u.Messages,
		callTime.Seconds(), firstUnits, int(growth.Minutes()), u.Write, u.Read+u.VerifyRead, memoryGB) +
		r.forecast.Markdown() + "\n" + limits + report.BarTable(r.Bars()).Markdown()
}

// limits says why the limits are what they are.
const limits = `What has to hold, each against a floor of the same run. A backfill reads each session and its copies
before it writes, and stores how far it is after each page; half of the time of the same transactions is what that may
take. Its units may be a twentieth more than those of the same records twice, for sessions and checkpoints. A repeated
one writes checkpoints only. A prediction is for a decision on a night and a budget: off by a seventh changes neither.

`
