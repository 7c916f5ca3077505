// Package faults is the local stack's fault door: it stands before a service and makes it slow, makes it fail in the
// service's own way, or performs a request and loses its answer, as set at run time (api 6, POST /dev/faults).
package faults

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"
)

// Rates say what a door does to the requests that pass; the zero value lets all of them pass untouched.
type Rates struct {
	// ErrorRate is the share of requests, 0 to 1, that are answered with an error and not performed.
	ErrorRate float64
	// DropRate is the share of requests that are performed and whose answer is lost.
	DropRate float64
	// Latency is added before each request.
	Latency time.Duration
}

// Door decides on each request. It may be used concurrently.
type Door struct {
	mu     sync.Mutex
	rates  Rates
	random *rand.Rand
	errors int
}

// NewDoor returns an open door, whose decisions the seed decides.
func NewDoor(seed uint64) *Door { return &Door{random: rand.New(rand.NewPCG(seed, seed))} }

// Set replaces what the door does, from the next request on.
func (d *Door) Set(r Rates) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.rates = r
}

// Rates returns what the door does.
func (d *Door) Rates() Rates {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.rates
}

// decision is what happens to one request.
type decision struct {
	latency time.Duration
	fail    bool
	kind    int // which of the service's errors: they take turns
	drop    bool
}

func (d *Door) decide() decision {
	d.mu.Lock()
	defer d.mu.Unlock()
	out := decision{latency: d.rates.Latency}
	out.fail = d.rates.ErrorRate > 0 && d.random.Float64() < d.rates.ErrorRate
	out.drop = d.rates.DropRate > 0 && d.random.Float64() < d.rates.DropRate
	if out.fail {
		out.kind = d.errors
		d.errors++
	}
	return out
}

// wait sleeps for the latency, or until the caller has gone.
func (d decision) wait(ctx context.Context) error {
	if d.latency == 0 {
		return nil
	}
	timer := time.NewTimer(d.latency)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
