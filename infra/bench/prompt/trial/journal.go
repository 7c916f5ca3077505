package trial

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
type span struct{ begin, end time.Time }

func (j *journal) add(begin time.Time) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.calls = append(j.calls, span{begin, time.Now()})
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
