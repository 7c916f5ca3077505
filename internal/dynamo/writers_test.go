package dynamo_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/testing/dynamotest"
)

// writers append to one session at once, each with its own stores, as functions in different processes do. They record
// how long each append took, and how many transactions and calls it made.
type writers struct {
	count, appends int
	// refuses makes the engine cancel a transaction that begins while another is under way, as AWS does. DynamoDB Local
	// carries them out one after another.
	refuses bool
	busy    sync.Mutex
	// pause is how long a writer waits after each append.
	pause time.Duration

	mu                  sync.Mutex
	durations           []time.Duration
	transactions, calls []int
}

func (w *writers) run(t testing.TB, table string) {
	var wg sync.WaitGroup
	for n := range w.count {
		var count dynamotest.CallCounter
		s := dynamotest.OpenIntercepted(t, table, dynamotest.Interceptor{Call: func(op string, run func() error) error {
			return count.Call(op, func() error { return w.call(op, run) })
		}})
		wg.Go(func() {
			for i := range w.appends {
				count.Take()
				start := time.Now()
				if _, err := s.Messages.Append(t.Context(), alice, dynamotest.OneMessage("a", fmt.Sprint(n, "/", i))); err != nil {
					t.Errorf("writer %d: %v", n, err)
				}
				w.record(time.Since(start), count.Take())
				time.Sleep(w.pause)
			}
		})
	}
	wg.Wait()
}

// transactionTime is how long a transaction holds its items where overlapping ones are refused, beside the time of the
// engine.
const transactionTime = 5 * time.Millisecond

func (w *writers) call(op string, run func() error) error {
	if !w.refuses || op != "TransactWriteItems" {
		return run()
	}
	if !w.busy.TryLock() {
		return dynamotest.TransactionCancelled("TransactionConflict", "None")
	}
	defer w.busy.Unlock()
	time.Sleep(transactionTime)
	return run()
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

// TestWritersInManyProcesses appends to one session from stores that share no cache, on an engine that carries out
// transactions one after another, and on one that refuses those that overlap. No append fails, the messages of each
// writer are stored in order, and no append needs too many transactions.
//
// It does not run in parallel with other tests: how often writers conflict depends on how busy the engine is, and the
// bounds hold for a machine that is busy with other packages, too. Twenty
// writers append twice each, so that all of them together take less than operationTimeout on a slow machine, too.
func TestWritersInManyProcesses(t *testing.T) {
	for _, c := range []struct {
		writers, appends, maxTransactions int
		refuses                           bool
		pause                             time.Duration
	}{{4, 25, 40, false, 0}, {20, 2, 250, false, 0}, {4, 10, 80, true, 50 * time.Millisecond}} {
		t.Run(fmt.Sprint(c.writers, c.refuses), func(t *testing.T) {
			table := dynamotest.Table(t)
			dynamotest.NewSession(t, dynamotest.Open(t, table), alice, "coach_conversation", "a")
			w := writers{count: c.writers, appends: c.appends, refuses: c.refuses, pause: c.pause}
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
