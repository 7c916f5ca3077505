package sweep

import (
	"context"
	"sync"
	"time"

	"github.com/throughline/throughline/internal/fault"
)

// The stages of the work on a session. The other queues are stages of their own, by their names.
const (
	Summarizing = "summarizing"
	Indexing    = "indexing"
	Extracting  = "extracting"
)

// InVain is a stage of the background work whose visits have had no success.
type InVain struct {
	Stage  string
	Visits int
	// Since is when the first of the records that were visited fell due, and At when the last one was visited.
	Since, At time.Time
}

// StageVisits are the visits of a stage since the last ones were stored: how many failed, whether there was a success,
// and when the first of the records that failed had fallen due.
type StageVisits struct {
	Stage     string
	Failed    int
	Succeeded bool
	Since     time.Time
}

// Stages keeps what is in vain.
type Stages interface {
	// AddVisits adds the failed visits of stages. After a success a stage is not in vain any more.
	AddVisits(ctx context.Context, visits []StageVisits) error
}

// tally adds up the visits of one instance until they are stored.
type tally struct {
	mu     sync.Mutex
	stages map[string]*StageVisits
}

// notes is what a context has for Note. since is when the visited record fell due, zero outside of visits.
type notes struct {
	tally  *tally
	since  time.Time
	isMade bool
}

type notesKey struct{}

// Watch returns a context for the same work outside of visits. Its successes count, and its failures do not: what fails
// there is left to the sweep.
func (s *Service) Watch(ctx context.Context) context.Context {
	return context.WithValue(ctx, notesKey{}, &notes{tally: &s.tally})
}

// Note says how a stage of a visit went. What is gone is no failure. It does nothing where nobody counts.
func Note(ctx context.Context, stage string, err error) {
	n, ok := ctx.Value(notesKey{}).(*notes)
	if !ok {
		return
	}
	n.tally.mu.Lock()
	defer n.tally.mu.Unlock()
	n.isMade = true
	v := n.tally.stages[stage]
	if v == nil {
		v = &StageVisits{Stage: stage}
		n.tally.stages[stage] = v
	}
	switch {
	case fault.IgnoreNotFound(err) == nil:
		v.Succeeded = v.Succeeded || err == nil
	case !n.since.IsZero(): // in a visit
		if v.Failed++; v.Since.IsZero() || n.since.Before(v.Since) {
			v.Since = n.since
		}
	}
}

// saveStages stores what was noted since the last time.
func (s *Service) saveStages(ctx context.Context) error {
	s.tally.mu.Lock()
	var all []StageVisits
	for _, v := range s.tally.stages {
		if v.Failed > 0 || v.Succeeded {
			all = append(all, *v)
		}
	}
	clear(s.tally.stages)
	s.tally.mu.Unlock()
	if len(all) == 0 {
		return nil
	}
	return s.Store.AddVisits(ctx, all)
}
