package throughline

import (
	"context"
	"io"
	"time"
)

// deadline is the time that a call may take, and its cancellation.
type deadline struct {
	outer   context.Context
	ctx     context.Context
	cancel  context.CancelCauseFunc
	timer   *time.Timer
	timeout time.Duration
	ends    time.Time
}

func newDeadline(ctx context.Context, timeout time.Duration) *deadline {
	d := &deadline{outer: ctx, timeout: timeout, ends: time.Now().Add(timeout)}
	d.ctx, d.cancel = context.WithCancelCause(ctx)
	d.timer = time.AfterFunc(timeout, func() { d.cancel(ErrTimeout) })
	return d
}

// extend begins the timeout again, as each event of a stream does.
func (d *deadline) extend() {
	d.ends = time.Now().Add(d.timeout)
	d.timer.Reset(d.timeout)
}

// pause stops the timeout until extend, while the app works on an event.
func (d *deadline) pause() { d.timer.Stop() }

// allows reports whether a wait ends before the deadline.
func (d *deadline) allows(wait time.Duration) bool {
	ends := d.ends
	if outer, ok := d.ctx.Deadline(); ok && outer.Before(ends) {
		ends = outer
	}
	return time.Now().Add(wait).Before(ends)
}

// wait waits, or returns the cause of the cancellation.
func (d *deadline) wait(duration time.Duration) error {
	timer := time.NewTimer(duration)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-d.ctx.Done():
		return context.Cause(d.ctx)
	}
}

// signs begins the timeout again with each piece of a stream: also with a comment, which says that the server works.
type signs struct {
	io.Reader
	*deadline
}

func (s signs) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	if n > 0 {
		s.extend()
	}
	return n, err //nolint:wrapcheck // the caller wraps it
}

// end ends the call and its connection.
func (d *deadline) end() {
	d.timer.Stop()
	d.cancel(nil)
}
