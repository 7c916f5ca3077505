package dynamotest

import (
	"sync"
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
