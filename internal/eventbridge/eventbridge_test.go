package eventbridge_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/eventbridge"

	"github.com/throughline/throughline/infra/local/eventbus"
	"github.com/throughline/throughline/internal/config"
	"github.com/throughline/throughline/internal/event"
	"github.com/throughline/throughline/internal/eventbridge"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/function"
)

// newBus returns the bus of a handler.
func newBus(t *testing.T, handler http.Handler) *eventbridge.Bus {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	cfg := function.AWS(config.Config{Region: "us-east-1", AccessKeyID: "a", SecretAccessKey: "b"}, server.URL)
	return eventbridge.New(sdk.NewFromConfig(cfg, func(o *sdk.Options) { o.Retryer = aws.NopRetryer{} }), "bus")
}

func someEvents(n int, content string) []event.Event {
	out := make([]event.Event, n)
	for i := range out {
		out[i] = event.Event{
			ID: fmt.Sprint(i), Type: event.MemoryAdded, User: "ann", Time: time.Unix(0, 0).UTC(), Content: content,
		}
	}
	return out
}

// TestSendKeepsToTheLimits sends more events than a call takes, with contents that are longer than an event may be
// when they are escaped.
func TestSendKeepsToTheLimits(t *testing.T) {
	t.Parallel()
	for _, content := range []string{"", strings.Repeat("\x01", 256<<10), strings.Repeat("ü", 128<<10)} {
		bus := eventbus.New()
		left, err := newBus(t, bus.Handler()).Send(t.Context(), someEvents(25, content))
		var lines strings.Builder
		bus.Write(t.Context(), &lines, func() {}, "", false)
		if got := strings.Count(lines.String(), "\n"); err != nil || len(left) != 0 || got != 25 {
			t.Errorf("%d of 25 events, %d left: %v", got, len(left), err)
		}
	}
}

// TestSendReturnsWhatIsLeft has a bus that refuses the last entry of each call, then one that refuses the second call.
func TestSendReturnsWhatIsLeft(t *testing.T) {
	t.Parallel()
	answer := func(code string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			entries := strings.Repeat(`{"EventId":"x"},`, 9)
			_, _ = fmt.Fprintf(w, `{"FailedEntryCount":1,"Entries":[%s{"ErrorCode":%q}]}`, entries, code)
		})
	}
	for code, unavailable := range map[string]bool{"ThrottlingException": true, "MalformedDetail": false} {
		left, err := newBus(t, answer(code)).Send(t.Context(), someEvents(20, ""))
		if len(left) != 2 || left[0].ID != "9" || left[1].ID != "19" || fault.Is(err, fault.Unavailable) != unavailable {
			t.Errorf("%s: left %v, %v", code, left, err)
		}
	}
	calls := 0
	left, err := newBus(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if calls++; calls > 1 {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		_, _ = fmt.Fprintf(w, `{"Entries":[%s{"EventId":"x"}]}`, strings.Repeat(`{"EventId":"x"},`, 9))
	})).Send(t.Context(), someEvents(30, ""))
	if len(left) != 20 || left[0].ID != "10" || calls != 2 || !fault.Is(err, fault.Unavailable) {
		t.Errorf("%d left after %d calls: %v", len(left), calls, err)
	}
}
