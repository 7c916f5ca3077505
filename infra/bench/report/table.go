// Package report turns the results of a benchmark into Markdown: tables, bars, quantiles, the machine, and the section
// of a document that holds them.
package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Table is rows under a title and a header. The first column holds names, aligned left; the others hold numbers,
// aligned right. A row may be shorter than the header.
type Table struct {
	Title  string
	Header []string
	Rows   [][]string
}

// NewTable returns a table without rows.
func NewTable(title string, header ...string) *Table { return &Table{Title: title, Header: header} }

// Add appends a row. Numbers have a comma between thousands and at most three decimals, durations are in milliseconds
// with two.
func (t *Table) Add(cells ...any) {
	row := make([]string, len(cells))
	for i, c := range cells {
		switch c := c.(type) {
		case int:
			row[i] = Thousands(float64(c))
		case float64:
			row[i] = Thousands(math.Round(c*1000) / 1000)
		case time.Duration:
			row[i] = strconv.FormatFloat(float64(c)/float64(time.Millisecond), 'f', 2, 64)
		default:
			row[i] = fmt.Sprint(c)
		}
	}
	t.Rows = append(t.Rows, row)
}

// Percent writes a share in percent, with one decimal.
func Percent(share float64) string { return strconv.FormatFloat(100*share, 'f', 1, 64) }

// Markdown renders the table for documents and terminals. The title, if any, is above it.
func (t *Table) Markdown() string {
	var b strings.Builder
	if t.Title != "" {
		fmt.Fprintf(&b, "\n**%s**\n\n", t.Title)
	}
	fmt.Fprintf(&b, "| %s |\n|---%s|\n", strings.Join(t.Header, " | "), strings.Repeat("|---:", len(t.Header)-1))
	for _, row := range t.Rows {
		cells := make([]string, len(t.Header)) // the last may be empty
		copy(cells, row)
		fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | "))
	}
	return b.String()
}

// Thousands writes a number with a comma between thousands and only the decimals that it needs.
func Thousands(v float64) string {
	whole, fraction, found := strings.Cut(strconv.FormatFloat(v, 'f', -1, 64), ".")
	for i := len(whole) - 3; i > 0 && whole[i-1] != '-'; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if found {
		whole += "." + fraction
	}
	return whole
}
