package report

import (
	"cmp"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"
)

// Bar is a value that must not be above its limit.
type Bar struct {
	Name         string
	Value, Limit float64
}

// Held reports whether the value is within the limit. A negative value could not be measured.
func (b Bar) Held() bool { return b.Value >= 0 && b.Value <= b.Limit }

// Result is what a benchmark found.
type Result struct {
	// Note says what the numbers depend on beside the machine, in part of a sentence.
	Note string
	// Tables have the numbers. What they mean is written by hand in docs/benchmarks.md.
	Tables []*Table
	Bars   []Bar
}

// AddTable adds a table without rows.
func (r *Result) AddTable(title string, header ...string) *Table {
	t := NewTable(title, header...)
	r.Tables = append(r.Tables, t)
	return t
}

// AddBar adds a value that must not be above its limit.
func (r *Result) AddBar(name string, value, limit float64) {
	r.Bars = append(r.Bars, Bar{name, value, limit})
}

// Missed returns the names of the bars that are not held.
func (r Result) Missed() (names []string) {
	for _, b := range r.Bars {
		if !b.Held() {
			names = append(names, b.Name)
		}
	}
	return names
}

// Markdown renders the result as a section of docs/benchmarks.md, which a command measured.
func (r Result) Markdown(command string) string {
	held := NewTable("What has to hold", "has to hold", "measured", "at most", "")
	for _, b := range r.Bars {
		word := "held"
		if !b.Held() {
			word = "NOT HELD"
		}
		held.Add(b.Name, b.Value, b.Limit, word)
	}
	var b strings.Builder
	today := time.Now().UTC().Format(time.DateOnly)
	fmt.Fprintf(&b, "Measured on %s by `%s`: %s; %s.\n", today, command, ThisMachine(), r.Note)
	for _, t := range append(slices.Clone(r.Tables), held) {
		b.WriteString(t.Markdown())
	}
	return b.String()
}

// WriteSection replaces one section of a Markdown file, between its two marker comments. A document without the
// comments gets them at its end. So several benchmarks share one document, and the text around their sections is
// written by hand.
func WriteSection(path, name, body string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read document: %w", err)
	}
	document, begin, end := string(text), "<!-- begin "+name+" -->", "<!-- end "+name+" -->"
	before, rest, found := strings.Cut(document, begin)
	after := "\n"
	if !found {
		before = strings.TrimRight(document, "\n") + "\n\n"
	} else if _, after, found = strings.Cut(rest, end); !found {
		return fmt.Errorf("the document's section %q has no end", name)
	}
	document = before + begin + "\n" + strings.TrimSpace(body) + "\n" + end + after
	return os.WriteFile(path, []byte(document), 0o600) // the file keeps its mode
}

// Median returns the middle of the samples, or the mean of the two in the middle. It is 0 without samples.
func Median(samples []time.Duration) time.Duration { return Quantile(samples, 0.5) }

// Quantile returns the value below which the share q (0 to 1) of the samples lies, interpolated between two samples.
// It is 0 without samples.
func Quantile[N ~int64 | ~float64](samples []N, q float64) N {
	if len(samples) == 0 {
		return 0
	}
	sorted := slices.SortedFunc(slices.Values(samples), cmp.Compare[N])
	at := q * float64(len(sorted)-1)
	low := int(at)
	high := min(low+1, len(sorted)-1)
	return sorted[low] + N((at-float64(low))*float64(sorted[high]-sorted[low]))
}

// ThisMachine describes the machine that the process runs on, as far as numbers depend on it. Most ARM kernels name no
// model of the processor.
func ThisMachine() string {
	cpu := "unknown CPU"
	info, _ := os.ReadFile("/proc/cpuinfo") // only Linux has it
	if model := regexp.MustCompile(`model name\s*: (.*)`).FindSubmatch(info); model != nil {
		cpu = strings.Join(strings.Fields(string(model[1])), " ")
	}
	return fmt.Sprintf("%s, %d cores, %s/%s, %s", cpu, runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, runtime.Version())
}
