// Package eventbridge sends events to a bus of Amazon EventBridge.
package eventbridge

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge/types"

	"github.com/throughline/throughline/internal/event"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/truncate"
)

// Source is the source of all events.
const Source = "throughline"

// The limits of one call (Amazon EventBridge API Reference, "PutEvents"). Of an entry count the detail, the source, the
// detail type and 14 bytes for the time.
const (
	maxEntries = 10
	maxBytes   = 256 << 10
	timeBytes  = 14
	// maxContent is how many bytes of a content are sent. With each of them escaped, an event still fits.
	maxContent = 40_000
)

// Bus is an event bus. It is safe for concurrent use.
type Bus struct {
	client *eventbridge.Client
	name   string
}

var _ event.Bus = (*Bus)(nil)

// New returns the bus of a name.
func New(client *eventbridge.Client, name string) *Bus { return &Bus{client, name} }

// Send sends events in calls of as many as one may have. After a call that fails it makes no other one. It returns
// those that the bus has not taken.
func (b *Bus) Send(ctx context.Context, events []event.Event) (left []event.Event, err error) {
	entries := make([]types.PutEventsRequestEntry, len(events))
	for i, e := range events {
		e.Content = truncate.Bytes(e.Content, maxContent)
		detail, err := json.Marshal(e)
		if err != nil {
			return events, fmt.Errorf("encode event: %w", err)
		}
		entries[i] = types.PutEventsRequestEntry{
			EventBusName: &b.name, Source: aws.String(Source), DetailType: aws.String(string(e.Type)),
			Detail: aws.String(string(detail)), Time: &events[i].Time,
		}
	}
	for from := 0; from < len(entries); {
		to := from + fits(entries[from:])
		out, callErr := b.client.PutEvents(ctx, &eventbridge.PutEventsInput{Entries: entries[from:to]})
		if callErr != nil {
			return append(left, events[from:]...), unavailable(callErr)
		}
		for i, result := range out.Entries {
			if result.ErrorCode == nil {
				continue
			}
			left, err = append(left, events[from+i]), fmt.Errorf("put event: %s", *result.ErrorCode)
			if strings.HasPrefix(*result.ErrorCode, "Throttl") || strings.HasPrefix(*result.ErrorCode, "Internal") {
				err = unavailable(err)
			}
		}
		from = to
	}
	return left, err
}

// unavailable is the error of a bus that takes nothing now.
func unavailable(err error) error {
	return fault.Wrap(fault.Unavailable, "put events", err)
}

// fits returns how many of the entries, from the first, one call may have.
func fits(entries []types.PutEventsRequestEntry) int {
	bytes := 0
	entries = entries[:min(len(entries), maxEntries)]
	for i, e := range entries {
		bytes += timeBytes + len(*e.Source) + len(*e.DetailType) + len(*e.Detail)
		if i > 0 && bytes > maxBytes {
			return i
		}
	}
	return len(entries)
}
