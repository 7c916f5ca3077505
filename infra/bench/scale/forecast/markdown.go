package forecast

import (
	_ "embed" // scale.md.tmpl
	"fmt"
	"math"
	"strings"
	"text/template"

	"github.com/throughline/throughline/infra/bench/report"
)

//go:embed scale.md.tmpl
var document string

// page is what the document is written from.
type page struct {
	Input
	Day             Day
	Sizes           []Size
	PartitionWrites int
}

// Markdown writes the document.
func (in Input) Markdown() (string, error) {
	tmpl, err := template.New("scale.md").Funcs(template.FuncMap{
		"thousands": func(v float64) string { return report.Thousands(math.Round(v)) },
		"percent":   func(v float64) string { return fmt.Sprintf("%.0f%%", 100*v) },
		"tenth":     func(v float64) string { return fmt.Sprintf("%.1f%%", 100*v) },
		"one":       func(v float64) string { return fmt.Sprintf("%.1f", v) },
		"cents":     func(usd float64) string { return fmt.Sprintf("%.3f", 100*usd) },
		"dollars":   dollars,
		"short":     short,
	}).Parse(document)
	if err != nil {
		return "", fmt.Errorf("parse the document's template: %w", err)
	}
	p := page{Input: in, Day: in.Day(), PartitionWrites: partitionWrites}
	for _, users := range in.Workload.Users {
		p.Sizes = append(p.Sizes, in.Size(users))
	}
	var b strings.Builder
	if err := tmpl.Execute(&b, p); err != nil {
		return "", fmt.Errorf("write the document: %w", err)
	}
	return b.String(), nil
}

func dollars(v float64) string {
	if v < 100 {
		return fmt.Sprintf("%.2f", v)
	}
	return report.Thousands(math.Round(v))
}

// short writes a large number with its three leading digits.
func short(v float64) string {
	for _, unit := range []struct {
		size float64
		name string
	}{{1e12, " trillion"}, {1e9, " billion"}, {1e6, " million"}} {
		if v >= unit.size {
			return fmt.Sprintf("%.3g", v/unit.size) + unit.name
		}
	}
	if v < 100 {
		return fmt.Sprintf("%.2g", v)
	}
	return report.Thousands(math.Round(v))
}
