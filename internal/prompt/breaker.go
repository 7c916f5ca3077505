package prompt

import (
	"sync"
	"time"
)

const (
	// breakAfter is how many failures in a row open a breaker.
	breakAfter = 5
	// breakFor is how long it then stays open, until one call tries again.
	breakFor = 10 * time.Second
)

// breaker spares a source that keeps failing, and the user the wait for it. It is safe for concurrent use.
type breaker struct {
	mu       sync.Mutex
	failures int
	until    time.Time
}

// allows reports whether the source may be asked. When the pause is over it lets one call through, and the others
// wait for what becomes of it.
func (b *breaker) allows(now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.failures < breakAfter {
		return true
	}
	if now.Before(b.until) {
		return false
	}
	b.until = now.Add(breakFor)
	return true
}

// report says what became of a call.
func (b *breaker) report(ok bool, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if ok {
		b.failures = 0
		return
	}
	if b.failures++; b.failures >= breakAfter {
		b.until = now.Add(breakFor)
	}
}
