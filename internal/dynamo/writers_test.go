package dynamo_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/dynamo/dynamotest"
)

// writers append to one session at once, each with its own stores, as functions in different processes do. They record
// how long each append took, and how many transactions and calls it made.
type writers struct {
	count, appends int

	mu                  sync.Mutex
	durations           []time.Duration
	transactions, calls []int
}

func (w *writers) run(t testing.TB, table string) {
	var wg sync.WaitGroup
	for n := range w.count {
		var count callCounter
		s := openIntercepted(t, table, interceptor{call: count.call})
		wg.Go(func() {
			for i := range w.appends {
				count.take()
				start := time.Now()
				if _, err := s.Messages.Append(t.Context(), alice, oneMessage("a", fmt.Sprint(n, "/", i))); err != nil {
					t.Errorf("writer %d: %v", n, err)
				}
				w.record(time.Since(start), count.take())
			}
		})
	}
	wg.Wait()
}

func (w *writers) record(took time.Duration, calls []string) {
	transactions := 0
	for _, op := range calls {
		if op == "TransactWriteItems" {
			transactions++
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.durations = append(w.durations, took)
	w.transactions = append(w.transactions, transactions)
	w.calls = append(w.calls, len(calls))
}

// TestWritersInManyProcesses appends to one session from stores that share no cache. No append fails, the messages of
// each writer are stored in order, and no append needs too many transactions.
//
// It does not run in parallel with other tests: how often writers conflict depends on how busy the engine is.
func TestWritersInManyProcesses(t *testing.T) {
	for _, c := range []struct{ writers, appends, maxTransactions int }{{4, 25, 40}, {20, 5, 250}} {
		t.Run(fmt.Sprint(c.writers), func(t *testing.T) {
			table := dynamotest.Table(t)
			newSession(t, dynamotest.Open(t, table), alice, "coach_conversation", "a")
			w := writers{count: c.writers, appends: c.appends}
			w.run(t, table)
			if most := slices.Max(w.transactions); most > c.maxTransactions {
				t.Errorf("an append took %d transactions, more than %d", most, c.maxTransactions)
			}
			checkOrderOfWriters(t, contents(t, table, "a"), c.writers, c.appends)
		})
	}
}

func checkOrderOfWriters(t *testing.T, contents []string, writers, appends int) {
	t.Helper()
	if len(contents) != writers*appends {
		t.Errorf("%d messages, want %d", len(contents), writers*appends)
	}
	next := make([]int, writers)
	for _, content := range contents {
		var w, i int
		if _, err := fmt.Sscanf(content, "%d/%d", &w, &i); err != nil || i != next[w] {
			t.Fatalf("%q is stored where message %d of writer %d should be: %v", content, next[w], w, err)
		}
		next[w]++
	}
}

// BenchmarkWriters measures how long appends to one session take when several functions append at once.
func BenchmarkWriters(b *testing.B) {
	for _, count := range []int{4, 20} {
		b.Run(fmt.Sprint(count), func(b *testing.B) {
			for b.Loop() {
				table := dynamotest.Table(b)
				newSession(b, dynamotest.Open(b, table), alice, "coach_conversation", "a")
				w := writers{count: count, appends: 50}
				start := time.Now()
				w.run(b, table)
				n := len(w.durations)
				b.ReportMetric(float64(n)/time.Since(start).Seconds(), "appends/s")
				slices.Sort(w.durations)
				b.ReportMetric(float64(w.durations[n/2].Milliseconds()), "median-ms")
				b.ReportMetric(float64(w.durations[n*99/100].Milliseconds()), "p99-ms")
				b.ReportMetric(float64(w.durations[n-1].Milliseconds()), "worst-ms")
				b.ReportMetric(float64(slices.Max(w.transactions)), "worst-tries")
				b.ReportMetric(float64(slices.Max(w.calls)), "worst-calls")
			}
		})
	}
}
