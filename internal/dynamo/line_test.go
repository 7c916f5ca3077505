package dynamo_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/throughline/throughline/infra/local/dynamodblocal/dynamodbtest"
	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/dynamo/dynamotest"
	"github.com/throughline/throughline/internal/fault"
)

// crowd is writers that append to one session, each from a store of its own, as functions in processes of their own
// do. It notes how long each append took, and how many transactions and calls.
type crowd struct {
	writers, each int

	mu           sync.Mutex
	waits        []time.Duration
	tries, calls []int
}

func (c *crowd) run(t testing.TB, table string) {
	var wg sync.WaitGroup
	for w := range c.writers {
		var count counter
		s := withSeam(t, table, seam{call: count.call})
		wg.Go(func() {
			for i := range c.each {
				count.take()
				start := time.Now()
				if _, err := s.Append(t.Context(), alice, one(fmt.Sprint(w, "/", i))); err != nil {
					t.Errorf("writer %d: %v", w, err)
				}
				c.note(time.Since(start), count.take())
			}
		})
	}
	wg.Wait()
}

func (c *crowd) note(wait time.Duration, calls []string) {
	tries := 0
	for _, op := range calls {
		if op == "TransactWriteItems" {
			tries++
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waits = append(c.waits, wait)
	c.tries = append(c.tries, tries)
	c.calls = append(c.calls, len(calls))
}

func one(content string) conversation.Append {
	return conversation.Append{SessionID: "a", Messages: []conversation.NewMessage{{Role: conversation.User, Content: content}}}
}

// TestWritersInManyProcesses appends to one session from functions that know nothing of each other: none fails, each
// one's order is kept, and none tries for ever.
func TestWritersInManyProcesses(t *testing.T) {
	const most = 30 // about 5 are usual; without a line some tried 300 times
	table := dynamotest.Table(t)
	newSession(t, dynamo.New(dynamodbtest.Client(t), table), alice, "coach_conversation", "a")
	c := crowd{writers: 20, each: 10}
	c.run(t, table)
	if worst := slices.Max(c.tries); worst > most {
		t.Errorf("an append took %d transactions", worst)
	}
	got := contents(t, table, "a")
	if len(got) != c.writers*c.each {
		t.Errorf("%d messages, want %d", len(got), c.writers*c.each)
	}
	next := make([]int, c.writers)
	for _, content := range got {
		var w, i int
		if _, err := fmt.Sscanf(content, "%d/%d", &w, &i); err != nil || i != next[w] {
			t.Fatalf("%q stands where writer %d's message %d should: %v", content, w, next[w], err)
		}
		next[w]++
	}
}

// drawAndDie begins an append that loses to others, draws a ticket, and ends there.
func drawAndDie(t *testing.T, table string) {
	t.Helper()
	ctx, die := context.WithCancel(t.Context())
	plain := dynamo.New(dynamodbtest.Client(t), table, atNow())
	s := withSeam(t, table, seam{call: func(op string, run func() error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case op == "TransactWriteItems": // somebody is always faster
			if _, err := plain.Append(t.Context(), alice, one("faster")); err != nil {
				t.Error(err)
			}
		case op == "UpdateItem":
			defer die()
		}
		return run()
	}}, atNow())
	if _, err := s.Append(ctx, alice, one("never")); !fault.Is(err, fault.Unavailable) {
		t.Errorf("an append whose process ends: %v", err)
	}
}

// strand hands out tickets that nobody holds.
func strand(t *testing.T, table string, tickets int) {
	t.Helper()
	_, err := dynamodbtest.Client(t).UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
		TableName: &table, UpdateExpression: aws.String("ADD tickets :n"),
		Key: map[string]types.AttributeValue{
			"pk": &types.AttributeValueMemberS{Value: "user#" + string(alice)}, "sk": &types.AttributeValueMemberS{Value: "conversation#a"},
		},
		ExpressionAttributeValues: map[string]types.AttributeValue{":n": &types.AttributeValueMemberN{Value: strconv.Itoa(tickets)}},
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestTheLinePassesOverWhoHasGone lets writers draw tickets and die: the next append waits a little, goes ahead, and
// those after it make one call again.
func TestTheLinePassesOverWhoHasGone(t *testing.T) {
	for _, dead := range []int{1, 50} {
		t.Run(fmt.Sprint(dead), func(t *testing.T) {
			table := dynamotest.Table(t)
			newSession(t, dynamo.New(dynamodbtest.Client(t), table, atNow()), alice, "coach_conversation", "a")
			drawAndDie(t, table)
			strand(t, table, dead-1)
			var count counter
			s := withSeam(t, table, seam{call: count.call}, atNow())
			for range 2 {
				if _, err := s.Append(t.Context(), alice, one("x")); err != nil {
					t.Fatal(err)
				}
			}
			count.take()
			if _, err := s.Append(t.Context(), alice, one("x")); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{"TransactWriteItems"}, count.take()); diff != "" {
				t.Errorf("calls of an append after the line was cleared (-want +got):\n%s", diff)
			}
			got := contents(t, table, "a")
			if slices.Contains(got, "never") || len(got) < 5 {
				t.Errorf("stored are %q", got)
			}
		})
	}
}

// TestWhoWaitsFindsNoSession deletes a session while a writer stands in its line.
func TestWhoWaitsFindsNoSession(t *testing.T) {
	for _, after := range []string{"UpdateItem", "BatchGetItem"} {
		t.Run("before "+after, func(t *testing.T) {
			table := dynamotest.Table(t)
			plain := dynamo.New(dynamodbtest.Client(t), table, atNow())
			newSession(t, plain, alice, "coach_conversation", "a")
			drawAndDie(t, table)
			tried := false
			s := withSeam(t, table, seam{call: func(op string, run func() error) error {
				tried = tried || op == "TransactWriteItems"
				if op == after && tried {
					if _, err := plain.BurySession(t.Context(), alice, "a", time.Now()); err != nil && !fault.Is(err, fault.NotFound) {
						t.Error(err)
					}
				}
				return run()
			}}, atNow())
			if _, err := s.Append(t.Context(), alice, one("x")); !fault.Is(err, fault.NotFound) {
				t.Errorf("append to a session deleted meanwhile: %v", err)
			}
		})
	}
}

// BenchmarkCrowd measures how long functions wait that append to one session at once.
func BenchmarkCrowd(b *testing.B) {
	for b.Loop() {
		table := dynamotest.Table(b)
		newSession(b, dynamo.New(dynamodbtest.Client(b), table), alice, "coach_conversation", "a")
		c := crowd{writers: 20, each: 100}
		start := time.Now()
		c.run(b, table)
		n := len(c.waits)
		b.ReportMetric(float64(n)/time.Since(start).Seconds(), "appends/s")
		slices.Sort(c.waits)
		b.ReportMetric(float64(c.waits[n/2].Milliseconds()), "median-ms")
		b.ReportMetric(float64(c.waits[n-1].Milliseconds()), "worst-ms")
		b.ReportMetric(float64(slices.Max(c.tries)), "worst-tries")
		b.ReportMetric(float64(slices.Max(c.calls)), "worst-calls")
	}
}
