package promptbench

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

// journal notes when each remote call began and ended. It is safe for concurrent use.
type journal struct {
	mu    sync.Mutex
	calls []span
}

// span is one remote call, from the request's first byte to the answer's last.
type span struct {
	remote
	begin, end time.Time
}

// remote says what a call was: the function that made it, the service that answered, and what was asked. Where one
// process asks for one thing, it says nothing.
type remote struct{ by, to, what string }

func (j *journal) add(call remote, begin time.Time) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.calls = append(j.calls, span{call, begin, time.Now()})
}

// take returns the calls since the last time.
func (j *journal) take() []span {
	j.mu.Lock()
	defer j.mu.Unlock()
	calls := j.calls
	j.calls = nil
	return calls
}

// critical is the slowest chain of calls: how long its calls took together, and how many they are. A call can follow
// on another when it began after that one had ended.
func critical(calls []span) (took time.Duration, depth int) {
	byEnd := slices.SortedFunc(slices.Values(calls), func(a, b span) int {
		return cmp.Or(a.end.Compare(b.end), a.begin.Compare(b.begin))
	})
	chains := make([]time.Duration, len(byEnd))
	depths := make([]int, len(byEnd))
	for i, c := range byEnd {
		for k, before := range byEnd[:i] {
			if !before.end.After(c.begin) && chains[k] > chains[i] {
				chains[i], depths[i] = chains[k], depths[k]
			}
		}
		chains[i] += c.end.Sub(c.begin)
		depths[i]++
		if chains[i] > took {
			took, depth = chains[i], depths[i]
		}
	}
	return took, depth
}

// invocation is what a call of the Lambda API asks for.
const invocation = "invocations"

// depths sorts calls by their beginning and says how deep each is: one deeper than the deepest that had ended before it
// began. What an invoked function does follows on the call that invoked it.
func depths(calls []span) []int {
	slices.SortStableFunc(calls, func(a, b span) int { return cmp.Or(a.begin.Compare(b.begin), a.end.Compare(b.end)) })
	out := make([]int, len(calls))
	for i, c := range calls {
		for k, before := range calls[:i] {
			if !before.end.After(c.begin) || before.what == invocation && before.by != c.by {
				out[i] = max(out[i], out[k])
			}
		}
		out[i]++
	}
	return out
}
