package pinecone

import "time"

// SetClock replaces the clock by which an index counts as full.
func (c *Client) SetClock(now func() time.Time) { c.full.now = now }
