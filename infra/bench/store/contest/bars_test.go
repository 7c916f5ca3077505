package contest_test

import (
	"strings"
	"testing"

	"github.com/throughline/throughline/infra/bench/store/contest"
)

// good is an outcome that holds every bar.
func good() contest.Outcome {
	o := contest.Outcome{Settings: contest.Settings{Lengths: []int{10, 100, 1000}}}
	add := func(k contest.Kind, contender string, messages, calls int, write, read float64) {
		for _, length := range o.Settings.Lengths {
			n := min(messages, length)
			o.Rows = append(o.Rows, contest.Row{
				Kind: k, Contender: contender, Length: length, Messages: n, Repeats: 1,
				Calls: float64(calls), MostCalls: calls, WriteUnits: write, ReadUnits: read * float64(n) / float64(messages),
			})
		}
	}
	for _, contender := range []string{contest.BareTurn, contest.BareTurnKeyed, contest.Warm, contest.WarmKeyed} {
		add(contest.Turn, contender, 2, 1, 8, 0)
	}
	add(contest.Turn, contest.Cold, 2, 2, 8, 6)
	add(contest.Turn, contest.ColdKeyed, 2, 2, 8, 6)
	for _, k := range []contest.Kind{contest.Newest, contest.Last} {
		add(k, contest.BareQuery, 50, 1, 0, 5)
		add(k, contest.Warm, 50, 2, 0, 7)
		add(k, contest.Cold, 50, 2, 0, 11)
	}
	return o
}

func TestBarsCatchWhatDoesNotHold(t *testing.T) {
	change := func(k contest.Kind, contender string, length int, f func(*contest.Row)) func(*contest.Outcome) {
		return func(o *contest.Outcome) {
			for i := range o.Rows {
				if r := &o.Rows[i]; r.Kind == k && r.Contender == contender && r.Length == length {
					f(r)
				}
			}
		}
	}
	tests := []struct {
		name   string
		change func(*contest.Outcome)
		broken string // the beginning of the name of what it breaks; empty where all hold
	}{
		{"all good", func(*contest.Outcome) {}, ""},
		{"a warm append writes more", change(contest.Turn, contest.Warm, 100, func(r *contest.Row) { r.WriteUnits = 9 }), "warm append: capacity"},
		{"a warm append reads", change(contest.Turn, contest.WarmKeyed, 100, func(r *contest.Row) { r.ReadUnits = 1 }), "warm append with key: capacity"},
		{"a warm append calls twice once", change(contest.Turn, contest.Warm, 10, func(r *contest.Row) { r.MostCalls = 2 }), "warm append: most calls"},
		{"a cold append calls three times", change(contest.Turn, contest.Cold, 10, func(r *contest.Row) { r.MostCalls = 3 }), "cold append: most calls"},
		{"a long session costs more", change(contest.Turn, contest.Cold, 1000, func(r *contest.Row) { r.ReadUnits = 8 }), "append at 1,000 messages"},
		{"a page of a long session costs more", change(contest.Newest, contest.Cold, 1000, func(r *contest.Row) { r.ReadUnits = 13 }), "newest page of 1,000"},
		{"a page by cursor costs more", change(contest.Last, contest.Warm, 1000, func(r *contest.Row) { r.ReadUnits = 8 }), "last page of 1,000"},
		{"a page calls three times", change(contest.Last, contest.Cold, 1000, func(r *contest.Row) { r.MostCalls = 3 }), "page: most calls"},
		{"a message is missed", func(o *contest.Outcome) { o.Wrong = 1 }, "messages missed"},
		{"nearly a tenth more is held", change(contest.Turn, contest.Warm, 100, func(r *contest.Row) { r.WriteUnits = 8.79 }), ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := good()
			tt.change(&o)
			o.Bars = o.Judge()
			if o.Held() != (tt.broken == "") {
				t.Errorf("held: %t", o.Held())
			}
			for _, b := range o.Bars {
				if !b.Held && (tt.broken == "" || !strings.HasPrefix(b.Name, tt.broken)) {
					t.Errorf("%q is not held: %v, at most %v", b.Name, b.Value, b.Limit)
				}
			}
		})
	}
}

func TestWhatWasNotMeasuredIsNotHeld(t *testing.T) {
	o := contest.Outcome{Settings: contest.Settings{Lengths: []int{10, 100}}}
	for _, b := range o.Judge() {
		if b.Held && !strings.HasPrefix(b.Name, "messages missed") {
			t.Errorf("%q is held without a measurement: %v", b.Name, b.Value)
		}
	}
}
