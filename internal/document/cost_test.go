package document_test

import (
	"encoding/json"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/throughline/throughline/internal/document"
	"github.com/throughline/throughline/internal/testing/check"
)

// TestCostOfText puts the documents whose text costs the most by what is known. None allocates more than 20 MB, and
// none has many more vectors than its value would have. It runs alone, because it counts what the process allocates.
func TestCostOfText(t *testing.T) {
	numbers := func(n int) string { return "[" + strings.Repeat("1,", n-1) + "1]" }
	deep := func(n, depth int, inner string) string {
		return strings.Repeat(`{"`+strings.Repeat("k", n)+`":`, depth) + inner + strings.Repeat("}", depth)
	}
	wide := func(n int, value string) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(`"` + strconv.Itoa(i) + `":` + value + `,`)
		}
		return "{" + b.String() + `"x":1}`
	}
	for name, p := range map[string]document.Put{
		"long names over a long list":  {Value: json.RawMessage(deep(3333, 30, numbers(4000)))},
		"the longest of both":          {Value: json.RawMessage(deep(4000, 32, numbers(64000)))},
		"a long name over many fields": {Value: json.RawMessage(deep(60<<10, 1, wide(17000, `{}`)))},
		"a small document":             {Value: json.RawMessage(deep(1000, 1, numbers(256)))},
		"all of it by other paths": {
			Value: json.RawMessage(`{"t":` + numbers(120000) + `}`), Index: []string{"$", "*", "t", "t[*]", "*[*]", "$.t"},
		},
		"numbers of many digits": {Value: json.RawMessage(`{"t":[` + strings.Repeat("1e308,", 40000) + `1]}`)},
	} {
		p.Key = "k"
		var d document.Document
		var err error
		bounded(t, name, func() { d, err = p.Document(now) })
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if most := 4*len(d.Value)/900 + 5; d.Vectors > most {
			t.Errorf("%s: %d bytes have %d vectors, want at most %d", name, len(d.Value), d.Vectors, most)
		}
	}
}

// bounded does something three times. It fails the test if that allocates more than 20 MB each time, or if the fastest
// takes more than a second: ten times the limit, for the race detector and busy machines.
func bounded(t interface {
	Logf(format string, args ...any)
	Errorf(format string, args ...any)
}, name string, do func(),
) {
	var before, after runtime.MemStats
	took := time.Hour
	runtime.ReadMemStats(&before)
	for range 3 {
		begin := time.Now()
		do()
		took = min(took, time.Since(begin))
	}
	runtime.ReadMemStats(&after)
	allocated := (after.TotalAlloc - before.TotalAlloc) / 3
	t.Logf("%s: %d KB, %v", name, allocated>>10, took)
	if allocated > 20<<20 || took > time.Second {
		t.Errorf("%s: %d bytes allocated, want at most 20 MB; %v, want at most 1 s", name, allocated, took)
	}
}

