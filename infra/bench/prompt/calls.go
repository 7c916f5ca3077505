package main

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// call is one remote call, from the request's first byte to the answer's last.
type call struct {
	// function made the call, service answered it, and operation is what was called. The first two are empty if one
	// process makes calls of one kind only.
	function, service, operation string
	begin, end                   time.Time
	// depth is one more than that of the deepest call that it may have waited for, as setDepths finds it.
	depth int
}

func (c call) String() string { return c.function + ": " + c.service + " " + c.operation }

// callLog records when each remote call began and ended. It is safe for concurrent use.
type callLog struct {
	// isSlow, while it is true, has links hold answers back.
	isSlow atomic.Bool

	mu    sync.Mutex // guards calls
	calls []call
}

// add records a call that ends now.
func (l *callLog) add(c call) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c.end = time.Now()
	l.calls = append(l.calls, c)
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

// setDepths sorts calls by their beginning and finds how deep each is: one deeper than the deepest call that had ended
// before it began. The calls of an invoked function follow the call that invoked it. It returns the depth of the call
// that brings the first token: the coach function's last call of the chat model.
func setDepths(calls []call) (token int) {
	slices.SortStableFunc(calls, func(a, b call) int { return cmp.Or(a.begin.Compare(b.begin), a.end.Compare(b.end)) })
	for i := range calls {
		c := &calls[i]
		for _, before := range calls[:i] {
			if !before.end.After(c.begin) || before.operation == "invocations" && before.function != c.function {
				c.depth = max(c.depth, before.depth)
			}
		}
		c.depth++
		if c.function == coachFunction && (c.operation == "responses" || c.operation == "completions") { // its two APIs
			token = c.depth
		}
	}
	return token
}
