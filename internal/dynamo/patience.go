package dynamo

import (
	"context"
	"encoding/binary"
	"io"
	"time"
)

// Bounds of the wait between two attempts. The wait is drawn from zero to a bound that doubles: writers that met
// each other once spread out until about one of them writes at a time.
const (
	firstWait = 5 * time.Millisecond
	longWait  = 200 * time.Millisecond

	// maxTroubles is how many throttled or unanswered calls one operation bears. Losing to another writer is no
	// trouble: an append never fails only because others append (design 4.1).
	maxTroubles = 8
)

// patience is what one operation has left of attempts.
type patience struct {
	random   io.Reader
	attempt  int
	troubles int
}

func (s *Store) patience() *patience { return &patience{random: s.random} }

// spend counts a throttled or unanswered call and reports whether another may follow.
func (p *patience) spend() bool {
	p.troubles++
	return p.troubles < maxTroubles
}

// wait pauses before the next attempt and returns the context's error when it ends first.
func (p *patience) wait(ctx context.Context) error {
	bound := min(firstWait<<min(p.attempt, 10), longWait)
	p.attempt++
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
