package dynamotest

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/throughline/throughline/internal/dynamo"
)

// FixedClock is a clock that stands still.
func FixedClock() dynamo.Option {
	return dynamo.WithClock(func() time.Time { return Now })
}

// Clock is a clock that a test sets.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// NewClock returns a clock that shows Now.
func NewClock() *Clock { return &Clock{now: Now} }

// Time returns the time that the clock shows.
func (c *Clock) Time() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Option makes a DB use the clock.
func (c *Clock) Option() dynamo.Option { return dynamo.WithClock(c.Time) }

// Advance sets the clock forward.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// Counter is a source of ids that counts. A test has the same ids in each run, and those of one time are in order.
type Counter struct{ last atomic.Uint64 }

// Read writes the next number, five bits a byte.
func (c *Counter) Read(p []byte) (int, error) {
	const bits = 5
	for i, left := len(p)-1, c.last.Add(1); i >= 0; i, left = i-1, left>>bits {
		p[i] = byte(left & (1<<bits - 1))
	}
	return len(p), nil
}
