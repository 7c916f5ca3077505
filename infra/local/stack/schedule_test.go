package stack

import (
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/throughline/throughline/infra/local/lambdaapi"
	"github.com/throughline/throughline/infra/local/template"
)

// A schedule does not wait for an invocation. A sweep that works on one user's shards for long would keep the others'
// from being looked at.
func TestScheduleDoesNotWait(t *testing.T) {
	logger := slog.New(slog.DiscardHandler)
	runtime := lambdaapi.NewRuntime(logger)
	started, end := make(chan struct{}), make(chan struct{})
	runtime.Register("slow", func() error {
		select {
		case started <- struct{}{}:
		case <-end:
		}
		<-end
		return nil
	}, time.Minute)
	s := newSupervisor()
	defer func() { close(end); s.cancel(); s.running.Wait() }()
	timers := triggers{
		host: host{logger: logger, supervisor: s, printer: &printer{out: io.Discard}}, runtime: runtime,
	}
	every := template.Schedule{Name: "often", Every: time.Millisecond}
	timers.startSchedule(template.Function{PhysicalName: "slow"}, every)
	for range invocationsAtOnce {
		select {
		case <-started:
		case <-time.After(10 * time.Second):
			t.Fatal("the next invocation waited for the first")
		}
	}
	select {
	case <-started:
		t.Error("a machine that is slower than the rate has more and more invocations")
	case <-time.After(50 * time.Millisecond):
	}
}
