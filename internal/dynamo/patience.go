package dynamo

import (
	"context"
	"encoding/binary"
	"io"
	"time"
)

const (
	// firstWait is the bound of the first wait after another writer came first, and steps how often it doubles: then
	// about one of twenty writers writes at a time.
	firstWait = 5 * time.Millisecond
	steps     = 4
	// aging is after how many further attempts the bound halves again, down to firstWait: who has lost for long
	// waits less than who has just come, so that nobody loses for ever.
	aging = 3

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
}

func (s *Store) patience() *patience { return &patience{random: s.random} }

// wait pauses after another writer came first. It returns the context's error when that ends.
func (p *patience) wait(ctx context.Context) error {
	doublings := p.attempt
	if doublings > steps {
		doublings = max(0, steps-(p.attempt-steps)/aging)
	}
	p.attempt++
	return p.pause(ctx, firstWait<<doublings)
}

// rest pauses after a throttled or unanswered call; spent is true when there may not be another.
func (p *patience) rest(ctx context.Context) (spent bool, err error) {
	if p.troubles++; p.troubles >= maxTroubles {
		return true, nil
	}
	return false, p.pause(ctx, min(firstRest<<(p.troubles-1), longestRest))
}

func (p *patience) pause(ctx context.Context, bound time.Duration) error {
	timer := time.NewTimer(p.jitter(bound))
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
