// Package report turns the results of a benchmark into Markdown: tables, bars, quantiles, the machine, and the section
// of a document that holds them.
package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
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

// Markdown renders the table for documents and terminals, with aligned columns. The title, if any, is above it.
func (t *Table) Markdown() string {
	lines := make([]string, len(t.Header))
	for i := range lines {
		lines[i] = "---"
	}
	rows := append([][]string{t.Header, lines}, t.Rows...)
	widths := make([]int, len(t.Header))
	for _, row := range rows {
		for i := range widths {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell(row, i)))
		}
	}
	var b strings.Builder
	if t.Title != "" {
		fmt.Fprintf(&b, "\n**%s**\n\n", t.Title)
	}
	for n, row := range rows {
		for i, width := range widths {
			text := cell(row, i)
			space := strings.Repeat(" ", width-utf8.RuneCountInString(text))
			switch {
			case n == 1 && i == 0:
				text = strings.Repeat("-", width)
			case n == 1:
				text = strings.Repeat("-", width-1) + ":"
			case i == 0:
				text += space
			default:
				text = space + text
			}
			b.WriteString("| " + text + " ")
		}
		b.WriteString("|\n")
	}
	return b.String()
}

func cell(row []string, i int) string {
	if i < len(row) {
		return row[i]
	}
	return ""
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
