package promptbench_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/throughline/throughline/infra/bench/prompt/promptbench"
)

func TestCriticalIsTheSlowestChain(t *testing.T) {
	for name, c := range map[string]struct {
		calls []promptbench.Call
		took  time.Duration
		depth int
	}{
		"none":                   {nil, 0, 0},
		"one":                    {[]promptbench.Call{{2, 9}}, 7, 1},
		"side by side":           {[]promptbench.Call{{0, 5}, {1, 9}, {2, 4}}, 8, 1},
		"one after another":      {[]promptbench.Call{{0, 5}, {5, 9}, {11, 14}}, 12, 3},
		"a gap is not the calls": {[]promptbench.Call{{0, 5}, {50, 55}}, 10, 2},
		// embedding, index, records beside reads of their own chain
		"two chains":            {[]promptbench.Call{{0, 60}, {0, 5}, {5, 10}, {61, 91}, {92, 97}}, 95, 3},
		"a late call overlaps":  {[]promptbench.Call{{0, 10}, {9, 30}}, 21, 1},
		"many short ones lose":  {[]promptbench.Call{{0, 1}, {1, 2}, {2, 3}, {0, 10}}, 10, 1},
		"the slower of two led": {[]promptbench.Call{{0, 4}, {0, 6}, {7, 8}}, 7, 2},
	} {
		t.Run(name, func(t *testing.T) {
			for range c.calls { // in whatever order they are noted
				if took, depth := promptbench.Critical(c.calls); took != c.took || depth != c.depth {
					t.Errorf("%v: took %d, %d deep, want %d and %d", c.calls, took, depth, c.took, c.depth)
				}
				c.calls = append(slices.Clone(c.calls[1:]), c.calls[0])
			}
		})
	}
}

func TestDepthsFollowEndsAndInvocations(t *testing.T) {
	call := func(function, asked string, begin, end time.Duration) promptbench.NamedCall {
		return promptbench.NamedCall{Call: promptbench.Call{Begin: begin, End: end}, Function: function, Asked: asked}
	}
	for name, c := range map[string]struct {
		calls []promptbench.NamedCall
		want  []int
	}{
		"none":         {nil, []int{}},
		"side by side": {[]promptbench.NamedCall{call("coach", "a", 0, 5), call("coach", "b", 1, 9)}, []int{1, 1}},
		"one after another, noted late": {
			[]promptbench.NamedCall{call("coach", "b", 5, 9), call("coach", "a", 0, 5)}, []int{1, 2},
		},
		"the deepest counts, not the last": {
			[]promptbench.NamedCall{call("coach", "a", 0, 1), call("coach", "b", 1, 2), call("coach", "c", 0, 3), call("coach", "d", 3, 4)},
			[]int{1, 1, 2, 3},
		},
		"an invocation is followed by what it invokes, and its end by what its caller does": {
			[]promptbench.NamedCall{
				call("coach", "write", 0, 5), call("coach", "invocations", 5, 20), call("prompt", "read", 6, 11),
				call("prompt", "query", 11, 16), call("coach", "side", 6, 8), call("coach", "model", 20, 30),
			},
			[]int{1, 2, 2, 3, 4, 5},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, promptbench.Depths(c.calls)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
