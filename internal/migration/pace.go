package migration

import "time"

// pace is how fast a run works: at most limit messages a second, within its part of the table's capacity, and more
// slowly after throttles. A session or record without messages counts as one.
type pace struct {
	limit float64 // 0 for none
	rate  float64 // 0 for as fast as it goes
	// capacity is the run's part of the table's.
	capacity Capacity
	// worked is how long the run has been at work, its waits included.
	worked time.Duration
	// most is how many records are worked on at once.
	most int
}

const (
	paceBackoff  = 0.5
	paceRecovery = 1.2
	minRate      = 1

	ratePerWorker = 100
)

// MaxWorkers is how many records of a segment are worked on at once at most.
const MaxWorkers = 8

func newPace(limit float64, part Capacity) *pace {
	return &pace{limit: limit, rate: limit, capacity: part, most: MaxWorkers}
}

// wait returns how long to wait after a part of the work. After a throttle the rate is halved; after each part without
// one it grows again, so that it stays near what the table bears.
func (p *pace) wait(done Counts, used Units) time.Duration {
	n := max(done.Messages, done.Changed)
	switch {
	case done.Throttles > 0:
		rate := float64(n) / max(done.Took.Seconds(), 1e-3)
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
	seconds := p.capacity.seconds(used, p.worked)
	p.setMost(seconds > 2*done.Took.Seconds() || done.Unanswered > 0, done.Sessions > 0 && seconds <= done.Took.Seconds())
	if p.rate > 0 {
		seconds = max(seconds, float64(n)/p.rate)
	}
	wait := max(0, time.Duration(seconds*float64(time.Second))-done.Took)
	p.worked += done.Took + wait
	return wait
}

// setMost makes the parts smaller where the table's capacity makes the run wait for most of its time, so that it takes
// the units evenly, and where the table does not answer in time, and larger again afterwards.
func (p *pace) setMost(tooMany, hasRoom bool) {
	switch {
	case tooMany:
		p.most = max(1, p.most/2)
	case hasRoom:
		p.most = min(MaxWorkers, 2*p.most)
	}
}

// workers is how many records are worked on at once: fewer where the limit is low, because the wait comes after them.
func (p *pace) workers() int {
	if p.rate == 0 {
		return p.most
	}
	return max(1, min(p.most, int(p.rate/ratePerWorker)))
}
