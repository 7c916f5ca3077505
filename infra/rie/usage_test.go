package rie

import (
	"testing"
	"time"
)

func TestParseUsage(t *testing.T) {
	t.Parallel()
	const stat = "7 (a b) c) S 1 7 7 0 -1 4194560 5 0 0 0 123 45 0 0 20 0 9 0 100 1 1"
	const status = "Name:\tbootstrap\nVmHWM:\t   52224 kB\nVmRSS:\t   100 kB\n"
	got, err := parseUsage(stat, status)
	if want := (Usage{CPU: 1680 * time.Millisecond, PeakMB: 51}); err != nil || got != want {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
	for _, broken := range [][2]string{{"7 (a)", status}, {stat, "VmRSS:\t100 kB\n"}} {
		if got, err := parseUsage(broken[0], broken[1]); err == nil {
			t.Errorf("%q is read as %+v", broken, got)
		}
	}
}
