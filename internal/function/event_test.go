package function_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/throughline/throughline/infra/local/eventbus"
	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/event"
	"github.com/throughline/throughline/internal/testing/check"
)

// busServer is an event bus that refuses every other call until it works.
type busServer struct {
	url   string
	works atomic.Bool
	calls atomic.Int64
	bus   *eventbus.Bus
}

// newBusServer serves a bus for workers.
func newBusServer(t *testing.T, w *workers) *busServer {
	t.Helper()
	s := &busServer{bus: eventbus.New()}
	server := httptest.NewServer(w.handler(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		if s.calls.Add(1)%2 == 0 && !s.works.Load() {
			http.Error(out, `{"__type":"InternalException"}`, http.StatusInternalServerError)
			return
		}
		s.bus.Handler().ServeHTTP(out, r)
	})))
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

// checkEvents expects that the bus has got each event of each record that was delivered, and none beside.
func (p *pipeline) checkEvents(t *testing.T) {
	t.Helper()
	var want, got []string
	for _, r := range p.all {
		events := check.Got(dynamo.New(p.client, p.table).DecodeEvents(r.event))(t)
		for _, e := range events {
			want = append(want, string(e.Type)+" "+e.ID)
		}
	}
	var lines bytes.Buffer
	p.bus.bus.Write(t.Context(), &lines, func() {}, "", false)
	for line := range strings.Lines(lines.String()) {
		var of events.EventBridgeEvent
		var e event.Event
		check.OK(t, json.Unmarshal([]byte(line), &of))
		check.OK(t, json.Unmarshal(of.Detail, &e))
		got = append(got, string(e.Type)+" "+e.ID)
	}
	slices.Sort(want)
	slices.Sort(got)
	check.Same(t, slices.Compact(want), slices.Compact(got), "events of the records (-) and on the bus (+)")
	for _, some := range []event.Type{
		event.SessionCreated, event.SessionCompleted, event.SummaryUpdated, event.MemoryAdded, event.TurnFinished,
	} {
		if !slices.ContainsFunc(want, func(e string) bool { return strings.HasPrefix(e, string(some)+" ") }) {
			t.Errorf("the history has no %s", some)
		}
	}
}