// TestCostOfFilters matches the largest values with the filters that cost the most by what is known.
func TestCostOfFilters(t *testing.T) {
	all := `{"$gt":1,"$gte":1,"$lt":1,"$lte":1,"$ne":1,"$eq":1}`
	most := document.MaxValueBytes - 100
	lists := strings.Repeat("[", 29) + "1" + strings.Repeat("]", 29)
	for name, value := range map[string]string{
		"numbers":      `{"a":[` + strings.Repeat("1,", most/2) + `1]}`,
		"digits":       `{"a":[` + strings.Repeat("1e308,", most/6) + `1]}`,
		"texts":        `{"a":[` + strings.Repeat(`"",`, most/3) + `""]}`,
		"objects":      `{"a":[` + strings.Repeat(`{},`, most/3) + `1]}`,
		"fields":       `{"a":[` + strings.Repeat(`{"b":{}},`, most/9) + `1]}`,
		"deep lists":   `{"a":[` + strings.Repeat(lists+",", most/(len(lists)+1)) + `1]}`,
		"one text":     `{"a":"` + strings.Repeat("x", most) + `"}`,
		"escapes":      `{"a":"` + strings.Repeat(`\u0041`, most/6) + `"}`,
		"other fields": `{` + fields(most/12) + `"a":1}`,
	} {
		filter := check.Got(document.ParseFilter("filter", `{"a":{"$ne":2,"$gte":0},"b":`+all+`}`))(t)
		bounded(t, name, func() { filter.Matches(json.RawMessage(value)) })
		differs := check.Got(document.ParseFilter("filter", `{"a":{"$ne":2}}`))(t)
		bounded(t, name+" that pass", func() { differs.Matches(json.RawMessage(value)) })
	}
	var names []string
	for i := range 180 {
		names = append(names, strconv.Quote("f"+strconv.Itoa(i))+`:{"$ne":[{},1]}`)
	}
	text := "{" + strings.Join(names, ",") + "}"
	bounded(t, "a filter of many fields", func() {
		filter := check.Got(document.ParseFilter("filter", text))(t)
		filter.Matches(json.RawMessage(`{` + fields(most/12) + `"a":1}`))
	})
}

// fields are n fields with names of six digits.
func fields(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strconv.Quote(strconv.Itoa(100000+i)) + ":0,")
	}
	return b.String()
}

// shapes are JSON objects of any depth, width and length of names.
func shapes(t *testing.T) *rapid.Generator[[]byte] {
	name := rapid.StringMatching(`[a-z]{0,300}`)
	value := rapid.OneOf(
		rapid.Map(rapid.IntRange(-9, 1e9), func(n int) any { return n }),
		rapid.Map(name, func(s string) any { return s }),
	)
	for range 4 {
		value = rapid.OneOf(value,
			rapid.Map(rapid.SliceOfN(value, 0, 30), func(l []any) any { return l }),
			rapid.Map(rapid.MapOfN(name, value, 0, 4), func(m map[string]any) any { return m }),
		)
	}
	return rapid.Map(rapid.MapOfN(name, value, 1, 1), func(m map[string]any) []byte {
		text, err := json.Marshal(m)
		if err != nil {
			t.Error(err)
		}
		return text
	}).Filter(func(text []byte) bool { return len(text) <= document.MaxValueBytes })
}

// TestCostOfShapes fills the largest value with one shape again and again, puts it and matches it.
func TestCostOfShapes(t *testing.T) {
	values := shapes(t)
	filter := check.Got(document.ParseFilter("filter", `{"a":{"$ne":2}}`))(t)
	for seed := range 20 {
		one := string(values.Example(seed))
		n := max(1, (document.MaxValueBytes-20)/(len(one)+1))
		value := json.RawMessage(`{"a":[` + strings.Repeat(one+",", n-1) + one + `]}`)
		if len(value) > document.MaxValueBytes {
			continue
		}
		bounded(t, "a put of "+one[:min(40, len(one))], func() {
			p := document.Put{Key: "k", Value: value, Index: []string{"$", "*", "a[*]", "a[*].*", "a[*].*.*"}}
			if _, err := p.Document(now); err != nil {
				t.Errorf("put: %v", err)
			}
		})
		bounded(t, "a filter", func() { filter.Matches(value) })
	}
}

// TestTextIsBounded puts documents of any shape. No text is longer than the rule of Text allows.
func TestTextIsBounded(t *testing.T) {
	t.Parallel()
	values := shapes(t)
	rapid.Check(t, func(t *rapid.T) {
		text := values.Draw(t, "value")
		d := document.Document{Value: text, Index: rapid.SliceOfN(rapid.SampledFrom([]string{"$", "*", "*.*", "*[*]"}),
			0, 32).Draw(t, "index")}
		if got := len(d.Text()); got > 4*len(text)+4<<10 || got > document.MaxValueBytes {
			t.Errorf("%d bytes of value have %d bytes of text", len(text), got)
		}
	})
}
