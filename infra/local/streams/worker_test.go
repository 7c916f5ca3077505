package streams_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/throughline/throughline/infra/local/streams"
	"github.com/throughline/throughline/infra/local/template"
	"github.com/throughline/throughline/internal/testing/check"
)

// TestPartialResponse has a handler that reports three records of its first batch. Delivery goes on from the lowest.
func TestPartialResponse(t *testing.T) {
	t.Parallel()
	table := newTable(t)
	for n := range 6 {
		put(t, table, numbered(0, n))
	}
	var once sync.Once
	mapping := template.Stream{BatchSize: 10, MaxRetries: 3, ReportsItems: true}
	s := subscribe(t, table, mapping, func(e events.DynamoDBEvent) (out any, err error) {
		once.Do(func() {
			r := e.Records
			out = failures(r[4].Change.SequenceNumber, r[2].Change.SequenceNumber, r[3].Change.SequenceNumber)
		})
		return out, nil
	})
	s.wait(t)
	want := []int{0, 1, 2, 3, 4, 5, 2, 3, 4, 5}
	check.Same(t, want, s.numbers(t), "delivered")
	if stats := s.poller.Stats(); stats.Handled != 6 || stats.Pending != 0 || stats.Invocations != 2 {
		t.Errorf("stats %+v", stats)
	}
}

func TestBatchResponses(t *testing.T) {
	t.Parallel()
	retried := map[string]bool{
		``: false, `null`: false, `{}`: false, `{"batchItemFailures":null}`: false, `{"batchItemFailures":[]}`: false,
		`{"batchItemFailures":[{"itemIdentifier":""}]}`: true, `{"batchItemFailures":[{"itemIdentifier":null}]}`: true,
		`{"batchItemFailures":[{"other":"1"}]}`: true, `{"batchItemFailures":[{"itemIdentifier":"no such"}]}`: true,
		`{"batchItemFailures":7}`: true,
	}
	table := newTable(t)
	put(t, table, numbered(0, 0))
	for response, again := range retried {
		t.Run(response, func(t *testing.T) {
			t.Parallel()
			first := true
			mapping := template.Stream{BatchSize: 10, MaxRetries: 1, ReportsItems: true}
			s := subscribe(t, table, mapping, func(events.DynamoDBEvent) (any, error) {
				defer func() { first = false }()
				if first {
					return json.RawMessage(response), nil
				}
				return nil, nil
			})
			s.wait(t)
			check.Equal(t, again, len(s.batches()) > 1, "retried")
		})
	}
}

func TestBisectionLeavesOnlyThePoisonRecord(t *testing.T) {
	t.Parallel()
	table := newTable(t)
	for n := range 9 {
		put(t, table, numbered(0, n))
	}
	handled := map[int]bool{}
	mapping := template.Stream{BatchSize: 10, MaxRetries: 2, Bisect: true}
	s := subscribe(t, table, mapping, func(e events.DynamoDBEvent) (any, error) {
		for _, r := range e.Records {
			if r.Change.NewImage["n"].Number() == "4" {
				return nil, errors.New("poison")
			}
		}
		for _, r := range e.Records {
			n, _ := strconv.Atoi(r.Change.NewImage["n"].Number())
			handled[n] = true
		}
		return nil, nil
	})
	s.wait(t)
	if len(handled) != 8 {
		t.Errorf("handled %v, want all but 4", handled)
	}
	letters := s.poller.DeadLetters()
	var poison events.DynamoDBEventRecord
	if len(letters) != 1 || len(letters[0].Records) != 1 || json.Unmarshal(letters[0].Records[0], &poison) != nil ||
		number(t, poison) != 4 ||
		letters[0].Condition != streams.RetriesExhausted || letters[0].Invocations != 3 || letters[0].Error != "poison" {
		t.Errorf("dead letters %+v", letters)
	}
	if stats := s.poller.Stats(); stats.Handled != 8 || stats.Pending != 0 {
		t.Errorf("stats %+v", stats)
	}
}

func TestRetryLimit(t *testing.T) {
	t.Parallel()
	table := newTable(t)
	for n := range 3 {
		put(t, table, numbered(0, n))
	}
	fail := true
	s := subscribe(t, table, template.Stream{BatchSize: 10, MaxRetries: 2}, func(events.DynamoDBEvent) (any, error) {
		if fail {
			return nil, errors.New("down")
		}
		return nil, nil
	})
	s.wait(t)
	if got := s.batches(); !slices.Equal(got, []int{3, 3, 3}) {
		t.Errorf("batches %v, want one attempt and two retries", got)
	}
	fail = false
	put(t, table, numbered(0, 3))
	s.wait(t)
	letters := s.poller.DeadLetters()
	if stats := s.poller.Stats(); len(letters) != 1 || len(letters[0].Records) != 3 || stats.Handled != 1 {
		t.Errorf("stats %+v, dead letters %+v", stats, letters)
	}
}

func TestBackoffDoubles(t *testing.T) {
	t.Parallel()
	table := newTable(t)
	put(t, table, numbered(0, 0))
	var invoked []time.Time
	mapping := template.Stream{BatchSize: 10, MaxRetries: 3}
	const backoff = 50 * time.Millisecond
	s := subscribe(t, table, mapping, func(events.DynamoDBEvent) (any, error) {
		invoked = append(invoked, time.Now())
		return nil, errors.New("down")
	}, func(o *streams.Options) { o.Backoff = backoff })
	s.wait(t)
	s.stop()
	if len(invoked) != 4 {
		t.Fatalf("%d invocations, want one and three retries", len(invoked))
	}
	for i, factor := range []time.Duration{1, 2, 4} {
		if wait := invoked[i+1].Sub(invoked[i]); wait < factor*backoff {
			t.Errorf("retry %d came after %s, want at least %s", i+1, wait, factor*backoff)
		}
	}
}

func TestMaxAge(t *testing.T) {
	t.Parallel()
	table := newTable(t)
	put(t, table, numbered(0, 0))
	mapping := template.Stream{BatchSize: 10, MaxRetries: template.Unlimited, MaxAge: time.Nanosecond}
	s := subscribe(t, table, mapping, nil)
	s.wait(t)
	letters := s.poller.DeadLetters()
	if len(letters) != 1 || letters[0].Condition != streams.TooOld || len(s.batches()) != 0 {
		t.Errorf("dead letters %+v, batches %v", letters, s.batches())
	}
}
