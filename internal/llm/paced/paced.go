// Package paced asks a model in the background, as often at once as its service bears. What it knows of the service is
// the answers of one instance: it costs no call and no record, and each instance finds its own share of the limits.
package paced

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/llm"
	"github.com/throughline/throughline/internal/llm/metered"
)

const (
	// patience is how many failures in a row mean that the service is failing.
	patience = 5
	// firstPause is the first pause of a service that is failing. Each further one is twice as long, at most maxPause.
	firstPause = 5 * time.Second
	maxPause   = time.Minute
	// limitedFor is how long a service counts as failing after it has refused a call for its limits.
	limitedFor = time.Minute
	// badFor is how long an answer of no use counts.
	badFor = 2 * maxPause
)

// Model is a model whose background calls are paced. It is safe for concurrent use.
type Model struct {
	model metered.Completer
	now   func() time.Time
	most  float64

	mu sync.Mutex
	// atOnce is how many calls there may be at once. Below steep it grows by one with each answer, from there on by one
	// with each atOnce answers.
	atOnce, steep float64
	// failures and pauses count those since the last answer.
	failures, pauses int
	// lowered is when atOnce was last lowered. The failures of calls that began before then say nothing new.
	lowered time.Time
	limited time.Time // when the service last refused a call for its limits
	// bad counts the answers in a row that were of no use, and badAt is when the last one came.
	bad    int
	badAt  time.Time
	paused time.Time // until when no call is made
}

var (
	_ metered.Completer = (*Model)(nil)
	_ metered.Judge     = (*Model)(nil)
)

// New returns a paced model that is asked at most so often at once.
func New(model metered.Completer, atOnce int, now func() time.Time) *Model {
	most := float64(atOnce)
	return &Model{model: model, now: now, most: most, atOnce: most, steep: most}
}

// AtOnce is how many calls there may be at once now: 0 in a pause, and otherwise at least 1.
func (m *Model) AtOnce() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.now().Before(m.paused) {
		return 0
	}
	return int(m.atOnce)
}

// IsFailing reports whether the service is failing, or at its limits. What fails then may not be at fault.
func (m *Model) IsFailing() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.now()
	return m.failures >= patience || now.Before(m.limited.Add(limitedFor)) ||
		m.bad >= patience && now.Before(m.badAt.Add(badFor))
}

// Judge learns whether an answer was of use. After several in a row that were not, calls pause as after failures: the
// model is ill, and no record is at fault.
func (m *Model) Judge(useful bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.now()
	if useful || now.After(m.badAt.Add(badFor)) {
		m.bad = 0
	}
	if useful {
		return
	}
	m.badAt = now
	if m.bad++; m.bad >= patience {
		m.pause(now.Add(min(firstPause<<min(m.bad-patience, patience), maxPause)))
	}
}

// Complete asks the model. In a pause it does not, and the error is Unavailable.
func (m *Model) Complete(ctx context.Context, r llm.Request) (llm.Completion, error) {
	began := m.now()
	if left := m.pauseLeft(began); left > 0 {
		return llm.Completion{}, &fault.Error{
			Code: fault.Unavailable, Op: "ask the model in the background", RetryAfter: left,
			Message: "the model's service is failing; background calls pause",
		}
	}
	out, err := m.model.Complete(ctx, r)
	m.observe(began, err)
	return out, err
}

func (m *Model) pauseLeft(now time.Time) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.paused.Sub(now)
}

// observe learns from the outcome of a call. An answer of no use is an answer of the service, which Judge learns of. A
// call that its caller has cancelled says nothing.
func (m *Model) observe(began time.Time, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case errors.Is(err, context.Canceled):
	case err == nil || llm.IsBadAnswer(err):
		m.succeed()
	default:
		m.fail(began, err)
	}
}

func (m *Model) succeed() {
	m.failures, m.pauses = 0, 0
	step := 1.0
	if m.atOnce >= m.steep {
		step = 1 / m.atOnce
	}
	m.atOnce = min(m.atOnce+step, m.most)
}

func (m *Model) fail(began time.Time, err error) {
	now, isLimit := m.now(), fault.Is(err, fault.RateLimited)
	if isLimit {
		m.limited = now
		m.pause(now.Add(min(fault.From(err).RetryAfter, maxPause)))
	}
	if !began.After(m.lowered) {
		return
	}
	m.failures++
	if isLimit || m.failures >= patience {
		half := max(1, m.atOnce/2)
		if m.pauses == 0 { // later ones are of the same outage
			m.steep = half
		}
		m.lowered, m.atOnce = now, half
	}
	if m.failures >= patience {
		m.pause(now.Add(min(firstPause<<min(m.pauses, patience), maxPause)))
		m.pauses++
		m.atOnce = 1 // the first call after the pause finds out how the service is
	}
}

func (m *Model) pause(until time.Time) {
	if until.After(m.paused) {
		m.paused = until
	}
}
