package pineconelocal

import (
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// store holds the index twice when it lags: as written, and as readers see it. Without a lag the two are one.
type store struct {
	metric Metric
	clock  func() time.Time

	mu      sync.RWMutex
	lag     time.Duration
	written *contents
	visible *contents
	pending []pendingChange // in the order written
	journal *journal        // nil when the index is only in memory
}

// pendingChange is written and not yet visible.
type pendingChange struct {
	at time.Time
	change
}

func newStore(opts Options) *store {
	c := &contents{dimension: opts.Dimension, namespaces: map[string]*namespace{}}
	return &store{metric: opts.Metric, clock: opts.Clock, written: c, visible: c}
}

// startLag hides all later writes from reads for that long.
func (s *store) startLag(lag time.Duration) {
	if lag > 0 {
		s.lag, s.visible = lag, s.written.clone()
	}
}

// write plans a change on what has been written so far, and makes it: all of it, or nothing when plan or the journal
// fails. The request is what the journal keeps.
func (s *store) write(request message, plan func(written *contents) (change, error)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	ch, err := plan(s.written)
	if err != nil || ch.isNothing() {
		return err
	}
	if s.journal != nil {
		if err := s.journal.append(request); err != nil {
			return status.Errorf(codes.Unavailable, "keep the write: %v", err)
		}
	}
	s.written.apply(ch)
	if s.lag > 0 {
		s.pending = append(s.pending, pendingChange{s.clock().Add(s.lag), ch})
	}
	return nil
}

// read shows what readers may see now. What look keeps of it must be copied, but for the records themselves.
func (s *store) read(look func(visible *contents)) {
	s.settle()
	s.mu.RLock()
	defer s.mu.RUnlock()
	look(s.visible)
}

// settle makes the changes visible whose time has come.
func (s *store) settle() {
	if s.lag == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now, due := s.clock(), 0
	for due < len(s.pending) && !s.pending[due].at.After(now) {
		s.visible.apply(s.pending[due].change)
		due++
	}
	s.pending = slices.Delete(s.pending, 0, due)
}

func (s *store) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.journal == nil {
		return nil
	}
	return s.journal.close()
}
