package migration

import "time"

// pace is how fast a run works: at most limit messages a second, and more slowly after calls that the table throttled
// or did not answer. A session or record without messages counts as one.
type pace struct {
	limit float64 // 0 for none
	rate  float64 // 0 for as fast as it goes
}

const (
	paceBackoff  = 0.5
	paceRecovery = 1.2
	minRate      = 1

	ratePerWorker = 100
)

// MaxWorkers is how many records of a segment are worked on at once at most.
const MaxWorkers = 8

// wait returns how long to wait after a part of the work. After a throttle the rate is halved; after each part without
// one it grows again, so that it stays near what the table bears.
func (p *pace) wait(done Counts) time.Duration {
	n := float64(max(done.Messages, done.Changed))
	switch {
	case done.Throttles > 0:
		rate := n / max(done.Took.Seconds(), 1e-3)
		if p.rate > 0 {
			rate = min(rate, p.rate)
		}
		p.rate = max(minRate, rate*paceBackoff)
	case p.rate > 0 && n > 0:
		p.rate *= paceRecovery
	}
	if p.limit > 0 {
		p.rate = min(p.rate, p.limit)
	}
	if p.rate == 0 {
		return 0
	}
	return max(0, time.Duration(n/p.rate*float64(time.Second))-done.Took)
}

// workers is how many records are worked on at once: fewer where the rate is low, because the wait comes after them.
func (p *pace) workers() int {
	if p.rate == 0 {
		return MaxWorkers
	}
	return max(1, min(MaxWorkers, int(p.rate/ratePerWorker)))
}
