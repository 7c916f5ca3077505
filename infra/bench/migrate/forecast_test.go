package main

import (
	"math"
	"os"
	"testing"

	"github.com/throughline/throughline/infra/bench/scale/forecast"
)

func TestPredict(t *testing.T) {
	t.Parallel()
	u := unitCosts{Write: 4, Read: 0.1, VerifyRead: 0.4, Messages: 50}
	p := forecast.Prices{Prices: []forecast.Price{
		{Name: "dynamodbWrite", USD: 0.625}, {Name: "dynamodbRead", USD: 0.125}, {Name: "lambdaSecond", USD: 13},
	}}
	// One segment takes 8 × 50 / 0.1 s = 4,000 messages a second and 16,000 units, to which the table grows.
	one := u.predict(1e9, 1, p)
	grows := 1800 / math.Ln2 * math.Log(8)
	whileGrowing := 1800 / math.Ln2 * 14_000
	if want := grows + (4e9-whileGrowing)/16_000; one.Units != 16_000 || math.Abs(one.Time.Seconds()-want) > 1 {
		t.Errorf("a billion messages in one segment: %v at %v units a second, want %v s", one.Time, one.Units, want)
	}
	if want := 4e3*0.625 + 0.5e3*0.125 + one.Time.Seconds()*13/1e6; math.Abs(one.USD-want) > 1e-6 {
		t.Errorf("it costs %v, want %v", one.USD, want)
	}
	// 256 segments could write more than the table grants.
	if many := u.predict(1e9, 256, p); many.Units != tableUnits {
		t.Errorf("in 256 segments: %v units a second", many.Units)
	}
	// What ends while the rate grows takes 2,000 units a second at first.
	if got, want := timeOf(2000, 40_000), 1.0; math.Abs(got-want) > 0.01 {
		t.Errorf("2,000 units take %v s", got)
	}
	if got, want := timeOf(2000*1800/math.Ln2, 40_000), 1800.0; math.Abs(got-want) > 0.01 {
		t.Errorf("the rate doubles in %v s, want %v", got, want)
	}
	if got := timeOf(2000, 500); got != 4 {
		t.Errorf("2,000 units at 500 a second take %v s", got)
	}
	known, err := forecast.Load(os.DirFS("../../../docs/scale"))
	if err != nil {
		t.Fatal(err)
	}
	if f := u.predict(1e6, 1, known.Prices); !(f.USD > 0) {
		t.Errorf("a million messages cost %v: the prices lack one", f.USD)
	}
}
