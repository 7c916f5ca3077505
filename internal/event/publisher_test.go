package event_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/event"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/sweep"
	"github.com/throughline/throughline/internal/testing/check"
)

// fake is a bus that may be down, and the store of what waits for it.
type fake struct {
	calls   int
	failure error
	sent    []event.Event
	kept    map[string]event.Event
	lost    error // of the store
}

func (f *fake) Send(_ context.Context, events []event.Event) ([]event.Event, error) {
	if f.calls++; f.failure != nil {
		return events, f.failure
	}
	f.sent = append(f.sent, events...)
	return nil, nil
}

func (f *fake) Current(_ context.Context, all []event.Event) ([]event.Event, error) {
	return slices.DeleteFunc(all, func(e event.Event) bool { return e.User == "erased" }), nil
}

func (f *fake) KeepEvent(_ context.Context, e event.Event) error {
	if f.lost == nil {
		f.kept[e.ID] = e
	}
	return f.lost
}

func (f *fake) WaitingEvent(_ context.Context, d sweep.Due) (event.Event, error) {
	e, ok := f.kept[d.ID]
	if !ok {
		return e, fault.Missing("event")
	}
	return e, nil
}

func (f *fake) DropEvent(_ context.Context, d sweep.Due) error {
	delete(f.kept, d.ID)
	return nil
}

// TestPublisherSparesABusThatFails has an outage. During it the bus is asked once in ten seconds, and events wait
// without their contents. What is refused by itself stops no other event.
func TestPublisherSparesABusThatFails(t *testing.T) {
	t.Parallel()
	now := time.Unix(0, 0)
	f := &fake{failure: fault.New(fault.Unavailable, ""), kept: map[string]event.Event{}}
	p := &event.Publisher{
		Bus: f, Store: f, Content: true, Now: func() time.Time { return now },
		Report: func(context.Context, string, error) {},
	}
	publish := func(id string, user conversation.UserID) {
		t.Helper()
		check.OK(t, p.Publish(t.Context(), []event.Event{{ID: id, User: user, Generation: 1, Content: "said"}}))
	}
	publish("1", "ann")
	publish("2", "ann")
	publish("3", "erased")
	if f.calls != 1 || len(f.kept) != 2 || f.kept["1"].Content+f.kept["2"].Content != "" || p.AtOnce() != 0 {
		t.Errorf("%d calls, kept %+v, %d at once", f.calls, f.kept, p.AtOnce())
	}
	now = now.Add(10 * time.Second)
	f.failure = errors.New("malformed")
	_, err := p.Visit(t.Context(), sweep.Claim{Due: sweep.Due{ID: "1"}})
	if !errors.Is(err, f.failure) || p.AtOnce() == 0 {
		t.Errorf("an event that is refused by itself: %v, %d at once", err, p.AtOnce())
	}
	f.failure = nil
	for _, id := range []string{"1", "2", "gone"} {
		if outcome, err := p.Visit(t.Context(), sweep.Claim{Due: sweep.Due{ID: id}}); err != nil || outcome != sweep.Kept {
			t.Errorf("visit %s: %v", id, err)
		}
	}
	publish("4", "ann")
	if len(f.kept) != 0 || len(f.sent) != 3 || f.sent[2].Content != "said" {
		t.Errorf("after the outage kept %+v, sent %+v", f.kept, f.sent)
	}
	f.failure, f.lost = fault.New(fault.Unavailable, ""), errors.New("down")
	if err := p.Publish(t.Context(), []event.Event{{ID: "5", User: "ann"}}); !errors.Is(err, f.lost) {
		t.Errorf("neither sent nor kept: %v", err)
	}
}
