package trial_test

import (
	"slices"
	"testing"
	"time"

	"github.com/throughline/throughline/infra/bench/prompt/trial"
)

func TestCriticalIsTheSlowestChain(t *testing.T) {
	for name, c := range map[string]struct {
		calls []trial.Call
		took  time.Duration
		depth int
	}{
		"none":                   {nil, 0, 0},
		"one":                    {[]trial.Call{{2, 9}}, 7, 1},
		"side by side":           {[]trial.Call{{0, 5}, {1, 9}, {2, 4}}, 8, 1},
		"one after another":      {[]trial.Call{{0, 5}, {5, 9}, {11, 14}}, 12, 3},
		"a gap is not the calls": {[]trial.Call{{0, 5}, {50, 55}}, 10, 2},
		// embedding, index, records beside reads of their own chain
		"two chains":            {[]trial.Call{{0, 60}, {0, 5}, {5, 10}, {61, 91}, {92, 97}}, 95, 3},
		"a late call overlaps":  {[]trial.Call{{0, 10}, {9, 30}}, 21, 1},
		"many short ones lose":  {[]trial.Call{{0, 1}, {1, 2}, {2, 3}, {0, 10}}, 10, 1},
		"the slower of two led": {[]trial.Call{{0, 4}, {0, 6}, {7, 8}}, 7, 2},
	} {
		t.Run(name, func(t *testing.T) {
			for range c.calls { // in whatever order they are noted
				if took, depth := trial.Critical(c.calls); took != c.took || depth != c.depth {
					t.Errorf("%v: took %d, %d deep, want %d and %d", c.calls, took, depth, c.took, c.depth)
				}
				c.calls = append(slices.Clone(c.calls[1:]), c.calls[0])
			}
		})
	}
}
