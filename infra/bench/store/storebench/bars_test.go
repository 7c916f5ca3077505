package storebench_test

import (
	"strings"
	"testing"

	"github.com/throughline/throughline/infra/bench/report"
	"github.com/throughline/throughline/infra/bench/store/storebench"
)

// heldResult returns a result that holds every bar.
func heldResult() storebench.Result {
	r := storebench.Result{Settings: storebench.Settings{Lengths: []int{10, 100, 1000}}}
	add := func(k storebench.Kind, contender string, messages, calls int, write, read float64) {
		for _, length := range r.Settings.Lengths {
			n := min(messages, length)
			r.Rows = append(r.Rows, storebench.Row{
				Kind: k, Contender: contender, Length: length, Messages: n, Repeats: 1,
				Calls: float64(calls), MostCalls: calls, WriteUnits: write, ReadUnits: read * float64(n) / float64(messages),
			})
		}
	}
	for _, contender := range []string{
		storebench.BareTurn, storebench.BareTurnKeyed, storebench.Warm, storebench.WarmKeyed,
	} {
		add(storebench.Turn, contender, 2, 1, 8, 0)
	}
	add(storebench.Turn, storebench.Cold, 2, 2, 8, 6)
	add(storebench.Turn, storebench.ColdKeyed, 2, 2, 8, 6)
	for _, k := range []storebench.Kind{storebench.Newest, storebench.Last} {
		add(k, storebench.BareQuery, 50, 1, 0, 5)
		add(k, storebench.Warm, 50, 2, 0, 7)
		add(k, storebench.Cold, 50, 2, 0, 11)
	}
	return r
}

func TestBarsFindWhatIsNotHeld(t *testing.T) {
	t.Parallel()
	change := func(k storebench.Kind, contender string, length int, f func(*storebench.Row)) func(*storebench.Result) {
		return func(r *storebench.Result) {
			for i := range r.Rows {
				if row := &r.Rows[i]; row.Kind == k && row.Contender == contender && row.Length == length {
					f(row)
				}
			}
		}
	}
	tests := []struct {
		name   string
		change func(*storebench.Result)
		missed string // the beginning of the names of the bars that are not held; empty if all are
	}{
		{"all good", func(*storebench.Result) {}, ""},
		{
			"a warm append writes more",
			change(storebench.Turn, storebench.Warm, 100, func(row *storebench.Row) { row.WriteUnits = 9 }),
			"warm append: capacity",
		},
		{
			"a warm append reads",
			change(storebench.Turn, storebench.WarmKeyed, 100, func(row *storebench.Row) { row.ReadUnits = 1 }),
			"warm append with key: capacity",
		},
		{
			"a warm append calls twice once",
			change(storebench.Turn, storebench.Warm, 10, func(row *storebench.Row) { row.MostCalls = 2 }),
			"warm append: most calls",
		},
		{
			"a cold append calls three times",
			change(storebench.Turn, storebench.Cold, 10, func(row *storebench.Row) { row.MostCalls = 3 }),
			"cold append: most calls",
		},
		{
			"a long session costs more",
			change(storebench.Turn, storebench.Cold, 1000, func(row *storebench.Row) { row.ReadUnits = 8 }),
			"append at 1,000 messages",
		},
		{
			"a page of a long session costs more",
			change(storebench.Newest, storebench.Cold, 1000, func(row *storebench.Row) { row.ReadUnits = 13 }),
			"newest page of 1,000",
		},
		{
			"a page by cursor costs more",
			change(storebench.Last, storebench.Warm, 1000, func(row *storebench.Row) { row.ReadUnits = 8 }),
			"last page of 1,000",
		},
		{
			"a page calls three times",
			change(storebench.Last, storebench.Cold, 1000, func(row *storebench.Row) { row.MostCalls = 3 }),
			"page: most calls",
		},
		{"a message is missed", func(r *storebench.Result) { r.Wrong = 1 }, "messages missed"},
		{
			"nearly a tenth more is held",
			change(storebench.Turn, storebench.Warm, 100, func(row *storebench.Row) { row.WriteUnits = 8.79 }),
			"",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := heldResult()
			tt.change(&r)
			bars := r.Bars()
			if missed := report.Missed(bars); (len(missed) == 0) != (tt.missed == "") {
				t.Errorf("missed: %q", missed)
			}
			for _, b := range bars {
				if !b.Held && (tt.missed == "" || !strings.HasPrefix(b.Name, tt.missed)) {
					t.Errorf("%q is not held: %v, at most %v", b.Name, b.Value, b.Limit)
				}
			}
		})
	}
}

func TestWhatWasNotMeasuredIsNotHeld(t *testing.T) {
	t.Parallel()
	r := storebench.Result{Settings: storebench.Settings{Lengths: []int{10, 100}}}
	for _, b := range r.Bars() {
		if b.Held && !strings.HasPrefix(b.Name, "messages missed") {
			t.Errorf("%q is held without a measurement: %v", b.Name, b.Value)
		}
	}
}
