// Command migrate measures the backfill of a migration on DynamoDB Local: messages a second in 1, 2, 4 and 8 segments,
// beside a bare parallel scan that writes the same records, and capacity units for a message. From the units it
// forecasts time and cost for a million to a billion messages. It prints tables and writes a section of a document.
//
//	go run ./infra/bench/migrate [-sessions 1000] [-messages 20000] [-docs folder]
package main

import (
	"context"
	"flag"
	"fmt"
	"strings"

	"github.com/throughline/throughline/infra/bench"
	"github.com/throughline/throughline/infra/bench/report"
	"github.com/throughline/throughline/infra/legacy"
)

// The table of the benchmark: contents as long as those of people and models.
const (
	contentBytes = 400
	perUser      = 1
	seed         = 20260105
)

// The limits: a transaction takes the table's part twice, and a repeated backfill only its checkpoints.
const (
	maxWrites = 2.1
	maxAgain  = 0.05
)

// measuredSegments are the numbers of segments that are compared.
var measuredSegments = []int{1, 2, 4, 8}

func main() {
	sessions := flag.Int("sessions", 1_000, "sessions of the table")
	messages := flag.Int("messages", 20_000, "messages in their arrays")
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
	// Migrated and Bare are messages a second.
	Migrated float64 `json:"migrated"`
	Bare     float64 `json:"bare"`
	// Again is the time of a second backfill over that of the first.
	Again float64 `json:"again"`
}

// result is what the benchmark found.
type result struct {
	Messages int       `json:"messages"`
	Bytes    float64   `json:"bytes"` // of a message's record
	Rows     []row     `json:"rows"`
	Units    unitCosts `json:"units"`
	// BareWrite are the write units for a message that the bare writes take.
	BareWrite float64 `json:"bareWrite"`
	// AgainWrite are the write units for a message of a second backfill.
	AgainWrite float64 `json:"againWrite"`
	forecast   *report.Table
}

func measure(
	ctx context.Context, endpoint string, table legacy.Table, docs string, progress func(string),
) (bench.Result, error) {
	prices, err := readPrices(docs)
	if err != nil {
		return nil, err
	}
	out := &result{}
	for _, segments := range measuredSegments {
		progress(fmt.Sprintf("%d segments", segments))
		if err := out.measureSpeed(ctx, endpoint, table, segments); err != nil {
			return nil, err
		}
	}
	progress("capacity units")
	if err := out.measureUnits(ctx, endpoint, table); err != nil {
		return nil, err
	}
	out.forecast = out.Units.forecasts(prices)
	return *out, nil
}

// Bars returns the limits: what is written twice for a transaction, and nothing that is written again.
func (r result) Bars() []report.Bar {
	return []report.Bar{
		report.AtMost("write units of a migrated message over the bare write's", r.Units.Write/r.BareWrite, maxWrites),
		report.AtMost("write units of a message when the backfill is repeated", r.AgainWrite, maxAgain),
	}
}

func (r result) tables() (speed, units *report.Table) {
	speed = &report.Table{Header: []string{"segments", "messages/s", "bare scan and write", "ratio", "second time"}}
	for _, row := range r.Rows {
		speed.Add(fmt.Sprint(row.Segments), fmt.Sprintf("%.0f", row.Migrated), fmt.Sprintf("%.0f", row.Bare),
			fmt.Sprintf("%.2f", row.Migrated/row.Bare), fmt.Sprintf("%.2f", row.Again))
	}
	units = &report.Table{Header: []string{"units for a message", "write", "read"}}
	units.Add("backfill", fmt.Sprintf("%.2f", r.Units.Write), fmt.Sprintf("%.3f", r.Units.Read))
	units.Add("a second backfill", fmt.Sprintf("%.2f", r.AgainWrite), "")
	units.Add("verify", "0", fmt.Sprintf("%.3f", r.Units.VerifyRead))
	units.Add("bare scan and write", fmt.Sprintf("%.2f", r.BareWrite), "")
	return speed, units
}

// Text renders the result for a terminal.
func (r result) Text() string {
	speed, units := r.tables()
	return strings.Join([]string{speed.Text(), units.Text(), r.forecast.Text(), report.BarTable(r.Bars()).Text()}, "\n")
}

// Markdown renders the section of the document.
func (r result) Markdown() string {
	speed, units := r.tables()
	return fmt.Sprintf(`## Migration

A backfill of %d messages of about %.0f bytes from the arrays of an app's records, by the function migrate on DynamoDB
Local, beside a bare parallel scan that writes the same records in batches. Measured on %s.
"Second time" is a backfill that finds everything done, over the first.

`, r.Messages, r.Bytes, report.ThisMachine()) + speed.Markdown() + `
Units are counted by the documented rules, because the engine reports wrong ones for transactions. A message is written
in a transaction, which takes the table's part twice and the index's once.

` + units.Markdown() + `
` + fmt.Sprintf(`What a table takes: n messages in s segments write min(s × %.0f / %.1f s, %d / %.2f)
messages a second. The first term is one transaction of %.0f messages after the other in each segment, at an assumed
%.1f s each; the second is what DynamoDB grants a table without an increase. The cost is n × (%.2f × write price +
%.2f × read price) for backfill and verify, and the seconds of a function of %d GB for each segment, at the prices of
[docs/scale](scale/prices.json). The action index comes on top: it costs what summaries and indexing of live sessions
cost.

`, r.Units.Messages, callTime.Seconds(), tableUnits, r.Units.Write, r.Units.Messages, callTime.Seconds(),
		r.Units.Write, r.Units.Read+r.Units.VerifyRead, memoryGB) +
		r.forecast.Markdown() + "\n" + report.BarTable(r.Bars()).Markdown()
}
