package main

import (
	"math"
	"testing"
	"time"
)

func TestPredict(t *testing.T) {
	t.Parallel()
	u := unitCosts{Write: 4, Read: 0.1, VerifyRead: 0.4, Messages: 50}
	p := prices{"dynamodbWrite": 0.625, "dynamodbRead": 0.125, "lambdaSecond": 13}
	one := u.predict(1e6, 1, p)
	if one.Time != 2000*time.Second || one.Units != 2000 {
		t.Errorf("a million messages in one segment: %v at %v units a second", one.Time, one.Units)
	}
	if want := 4*0.625 + 0.5*0.125 + 2000*13/1e6; math.Abs(one.USD-want) > 1e-9 {
		t.Errorf("it costs %v, want %v", one.USD, want)
	}
	// 256 segments could write more than the table grants.
	if many := u.predict(1e6, 256, p); many.Units != tableUnits || many.Time != 100*time.Second {
		t.Errorf("in 256 segments: %v at %v units a second", many.Time, many.Units)
	}
	prices, err := readPrices("../../../docs")
	if err != nil {
		t.Fatal(err)
	}
	for name := range p {
		if prices[name] == 0 {
			t.Errorf("the prices lack %s", name)
		}
	}
}
