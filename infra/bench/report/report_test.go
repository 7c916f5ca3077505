package report_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/throughline/throughline/infra/bench/report"
	"github.com/throughline/throughline/internal/testing/check"
)

func TestQuantilesInterpolate(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		samples []time.Duration
		q       float64
		want    time.Duration
	}{
		{nil, 0.5, 0},
		{[]time.Duration{7}, 0.95, 7},
		{[]time.Duration{30, 10, 20}, 0.5, 20},
		{[]time.Duration{40, 10, 20, 30}, 0.5, 25},
		{[]time.Duration{0, 100}, 0.95, 95},
		{[]time.Duration{3, 1, 2}, 1, 3},
		{[]time.Duration{3, 1, 2}, 0, 1},
	} {
		before := slices.Clone(c.samples)
		if got := report.Quantile(c.samples, c.q); got != c.want || !slices.Equal(before, c.samples) {
			t.Errorf("quantile %v of %v is %d, want %d", c.q, before, got, c.want)
		}
	}
}

func TestTables(t *testing.T) {
	t.Parallel()
	table := report.NewTable("Turns", "per turn", "calls", "ms")
	table.Add("bare", 1234, 1500*time.Microsecond)
	table.Add("embedded array", 1.23456)
	want := "\n**Turns**\n\n" +
		"| per turn | calls | ms |\n" +
		"|---|---:|---:|\n" +
		"| bare | 1,234 | 1.50 |\n" +
		"| embedded array | 1.235 |  |\n"
	check.Same(t, want, table.Markdown(), "markdown")
}

// TestBarsThatAreNotHeldAreNamed has a value at its limit, one above it, and one that could not be measured.
func TestBarsThatAreNotHeldAreNamed(t *testing.T) {
	t.Parallel()
	r := report.Result{Bars: []report.Bar{{"at", 1, 1}, {"above", 1.1, 1}, {"missing", -1, 1}}}
	if diff := cmp.Diff([]string{"above", "missing"}, r.Missed()); diff != "" {
		t.Error(diff)
	}
}

func TestSectionsAreReplacedInPlace(t *testing.T) {
	t.Parallel()
	page := filepath.Join(t.TempDir(), "benchmarks.md")
	const broken = "<!-- begin prompt -->\nno end"
	for _, c := range []struct{ before, body, want string }{
		{"# By hand.\n", "one\n", "# By hand.\n\n<!-- begin store -->\none\n<!-- end store -->\n"},
		{
			"<!-- begin store -->\none\n<!-- end store -->\n\nMore.\n", "two",
			"<!-- begin store -->\ntwo\n<!-- end store -->\n\nMore.\n",
		},
		{"<!-- begin store -->\nno end", "x", "<!-- begin store -->\nno end"},
		{broken, "x", broken + "\n\n<!-- begin store -->\nx\n<!-- end store -->\n"},
	} {
		check.OK(t, os.WriteFile(page, []byte(c.before), 0o600))
		err := report.WriteSection(page, "store", c.body)
		got, readErr := os.ReadFile(page)
		if (err != nil) != (c.before == c.want) || readErr != nil || string(got) != c.want {
			t.Errorf("%q becomes %q, %v", c.before, got, err)
		}
	}
}

func TestThousands(t *testing.T) {
	t.Parallel()
	for v, want := range map[float64]string{
		0: "0", 7.5: "7.5", 999: "999", 1000: "1,000", 1234567: "1,234,567", -1000: "-1,000", 0.1: "0.1",
	} {
		check.Equal(t, want, report.Thousands(v), "%v is written", v)
	}
}
