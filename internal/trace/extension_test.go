package trace_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/throughline/throughline/infra/local/collector"
	"github.com/throughline/throughline/internal/config"
	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/trace"
)

// patience is how long an event that does not come is awaited.
const patience = time.Minute

// lambda is Lambda's Extensions API for an extension inside of the function's process (AWS Lambda Developer Guide).
// infra/rie has the service's own, which does not freeze the process: here a test sees what had happened by the time
// that Lambda may do so, which is when the extension asks for its next event.
type lambda struct {
	t   *testing.T
	url string
	// events are what the extension gets next. asked has the place of each question for one.
	events     chan string
	asked      chan int
	registered atomic.Bool
	questions  atomic.Int64
}

func newLambda(t *testing.T) *lambda {
	t.Helper()
	l := &lambda{t: t, events: make(chan string), asked: make(chan int, 16)}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /2020-01-01/extension/register", l.register)
	mux.HandleFunc("GET /2020-01-01/extension/event/next", l.next)
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	l.url = strings.TrimPrefix(server.URL, "http://")
	return l
}

// register refuses SHUTDOWN, which an extension in the function's process cannot have.
func (l *lambda) register(w http.ResponseWriter, r *http.Request) {
	var asked struct{ Events []string }
	err := json.NewDecoder(r.Body).Decode(&asked)
	if err != nil || fmt.Sprint(asked.Events) != "[INVOKE]" || r.Header.Get("Lambda-Extension-Name") == "" ||
		l.registered.Swap(true) {
		http.Error(w, "no such extension", http.StatusBadRequest)
		return
	}
	w.Header().Set("Lambda-Extension-Identifier", "id-1")
}

func (l *lambda) next(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Lambda-Extension-Identifier") != "id-1" {
		http.Error(w, "unknown extension", http.StatusForbidden)
		return
	}
	l.asked <- int(l.questions.Add(1))
	select {
	case event := <-l.events:
		_, _ = io.WriteString(w, event)
	case <-r.Context().Done():
	}
}

// invoke gives the extension the event of an invocation.
func (l *lambda) invoke(id string, deadline time.Time) {
	l.t.Helper()
	event := fmt.Sprintf(`{"eventType":"INVOKE","requestId":%q,"deadlineMs":%d}`, id, deadline.UnixMilli())
	select {
	case l.events <- event:
	case <-time.After(patience):
		l.t.Fatal("the extension does not ask for events")
	}
}

// await waits until the extension asks for the event of that place.
func (l *lambda) await(place int) {
	l.t.Helper()
	select {
	case got := <-l.asked:
		if got != place {
			l.t.Fatalf("the extension asked for event %d, want %d", got, place)
		}
	case <-time.After(patience):
		l.t.Fatalf("the extension did not ask for event %d", place)
	}
}

// start starts a tracer in a function of a Lambda that sends to a collector.
func start(t *testing.T, l *lambda, to http.Handler, change func(*trace.Options)) *trace.Tracer {
	t.Helper()
	server := httptest.NewServer(to)
	t.Cleanup(server.Close)
	o := trace.Options{
		Tracing: config.Tracing{Endpoint: config.Endpoint(server.URL)}, Stack: "app", Function: "coach",
		Report: func(context.Context, string, error) {}, Now: time.Now,
	}
	if l != nil {
		o.RuntimeAPI = l.url
	}
	if change != nil {
		change(&o)
	}
	tracer := check.Got(trace.New(t.Context(), o))(t)
	if l != nil && !l.registered.Load() {
		t.Fatal("an extension that registers after the start of the function is refused")
	}
	return tracer
}

func invocation(tracer *trace.Tracer, id string) {
	_, finish := tracer.Begin(context.Background(), trace.Invocation{Name: id, RequestID: id, Trigger: trace.TriggerHTTP})
	finish(nil)
}

func never() time.Time { return time.Now().Add(time.Hour) }

// TestSpansAreSentBeforeTheFreeze has invocations that end after the extension gets their events, and before. When it
// asks for the next event, the spans have arrived.
func TestSpansAreSentBeforeTheFreeze(t *testing.T) {
	t.Parallel()
	spans, l := collector.New(), newLambda(t)
	tracer := start(t, l, spans, nil)
	l.await(1)
	l.invoke("one", never())
	invocation(tracer, "one")
	l.await(2)
	invocation(tracer, "two")
	l.invoke("two", never())
	l.await(3)
	got, _ := spans.Spans()
	if len(got) != 2 || got[0].Name != "one" || got[1].Name != "two" || got[0].Service != "app-coach" ||
		got[0].Attributes["faas.coldstart"] != "true" || got[1].Attributes["faas.coldstart"] != "false" {
		t.Errorf("the collector has %+v", got)
	}
}

// TestAnInvocationWithoutAnEndHoldsNoOther has an invocation whose end nobody says, as one that the function's runtime
// refuses. The extension goes on at its deadline.
func TestAnInvocationWithoutAnEndHoldsNoOther(t *testing.T) {
	t.Parallel()
	l := newLambda(t)
	start(t, l, collector.New(), nil)
	l.await(1)
	l.invoke("lost", time.Now())
	l.await(2)
}

// TestACollectorThatHangsEndsNoExtension asks for the next event while the collector has answered nothing.
func TestACollectorThatHangsEndsNoExtension(t *testing.T) {
	t.Parallel()
	l, release := newLambda(t), make(chan struct{})
	tracer := start(t, l, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }), nil)
	t.Cleanup(func() { close(release) })
	l.await(1)
	l.invoke("one", never())
	invocation(tracer, "one") // does not wait
	l.await(2)
}

// TestACollectorThatFailsIsLeftAlone fails twice in a row, which pauses the sending for a minute and is reported once.
// After the pause one failure is enough, and a success ends it.
func TestACollectorThatFailsIsLeftAlone(t *testing.T) {
	t.Parallel()
	l, clock := newLambda(t), time.Unix(0, 0)
	var asked, reported, status atomic.Int64
	status.Store(http.StatusBadRequest)
	fails := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.WriteHeader(int(status.Load()))
	})
	var now atomic.Int64
	tracer := start(t, l, fails, func(o *trace.Options) {
		o.Report = func(context.Context, string, error) { reported.Add(1) }
		o.Now = func() time.Time { return clock.Add(time.Duration(now.Load())) }
	})
	l.await(1)
	for i, step := range []struct {
		after               time.Duration
		status              int64
		wantAsked, wantSaid int64
	}{
		{0, 400, 1, 0},
		{0, 400, 2, 1},
		{59 * time.Second, 400, 2, 1},
		{2 * time.Second, 400, 3, 2},
		{61 * time.Second, 200, 4, 2},
		{0, 400, 5, 2},
		{0, 400, 6, 3},
	} {
		now.Add(int64(step.after))
		status.Store(step.status)
		id := fmt.Sprint(i)
		l.invoke(id, never())
		invocation(tracer, id)
		l.await(i + 2)
		if asked.Load() != step.wantAsked || reported.Load() != step.wantSaid {
			t.Errorf("after step %d: %d requests and %d reports, want %d and %d",
				i, asked.Load(), reported.Load(), step.wantAsked, step.wantSaid)
		}
	}
}
