package migration

import "time"

// Pace is how fast a run works.
type Pace = pace

// NewPace returns the pace of a run with a limit.
func NewPace(limit float64) *Pace { return &pace{limit, limit} }

// Wait returns how long to wait after a part of the work, and how many records are worked on at once in the next one.
func (p *pace) Wait(done Counts) (wait time.Duration, workers int) {
	wait = p.wait(done)
	return wait, p.workers()
}
