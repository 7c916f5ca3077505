package promptbench_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/throughline/throughline/infra/bench/prompt/promptbench"
)

func TestCriticalPathIsTheSlowestChain(t *testing.T) {
	t.Parallel()
	type span [2]time.Duration // begin and end
	calls := func(times ...span) (out []promptbench.Call) {
		for _, t := range times {
			out = append(out, promptbench.Call{Begin: t[0], End: t[1]})
		}
		return out
	}
	for name, c := range map[string]struct {
		calls []promptbench.Call
		took  time.Duration
		depth int
	}{
		"none":                   {nil, 0, 0},
		"one":                    {calls(span{2, 9}), 7, 1},
		"side by side":           {calls(span{0, 5}, span{1, 9}, span{2, 4}), 8, 1},
		"one after another":      {calls(span{0, 5}, span{5, 9}, span{11, 14}), 12, 3},
		"a gap is not the calls": {calls(span{0, 5}, span{50, 55}), 10, 2},
		// embedding, index, records beside reads of their own chain
		"two chains":            {calls(span{0, 60}, span{0, 5}, span{5, 10}, span{61, 91}, span{92, 97}), 95, 3},
		"a late call overlaps":  {calls(span{0, 10}, span{9, 30}), 21, 1},
		"many short ones lose":  {calls(span{0, 1}, span{1, 2}, span{2, 3}, span{0, 10}), 10, 1},
		"the slower of two led": {calls(span{0, 4}, span{0, 6}, span{7, 8}), 7, 2},
	} {
		t.Run(name, func(t *testing.T) {
			for range c.calls { // in every order of recording
				if took, depth := promptbench.CriticalPath(c.calls); took != c.took || depth != c.depth {
					t.Errorf("%v: took %d, %d deep, want %d and %d", c.calls, took, depth, c.took, c.depth)
				}
				c.calls = append(slices.Clone(c.calls[1:]), c.calls[0])
			}
		})
	}
}

func TestCallDepthsFollowEndsAndInvocations(t *testing.T) {
	t.Parallel()
	call := func(function, operation string, begin, end time.Duration) promptbench.Call {
		return promptbench.Call{Begin: begin, End: end, Function: function, Operation: operation}
	}
	for name, c := range map[string]struct {
		calls []promptbench.Call
		want  []int
	}{
		"none":         {nil, []int{}},
		"side by side": {[]promptbench.Call{call("coach", "a", 0, 5), call("coach", "b", 1, 9)}, []int{1, 1}},
		"one after another, recorded late": {
			[]promptbench.Call{call("coach", "b", 5, 9), call("coach", "a", 0, 5)}, []int{1, 2},
		},
		"the deepest counts, not the last": {
			[]promptbench.Call{
				call("coach", "a", 0, 1), call("coach", "b", 1, 2), call("coach", "c", 0, 3),
				call("coach", "d", 3, 4),
			},
			[]int{1, 1, 2, 3},
		},
		"an invocation is followed by what it invokes, and its end by what its caller does": {
			[]promptbench.Call{
				call("coach", "write", 0, 5), call("coach", "invocations", 5, 20), call("prompt", "read", 6, 11),
				call("prompt", "query", 11, 16), call("coach", "side", 6, 8), call("coach", "model", 20, 30),
			},
			[]int{1, 2, 2, 3, 4, 5},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, promptbench.CallDepths(c.calls)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
