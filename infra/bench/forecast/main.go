// Command forecast measures what a conversation uses of each service, and writes docs/scale.md: what that comes to for
// 10,000, a million and ten million users, in calls, capacity, concurrency and money, and what gives way first.
//
//	go -C infra/bench run ./forecast [-docs ../../docs] [-render]
//
// With -render it measures nothing and writes the document from the numbers in docs/scale.
package main

import (
	"context"
	_ "embed" // scale.md.tmpl
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"text/template"

	"github.com/throughline/throughline/infra/bench/report"
	"github.com/throughline/throughline/infra/bench/rig"
)

func main() {
	docs := flag.String("docs", "../../docs", "folder of the documents")
	render := flag.Bool("render", false, "write the document from the numbers that are there")
	flag.Parse()
	rig.Run("scale", func(ctx context.Context) error { return run(ctx, *docs, *render) })
}

func run(ctx context.Context, docs string, render bool) error {
	in, err := load(docs)
	if err != nil {
		return err
	}
	if !render {
		err := rig.OnEngine(ctx, func(endpoint string) (err error) {
			in.Units, err = measure(ctx, endpoint, historyDays, measuredDays, int(in.Workload.DaySessions),
				in.Workload.TurnsPerSession)
			return err
		})
		if err != nil {
			return err
		}
		text, err := json.MarshalIndent(in.Units, "", "  ")
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(docs, "scale/units.json"), append(text, '\n'), 0o600); err != nil {
			return err
		}
	}
	page, err := in.markdown()
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(docs, "scale.md"), []byte(page), 0o600)
}

// load reads the files of docs/scale.
func load(docs string) (in input, err error) {
	for name, into := range map[string]any{
		"workload": &in.Workload, "prices": &in, "limits": &in, "units": &in.Units,
	} {
		text, err := os.ReadFile(filepath.Join(docs, "scale", name+".json"))
		if err == nil {
			err = json.Unmarshal(text, into)
		}
		if err != nil {
			return in, fmt.Errorf("read %s: %w", name, err)
		}
	}
	return in, nil
}

//go:embed scale.md.tmpl
var document string

// page is what the document is written from.
type page struct {
	input
	Day             day
	Sizes           []size
	PartitionWrites int
}

// markdown writes the document.
func (in input) markdown() (string, error) {
	tmpl, err := template.New("scale.md").Option("missingkey=zero").Funcs(template.FuncMap{
		"thousands": func(v float64) string { return report.Thousands(math.Round(v)) },
		"percent":   func(v float64) string { return fmt.Sprintf("%.0f%%", 100*v) },
		"ratio":     func(v, of float64) float64 { return v / of },
		"tenth":     func(v float64) string { return fmt.Sprintf("%.1f%%", 100*v) },
		"one":       func(v float64) string { return fmt.Sprintf("%.1f", v) },
		"cents":     func(usd float64) string { return fmt.Sprintf("%.3f", 100*usd) },
		"dollars":   dollars,
		"short":     short,
	}).Parse(document)
	if err != nil {
		return "", err
	}
	p := page{input: in, Day: in.day(), PartitionWrites: partitionWrites}
	for _, users := range in.Workload.Users {
		p.Sizes = append(p.Sizes, in.size(users))
	}
	var b strings.Builder
	err = tmpl.Execute(&b, p)
	return b.String(), err
}

func dollars(v float64) string {
	if v < 100 {
		return fmt.Sprintf("%.2f", v)
	}
	return report.Thousands(math.Round(v))
}

// short writes a large number with its three leading digits.
func short(v float64) string {
	for i, name := range []string{" trillion", " billion", " million"} {
		if unit := math.Pow(1000, float64(4-i)); v >= unit {
			return fmt.Sprintf("%.3g", v/unit) + name
		}
	}
	if v < 100 {
		return fmt.Sprintf("%.2g", v)
	}
	return report.Thousands(math.Round(v))
}
