package promptbench

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

// Operation identifies a kind of remote call: the function that made it, the service that answered, and what was
// called. All three are empty if one process makes calls of one kind only.
type Operation struct {
	Function string `json:"function"`
	Service  string `json:"service"`
	Call     string `json:"call"`
}

func (o Operation) String() string { return o.Function + ": " + o.Service + " " + o.Call }

// call is one remote call, from the request's first byte to the answer's last.
type call struct {
	Operation
	begin, end time.Time
}

// callLog records when each remote call began and ended. It is safe for concurrent use.
type callLog struct {
	mu    sync.Mutex
	calls []call
}

// add records a call that ends now.
func (l *callLog) add(op Operation, begin time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls = append(l.calls, call{op, begin, time.Now()})
}

// drain returns the recorded calls and forgets them.
func (l *callLog) drain() []call {
	l.mu.Lock()
	defer l.mu.Unlock()
	calls := l.calls
	l.calls = nil
	return calls
}

// criticalPath finds the slowest chain of calls. It returns how long the chain's calls took together, and how many they
// are. A call can follow another when it began after that one had ended.
func criticalPath(calls []call) (took time.Duration, depth int) {
	byEnd := slices.SortedFunc(slices.Values(calls), func(a, b call) int {
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

// invocation is the operation of a call of the Lambda API.
const invocation = "invocations"

// callDepths sorts calls by their beginning and returns how deep each is: one deeper than the deepest call that had
// ended before it began. The calls of an invoked function follow the call that invoked it.
func callDepths(calls []call) []int {
	slices.SortStableFunc(calls, func(a, b call) int { return cmp.Or(a.begin.Compare(b.begin), a.end.Compare(b.end)) })
	depths := make([]int, len(calls))
	for i, c := range calls {
		for k, before := range calls[:i] {
			if !before.end.After(c.begin) || before.Call == invocation && before.Function != c.Function {
				depths[i] = max(depths[i], depths[k])
			}
		}
		depths[i]++
	}
	return depths
}
