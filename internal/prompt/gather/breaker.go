package gather

import (
	"sync"
	"time"
)

const (
	// breakAfter is how many failures in a row open a breaker.
	breakAfter = 5
	// breakFor is how long a breaker then stays open, until one call tries the source again.
	breakFor = 2 * time.Second
)

// breaker skips a source that keeps failing, so that users do not wait for it. It is safe for concurrent use.
type breaker struct {
	mu       sync.Mutex
	failures int
	until    time.Time
	missing  []string
}

// open reports whether the source is skipped now, and what was missing when it last failed. After the pause it lets
// one call through; the others skip the source until that call has ended.
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

// failed records a failure, and what was missing because of it.
func (b *breaker) failed(missing []string, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.missing = missing
	if b.failures++; b.failures >= breakAfter {
		b.until = now.Add(breakFor)
	}
}
