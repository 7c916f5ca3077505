package dynamo

import (
	"context"
	"encoding/binary"
	"io"
	"time"
)

const (
	// The first wait after another writer came first is bounded by the time that the attempt took, at least shortWait;
	// the bound doubles steps times, by when about one of twenty writers writes at a time, fast or slow as the table
	// may be. Then it halves again: who has lost for long waits less than who has just come, so that nobody loses
	// for ever. Writers that append stand in a line besides.
	shortWait = 5 * time.Millisecond
	longWait  = 2 * time.Second
	steps     = 4

	// A throttled or unanswered call is followed by a longer wait, which doubles, and maxTroubles bounds how many one
	// operation bears. Losing to another writer is no trouble: an append never fails only because others append
	// (design 4.1).
	firstRest   = 20 * time.Millisecond
	longestRest = time.Second
	maxTroubles = 8
)

// patience is what one operation has left of attempts. Waits are drawn from zero to their bounds.
type patience struct {
	random   io.Reader
	attempt  int
	troubles int
	took     time.Duration // by the last attempt
}

func (s *Store) patience() *patience { return &patience{random: s.random} }

// timed carries an attempt out and takes its time.
func (p *patience) timed(attempt func() error) error {
	start := time.Now()
	defer func() { p.took = time.Since(start) }()
	return attempt()
}

// wait pauses after another writer came first. It returns the context's error when that ends.
func (p *patience) wait(ctx context.Context) error {
	doublings := p.attempt
	if doublings > steps {
		doublings = max(0, 2*steps-p.attempt)
	}
	p.attempt++
	return p.pause(ctx, min(max(p.took, shortWait)<<doublings, longWait))
}

// rest pauses after a throttled or unanswered call; spent is true when there may not be another.
func (p *patience) rest(ctx context.Context) (spent bool, err error) {
	if p.troubles++; p.troubles >= maxTroubles {
		return true, nil
	}
	return false, p.pause(ctx, min(firstRest<<(p.troubles-1), longestRest))
}

func (p *patience) pause(ctx context.Context, bound time.Duration) error {
	return sleep(ctx, p.jitter(bound))
}

// sleep pauses for that long; it returns the context's error when that ends first.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

func (p *patience) jitter(bound time.Duration) time.Duration {
	var b [8]byte
	if _, err := io.ReadFull(p.random, b[:]); err != nil {
		return bound
	}
	return time.Duration(binary.LittleEndian.Uint64(b[:]) % uint64(bound+1))
}
