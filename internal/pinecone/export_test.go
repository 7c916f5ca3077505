package pinecone

import "time"

// SetClock replaces the clock by which an index counts as full.
func (x *Index) SetClock(now func() time.Time) { x.refused.now = now }
