package storebench

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/throughline/throughline/infra/bench/capacity"
	"github.com/throughline/throughline/infra/bench/report"
)

// turnContenders and pageContenders are in the order of the tables. Each is compared with a floor of its kind.
var turnContenders = []compared{
	{BareTurn, BareTurn},
	{Warm, BareTurn},
	{Cold, BareTurn},
	{BareTurnKeyed, BareTurnKeyed},
	{WarmKeyed, BareTurnKeyed},
	{ColdKeyed, BareTurnKeyed},
	{Array, BareTurn},
}

var pageContenders = []compared{{BareQuery, BareQuery}, {Warm, BareQuery}, {Cold, BareQuery}, {Array, BareQuery}}

type compared struct{ contender, floor string }

// tableSpec is one table. cell returns a cell's text from a contender's row and its floor's row.
type tableSpec struct {
	title      string
	kind       Kind
	contenders []compared
	cell       func(r, floor Row) string
}

func tableSpecs() []tableSpec {
	return []tableSpec{
		{"Capacity units per turn (write, + read)", Turn, turnContenders, unitsCell},
		{"DynamoDB calls per turn", Turn, turnContenders, callsCell},
		{"Time per turn over the bare transaction's: median (p95)", Turn, turnContenders, timeCell},
		{"Capacity units of the newest page", Newest, pageContenders, unitsCell},
		{"DynamoDB calls of the newest page", Newest, pageContenders, callsCell},
		{"Time of the newest page over the bare query's: median (p95)", Newest, pageContenders, timeCell},
		{"Capacity units of the last page, by cursor", Last, pageContenders[:3], unitsCell},
		{"Time of the last page over the bare query's: median (p95)", Last, pageContenders[:3], timeCell},
	}
}

func unitsCell(r, _ Row) string {
	switch {
	case r.WriteUnits == 0:
		return decimal(r.ReadUnits)
	case r.ReadUnits == 0:
		return decimal(r.WriteUnits)
	}
	return decimal(r.WriteUnits) + " + " + decimal(r.ReadUnits)
}

func callsCell(r, _ Row) string {
	if r.Calls == float64(r.MostCalls) {
		return strconv.Itoa(r.MostCalls)
	}
	return fmt.Sprintf("%s (at most %d)", decimal(r.Calls), r.MostCalls)
}

func timeCell(r, floor Row) string {
	return fmt.Sprintf("%.2f (%.2f)", ratio(r.MedianMS, floor.MedianMS), ratio(r.P95MS, floor.P95MS))
}

func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

// decimal writes at most two decimals.
func decimal(v float64) string {
	return strings.TrimSuffix(strings.TrimRight(strconv.FormatFloat(v, 'f', 2, 64), "0"), ".")
}

// table returns a table with a row for each contender and a column for each length.
func (r Result) table(spec tableSpec) *report.Table {
	lengths := r.lengths(spec.kind)
	t := &report.Table{Header: []string{"messages in the session"}}
	for _, length := range lengths {
		t.Header = append(t.Header, report.Thousands(float64(length)))
	}
	for _, c := range spec.contenders {
		cells := []string{c.contender}
		for _, length := range lengths {
			row, ok := r.Row(spec.kind, c.contender, length)
			floor, okFloor := r.Row(spec.kind, c.floor, length)
			if ok && okFloor {
				cells = append(cells, spec.cell(row, floor))
			} else {
				cells = append(cells, "breaks")
			}
		}
		t.Add(cells...)
	}
	return t
}

func (r Result) arrayEnd() string {
	e := r.ArrayEnd
	return fmt.Sprintf("The embedded array ends at %s messages, in an item of %s of the %s bytes that DynamoDB takes; "+
		"its next turn is refused: %q.",
		report.Thousands(float64(e.Messages)), report.Thousands(float64(e.Bytes)),
		report.Thousands(capacity.MaxItemBytes), e.Error)
}

// Text renders the result for a terminal.
func (r Result) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, DynamoDB Local; %d repeats, 2 messages a turn, %d a page\n",
		r.Machine, r.Settings.Repeats, PageMessages)
	for _, spec := range tableSpecs() {
		fmt.Fprintf(&b, "\n%s\n%s", spec.title, r.table(spec).Text())
	}
	fmt.Fprintf(&b, "\n%s\n\n%s", r.arrayEnd(), report.BarTable(r.Bars()).Text())
	return b.String()
}

// Markdown renders the result as a section of a document.
func (r Result) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "## The message store\n\nMeasured on %s by `make bench-store`: %s; DynamoDB Local; "+
		"%d repeats of everything.\n\n", r.Date, r.Machine, r.Settings.Repeats)
	fmt.Fprintf(&b, "%s\n\n%s\n", r.arrayEnd(), explanation)
	for _, spec := range tableSpecs() {
		fmt.Fprintf(&b, "\n**%s**\n\n%s", spec.title, r.table(spec).Markdown())
	}
	fmt.Fprintf(&b, "\n**What has to hold**\n\n%s", report.BarTable(r.Bars()).Markdown())
	return b.String()
}

const explanation = `A turn is two messages of 200 to 600 characters, 40 seconds after the turn before.
The contenders take turns in one run on one engine, and the order changes from repeat to repeat. Times are given only as
ratios to the bare call of the same run, because the engine is not DynamoDB. A p95 is that of few repeats on a machine
with other work: it shows whether something is far off, no more.

- **bare transaction**: one ` + "`TransactWriteItems`" + ` of the very items that Throughline writes (two messages,
  the session's counters, the idempotency record where a key was sent), to the same indexes, without conditions.
- **bare query**: one eventually consistent ` + "`Query`" + ` of the index for the page.
- **warm** is a store that has seen the session, **cold** one that has just started.
- **embedded array**: ` + "`list_append`" + ` to one item; ` + "`GetItem`" + ` reads it whole for any page.

Capacity is computed from the items, by AWS's documented rules: 1 KB a write unit, 4 KB a read unit, half for
eventually consistent reads, the table's part of a transaction twice, an index once for every entry that a write
changes and twice where the entry's key changes. For single calls this agrees with what the engine reports, to the
byte; what the engine reports for transactions is wrong. The turn that begins a session writes one unit more than later
turns: the session enters the index of what falls due. The fraction of a unit in Throughline's turns is the session's
move in the index of recent sessions, two writes in every quarter of an hour. A page's second call, which the bare
query does without, reads the session's record consistently: it says which messages there have to be while the index
lags.`
