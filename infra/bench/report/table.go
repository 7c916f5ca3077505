package report

import (
	"strings"
	"unicode/utf8"
)

// Table is rows under a header. Its first column holds names and is aligned left, the others hold numbers and are
// aligned right. A row may be shorter than the header.
type Table struct {
	Header []string
	Rows   [][]string
}

// Add appends a row.
func (t *Table) Add(cells ...string) { t.Rows = append(t.Rows, cells) }

// Text is the table for a terminal, with columns two spaces apart.
func (t *Table) Text() string {
	widths := t.widths()
	var b strings.Builder
	for _, row := range append([][]string{t.Header, rule(widths)}, t.Rows...) {
		b.WriteString(strings.TrimRight(strings.Join(t.padded(row, widths), "  "), " "))
		b.WriteByte('\n')
	}
	return b.String()
}

// Markdown is the table for a document, aligned in its source too.
func (t *Table) Markdown() string {
	widths := t.widths()
	for i := range widths {
		widths[i] = max(widths[i], 3)
	}
	lines := rule(widths)
	for i := range lines[1:] {
		lines[i+1] = lines[i+1][1:] + ":"
	}
	var b strings.Builder
	for _, row := range append([][]string{t.Header, lines}, t.Rows...) {
		b.WriteString("| " + strings.Join(t.padded(row, widths), " | ") + " |\n")
	}
	return b.String()
}

func (t *Table) widths() []int {
	widths := make([]int, len(t.Header))
	for _, row := range append([][]string{t.Header}, t.Rows...) {
		for i := range t.Header {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell(row, i)))
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

func rule(widths []int) []string {
	out := make([]string, len(widths))
	for i, w := range widths {
		out[i] = strings.Repeat("-", w)
	}
	return out
}
