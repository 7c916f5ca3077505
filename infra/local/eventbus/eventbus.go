// Package eventbus is the part of Amazon EventBridge that the functions use: it takes events. It keeps those of this
// run in memory, and gives them to whoever asks, as a rule of EventBridge gives them to its target.
package eventbus

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/throughline/throughline/infra/local/devapi"
)

const (
	// The limits of one call (Amazon EventBridge API Reference, "PutEvents").
	maxEntries = 10
	maxBytes   = 256 << 10
	timeBytes  = 14
	// maxKept is how many events are kept, the newest.
	maxKept = 100_000

	mediaType = "application/x-amz-json-1.1"
)

// Bus is an event bus. It is safe for concurrent use.
type Bus struct {
	// Print, if set, is called with each event.
	Print func(events.EventBridgeEvent)

	mu    sync.Mutex
	count int
	kept  []events.EventBridgeEvent
	more  chan struct{} // is closed with the next event
}

// New returns an empty bus.
func New() *Bus { return &Bus{more: make(chan struct{})} }

type entry struct {
	Source, DetailType, Detail string
	Time                       float64
}

// Handler serves PutEvents by the JSON protocol of EventBridge. Signatures and the names of buses are not checked.
func (b *Bus) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in struct{ Entries []entry }
		err := json.NewDecoder(r.Body).Decode(&in)
		bytes := 0
		for _, e := range in.Entries {
			bytes += timeBytes + len(e.Source) + len(e.DetailType) + len(e.Detail)
		}
		if err != nil || len(in.Entries) == 0 || len(in.Entries) > maxEntries || bytes > maxBytes {
			devapi.Answer(w, http.StatusBadRequest, mediaType, map[string]string{
				"__type": "ValidationException", "message": "a call has 1 to 10 entries with 262144 bytes",
			})
			return
		}
		results := make([]map[string]string, len(in.Entries))
		for i, e := range in.Entries {
			results[i] = map[string]string{"EventId": b.add(e)}
		}
		devapi.Answer(w, http.StatusOK, mediaType, map[string]any{"FailedEntryCount": 0, "Entries": results})
	})
}

func (b *Bus) add(in entry) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.count++
	e := events.EventBridgeEvent{
		Version: "0", ID: fmt.Sprintf("00000000-0000-4000-8000-%012x", b.count), DetailType: in.DetailType,
		Source: in.Source, AccountID: "000000000000", Time: time.Unix(int64(in.Time), 0).UTC(), Region: "us-east-1",
		Resources: []string{}, Detail: json.RawMessage(in.Detail),
	}
	b.kept = append(b.kept, e)
	b.kept = b.kept[max(0, len(b.kept)-maxKept):]
	close(b.more)
	b.more = make(chan struct{})
	if b.Print != nil {
		b.Print(e)
	}
	return e.ID
}

// after returns the events that came after the one of an id, and what is closed when there are more. For an id that it
// does not know it returns all.
func (b *Bus) after(id string) ([]events.EventBridgeEvent, <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	at := slices.IndexFunc(b.kept, func(e events.EventBridgeEvent) bool { return e.ID == id })
	return b.kept[at+1:], b.more
}

// Write writes the events that came after the one of an id, one a line. With follow it goes on until ctx ends.
func (b *Bus) Write(ctx context.Context, w io.Writer, flush func(), id string, follow bool) {
	for {
		newer, more := b.after(id)
		for _, e := range newer {
			if id = e.ID; json.NewEncoder(w).Encode(e) != nil {
				return // the client has gone
			}
		}
		if flush(); !follow {
			return
		}
		select {
		case <-more:
		case <-ctx.Done():
			return
		}
	}
}
