package report_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/throughline/throughline/infra/bench/report"
)

func TestQuantilesInterpolate(t *testing.T) {
	t.Parallel()
	tests := []struct {
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
	}
	for _, tt := range tests {
		if got := report.Quantile(tt.samples, tt.q); got != tt.want {
			t.Errorf("quantile %v of %v is %d, want %d", tt.q, tt.samples, got, tt.want)
		}
	}
	samples := []time.Duration{3, 1, 2}
	if report.Median(samples); !cmp.Equal(samples, []time.Duration{3, 1, 2}) {
		t.Errorf("the median reordered its samples: %v", samples)
	}
}

func TestTablesAreAligned(t *testing.T) {
	t.Parallel()
	table := &report.Table{Header: []string{"per turn", "calls", "µs"}}
	table.Add("bare", "1", "12.5")
	table.Add("embedded array", "10")
	markdown := "" +
		"| per turn       | calls |   µs |\n" +
		"| -------------- | ----: | ---: |\n" +
		"| bare           |     1 | 12.5 |\n" +
		"| embedded array |    10 |      |\n"
	if diff := cmp.Diff(markdown, table.Markdown()); diff != "" {
		t.Errorf("markdown (-want +got):\n%s", diff)
	}
}

func TestSectionsAreReplacedInPlace(t *testing.T) {
	t.Parallel()
	first, err := report.Section("# Benchmarks\n\nBy hand.\n", "store", "one\n")
	if err != nil {
		t.Fatal(err)
	}
	want := "# Benchmarks\n\nBy hand.\n\n<!-- begin store -->\none\n<!-- end store -->\n"
	if diff := cmp.Diff(want, first); diff != "" {
		t.Fatalf("appended (-want +got):\n%s", diff)
	}
	second, err := report.Section(first+"\nMore by hand.\n", "store", "two")
	if err != nil {
		t.Fatal(err)
	}
	want = "# Benchmarks\n\nBy hand.\n\n<!-- begin store -->\ntwo\n<!-- end store -->\n\nMore by hand.\n"
	if diff := cmp.Diff(want, second); diff != "" {
		t.Errorf("replaced (-want +got):\n%s", diff)
	}
	if _, err := report.Section("<!-- begin store -->\nbroken", "store", "x"); err == nil {
		t.Error("a section without an end was replaced")
	}
}

func TestFilesAreMadeWithTheirFolders(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	page := filepath.Join(folder, "docs", "benchmarks.md")
	for range 2 {
		if err := report.WriteSection(page, "# Benchmarks", "store", "text"); err != nil {
			t.Fatal(err)
		}
	}
	expectFile(t, page, "# Benchmarks\n\n<!-- begin store -->\ntext\n<!-- end store -->\n")
	numbers := filepath.Join(folder, "results", "store.json")
	if err := report.WriteJSON(numbers, map[string]int{"calls": 1}); err != nil {
		t.Fatal(err)
	}
	expectFile(t, numbers, "{\n  \"calls\": 1\n}\n")
}

func expectFile(t *testing.T, path, want string) {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", filepath.Base(path), diff)
	}
}

func TestCPUModelIsFound(t *testing.T) {
	t.Parallel()
	cpuinfo := "processor\t: 0\nvendor_id\t: GenuineIntel\nmodel name\t: Intel(R)  Xeon(R) Processor\n"
	if got := report.CPUModel(strings.NewReader(cpuinfo)); got != "Intel(R) Xeon(R) Processor" {
		t.Errorf("model is %q", got)
	}
	if got := report.CPUModel(strings.NewReader("processor : 0\n")); got != "" {
		t.Errorf("a model was made up: %q", got)
	}
	if m := report.ThisMachine(); m.Cores < 1 || m.CPU == "" || !strings.Contains(m.String(), m.OS) {
		t.Errorf("this machine is described as %+v", m)
	}
}

func TestThousands(t *testing.T) {
	t.Parallel()
	for v, want := range map[float64]string{
		0: "0", 7.5: "7.5", 999: "999", 1000: "1,000", 1234567: "1,234,567", -1000: "-1,000", 0.1: "0.1",
	} {
		if got := report.Thousands(v); got != want {
			t.Errorf("%v is written %q, want %q", v, got, want)
		}
	}
}
