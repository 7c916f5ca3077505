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
func (r Result) table(spec tableSpec) report.Titled {
	lengths := r.lengths(spec.kind)
	t := report.NewTitled(spec.title, "messages in the session")
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

// Note says how much was measured, and where the embedded array ended.
func (r Result) Note() string {
	e := r.ArrayEnd
	return fmt.Sprintf("DynamoDB Local; %d repeats of everything. The embedded array ends at %s messages, in an item of "+
		"%s of the %s bytes that DynamoDB takes; its next turn is refused: %q", r.Settings.Repeats,
		report.Thousands(float64(e.Messages)), report.Thousands(float64(e.Bytes)), report.Thousands(capacity.MaxItemBytes),
		e.Error)
}

// Tables returns a table for each kind of number.
func (r Result) Tables() []report.Titled {
	var tables []report.Titled
	for _, spec := range tableSpecs() {
		tables = append(tables, r.table(spec))
	}
	return tables
}
