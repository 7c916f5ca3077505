// Package report turns a benchmark's results into what people read and programs compare: tables in Markdown,
// quantiles, bars, JSON, a description of the machine, and the section of a document that holds them.
package report

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// Table is rows under a header. The first column holds names, aligned left; the others hold numbers, aligned right. A
// row may be shorter than the header.
type Table struct {
	Header []string
	Rows   [][]string
}

// Add appends a row.
func (t *Table) Add(cells ...string) { t.Rows = append(t.Rows, cells) }

// Titled is a table under its title. The note, if any, is a paragraph after it.
type Titled struct {
	Title string
	*Table
	Note string
}

// NewTitled returns a table without rows.
func NewTitled(title string, header ...string) Titled {
	return Titled{title, &Table{Header: header}, ""}
}

// Markdown renders the table for documents and terminals, with aligned columns.
func (t *Table) Markdown() string {
	widths := t.widths()
	lines := make([]string, len(widths))
	for i, w := range widths {
		if lines[i] = strings.Repeat("-", w-1) + ":"; i == 0 {
			lines[i] = strings.Repeat("-", w)
		}
	}
	var b strings.Builder
	for _, row := range append([][]string{t.Header, lines}, t.Rows...) {
		b.WriteString("| " + strings.Join(t.padded(row, widths), " | ") + " |\n")
	}
	return b.String()
}

// widths returns the columns' widths, which are at least 3.
func (t *Table) widths() []int {
	widths := make([]int, len(t.Header))
	for _, row := range append([][]string{t.Header}, t.Rows...) {
		for i := range t.Header {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell(row, i)), 3)
		}
	}
	return widths
}

func (t *Table) padded(row []string, widths []int) []string {
	out := make([]string, len(widths))
	for i, w := range widths {
		text := cell(row, i)
		space := strings.Repeat(" ", w-utf8.RuneCountInString(text))
		if out[i] = space + text; i == 0 {
			out[i] = text + space
		}
	}
	return out
}

func cell(row []string, i int) string {
	if i < len(row) {
		return row[i]
	}
	return ""
}

// Thousands writes a number with a comma between thousands and only the decimals that it needs.
func Thousands(v float64) string {
	whole, fraction, _ := strings.Cut(strconv.FormatFloat(v, 'f', -1, 64), ".")
	for i := len(whole) - 3; i > 0 && whole[i-1] != '-'; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if fraction != "" {
		whole += "." + fraction
	}
	return whole
}
