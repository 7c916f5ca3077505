package prompt

import (
	"sync"
	"time"
)

const (
	// breakAfter is how many failures in a row open a breaker.
	breakAfter = 5
	// breakFor is how long it then stays open, until one call tries again.
	breakFor = 2 * time.Second
)

// breaker spares a source that keeps failing, and the user the wait for it. It is safe for concurrent use.
type breaker struct {
	mu       sync.Mutex
	failures int
	until    time.Time
	missing  []string
}

// open reports whether the source is left alone now, and what was missing when it last failed. When the pause is over
// one call goes through, and the others go on without until it is known what became of it.
func (b *breaker) open(now time.Time) (missing []string, open bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.failures < breakAfter {
		return nil, false
	}
	if now.Before(b.until) {
		return b.missing, true
	}
	b.until = now.Add(breakFor)
	return nil, false
}

func (b *breaker) succeeded() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.failures = 0
}

// failed notes a failure, and what was missing by it.
func (b *breaker) failed(missing []string, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.missing = missing
	if b.failures++; b.failures >= breakAfter {
		b.until = now.Add(breakFor)
	}
}
