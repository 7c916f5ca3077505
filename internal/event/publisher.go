package event

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/parallel"
	"github.com/throughline/throughline/internal/sweep"
)

// Bus takes events to the app.
type Bus interface {
	// Send sends events. It returns those that the bus has not taken, with the reason, which is Unavailable where it
	// takes none now.
	Send(ctx context.Context, events []Event) (left []Event, err error)
}

// Store keeps the events that wait for the bus.
type Store interface {
	Waiting
	// Current returns the events of users who have not been erased since.
	Current(ctx context.Context, events []Event) ([]Event, error)
}

// Waiting are the events that wait for the bus.
type Waiting interface {
	// KeepEvent stores an event that is due at once, unless its user has been erased since.
	KeepEvent(ctx context.Context, e Event) error
	// WaitingEvent reads the event of a due record. It is NotFound when there is none, or its user was erased since.
	WaitingEvent(ctx context.Context, d sweep.Due) (Event, error)
	// DropEvent deletes the event of a due record.
	DropEvent(ctx context.Context, d sweep.Due) error
}

const (
	// sendTime is how long one attempt to send a batch takes at most.
	sendTime = time.Second
	// retryAfter is how long a bus that has failed is not asked again. Events wait meanwhile, so that an outage holds up
	// no batch for longer than sendTime, and that rarely.
	retryAfter = 10 * time.Second
	keptAtOnce = 16
)

// Publisher sends events, and keeps what the bus does not take. All its fields but Bus are needed. It is safe for
// concurrent use.
type Publisher struct {
	// Bus may be nil. Then events that wait go on waiting.
	Bus   Bus
	Store Store
	// Content says that events have their contents.
	Content bool
	Now     func() time.Time
	// Report is called when events have to wait.
	Report func(ctx context.Context, op string, err error)

	mu       sync.Mutex
	failedAt time.Time
}

var _ sweep.Visitor = (*Publisher)(nil)

// Publish sends events, but for those of users who have been erased since. It returns an error when an event could be
// neither sent nor kept.
func (p *Publisher) Publish(ctx context.Context, events []Event) error {
	if len(events) == 0 {
		return nil
	}
	current, err := p.Store.Current(ctx, events)
	if err != nil {
		return err
	}
	left, err := p.send(ctx, current)
	if err != nil {
		p.Report(ctx, "send events", err)
	}
	failures := make([]error, len(left))
	parallel.Each(len(left), keptAtOnce, func(i int) {
		left[i].Content = ""
		failures[i] = p.Store.KeepEvent(ctx, left[i])
	})
	return errors.Join(failures...)
}

// send returns the events that the bus has not taken.
func (p *Publisher) send(ctx context.Context, events []Event) ([]Event, error) {
	if p.AtOnce() == 0 {
		return events, nil
	}
	if !p.Content {
		for i := range events {
			events[i].Content = ""
		}
	}
	ctx, cancel := context.WithTimeout(ctx, sendTime)
	defer cancel()
	left, err := p.Bus.Send(ctx, events)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.failedAt = (time.Time{}); fault.Is(err, fault.Unavailable) {
		p.failedAt = p.Now()
	}
	return left, err
}

// AtOnce is how many events of the sweep may be on their way to the bus: none for a while after it has failed.
func (p *Publisher) AtOnce() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.Bus == nil || !p.failedAt.IsZero() && p.Now().Sub(p.failedAt) < retryAfter {
		return 0
	}
	return sweep.AtOnce
}

// Visit sends an event that waits.
func (p *Publisher) Visit(ctx context.Context, c sweep.Claim) (sweep.Outcome, error) {
	e, err := p.Store.WaitingEvent(ctx, c.Due)
	if fault.Is(err, fault.NotFound) {
		return sweep.Kept, p.Store.DropEvent(ctx, c.Due)
	}
	if err != nil {
		return sweep.Kept, err
	}
	left, err := p.send(ctx, []Event{e})
	if len(left) > 0 {
		return sweep.Again(p.Now().Add(retryAfter)), err
	}
	return sweep.Kept, p.Store.DropEvent(ctx, c.Due)
}
