package migration

import "time"

// pace is how fast a run works: at most limit messages a second, and less after throttles. A session or record without
// messages counts as one.
type pace struct {
	limit float64 // 0 for none
	rate  float64 // 0 for as fast as it goes
}

func newPace(limit float64) *pace { return &pace{limit: limit, rate: limit} }

const (
	paceBackoff  = 0.5
	paceRecovery = 1.2
	minRate      = 1
)

// wait returns how long to wait after n messages that took a time. After a throttle the rate is halved; after each part
// without one it grows again, so that it stays near what the table bears.
func (p *pace) wait(n, throttles int, took time.Duration) time.Duration {
	switch {
	case throttles > 0:
		rate := float64(n) / max(took.Seconds(), 1e-3)
		if p.rate > 0 {
			rate = min(rate, p.rate)
		}
		p.rate = max(minRate, rate*paceBackoff)
	case p.rate > 0:
		p.rate *= paceRecovery
	}
	if p.limit > 0 {
		p.rate = min(p.rate, p.limit)
	}
	if p.rate == 0 {
		return 0
	}
	return max(0, time.Duration(float64(n)/p.rate*float64(time.Second))-took)
}

// workers is how many records are worked on at once: fewer where the limit is low, because the wait comes after them.
func (p *pace) workers() int {
	const most, perWorker = 8, 100
	if p.rate == 0 {
		return most
	}
	return max(1, min(most, int(p.rate/perWorker)))
}
