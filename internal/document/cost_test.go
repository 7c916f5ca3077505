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
)

// TestCostOfText puts the documents whose text costs the most by what is known. None allocates more than 20 MB, and
// none has many more vectors than its value would have. It runs alone, because it counts what the process allocates.
func TestCostOfText(t *testing.T) {
	numbers := func(n int) string { return "[" + strings.Repeat("1,", n-1) + "1]" }
	deep := func(n, depth int, inner string) string {
		return strings.Repeat(`{"`+strings.Repeat("k", n)+`":`, depth) + inner + strings.Repeat("}", depth)
	}
	fields := func(n int, value string) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(`"` + strconv.Itoa(i) + `":` + value + `,`)
		}
		return "{" + b.String() + `"x":1}`
	}
	for name, p := range map[string]document.Put{
		"long names over a long list":  {Value: json.RawMessage(deep(3333, 30, numbers(4000)))},
		"the longest of both":          {Value: json.RawMessage(deep(4000, 32, numbers(64000)))},
		"a long name over many fields": {Value: json.RawMessage(deep(60<<10, 1, fields(17000, `{}`)))},
		"a small document":             {Value: json.RawMessage(deep(1000, 1, numbers(256)))},
		"all of it by other paths": {
			Value: json.RawMessage(`{"t":` + numbers(120000) + `}`), Index: []string{"$", "*", "t", "t[*]", "*[*]", "$.t"},
		},
		"numbers of many digits": {Value: json.RawMessage(`{"t":[` + strings.Repeat("1e308,", 40000) + `1]}`)},
	} {
		p.Key = "k"
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		begin := time.Now()
		d, err := p.Document(now)
		took := time.Since(begin)
		runtime.ReadMemStats(&after)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		t.Logf("%s: %d bytes, %d vectors, %d KB, %v", name, len(p.Value), d.Vectors,
			(after.TotalAlloc-before.TotalAlloc)>>10, took)
		if most := uint64(20 << 20); after.TotalAlloc-before.TotalAlloc > most {
			t.Errorf("%s: %d bytes allocated, want at most %d", name, after.TotalAlloc-before.TotalAlloc, most)
		}
		if most := 4*len(d.Value)/900 + 5; d.Vectors > most {
			t.Errorf("%s: %d bytes have %d vectors, want at most %d", name, len(d.Value), d.Vectors, most)
		}
	}
}

// TestTextIsBounded puts documents of any shape. No text is longer than the rule of Text allows.
func TestTextIsBounded(t *testing.T) {
	t.Parallel()
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
	values := rapid.Map(rapid.MapOfN(name, value, 1, 1), func(m map[string]any) []byte {
		text, err := json.Marshal(m)
		if err != nil {
			t.Error(err)
		}
		return text
	}).Filter(func(text []byte) bool { return len(text) <= document.MaxValueBytes })
	rapid.Check(t, func(t *rapid.T) {
		text := values.Draw(t, "value")
		d := document.Document{Value: text, Index: rapid.SliceOfN(rapid.SampledFrom([]string{"$", "*", "*.*", "*[*]"}),
			0, 32).Draw(t, "index")}
		if got := len(d.Text()); got > 4*len(text)+4<<10 || got > document.MaxValueBytes {
			t.Errorf("%d bytes of value have %d bytes of text", len(text), got)
		}
	})
}
