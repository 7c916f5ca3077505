package indexing_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/indexing"
)

// slow makes each text take some time to embed, and fails the test when a request is not answered before the deadline.
func (f *fake) slow(t *testing.T, perText time.Duration) {
	f.embed = func(ctx context.Context, texts int) {
		time.Sleep(time.Duration(texts) * perText)
		if err := ctx.Err(); err != nil {
			t.Errorf("the time was over before %d texts were embedded: %v", texts, err)
		}
	}
}

// deliver delivers records as a shard's worker does: again from the first that is not done, each time with the time of
// one invocation. It returns the number of deliveries.
func deliver(
	t *testing.T, service *indexing.Service, changes []conversation.Change, limit time.Duration,
) (deliveries int) {
	for len(changes) > 0 && !t.Failed() {
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		done, err := service.Consume(ctx, changes)
		cancel()
		if deliveries++; deliveries > 100 {
			t.Fatalf("%d records are still not done: %v", len(changes), err)
		}
		changes = changes[done:]
	}
	return deliveries
}

// wantEachOnce fails unless every message is indexed and was embedded once.
func (f *fake) wantEachOnce(t *testing.T) {
	t.Helper()
	if f.session.Indexed.Seq != f.session.LastSeq {
		t.Errorf("indexed through %d of %d", f.session.Indexed.Seq, f.session.LastSeq)
	}
	for seq := 1; seq <= f.session.LastSeq; seq++ {
		if f.embedded[seq] != 1 {
			t.Errorf("message %d was embedded %d times", seq, f.embedded[seq])
		}
	}
	if !f.claim.IsZero() {
		t.Error("a claim was left")
	}
}

// TestASlowServiceEmbedsNothingTwice imports a session while a service embeds it that takes 200 ms a text: two workers
// get its records in small batches, alternately. One worker gets all records of the first batch, so that it finds no
// reason to fear another one until the import has gone on.
func TestASlowServiceEmbedsNothingTwice(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const messages, perBatch = 300, 6
		f := newFake(1)
		f.slow(t, 200*time.Millisecond)
		var workers sync.WaitGroup
		queues := [2]chan []conversation.Change{}
		for i := range queues {
			queues[i] = make(chan []conversation.Change, messages)
			service := indexing.New(f, f, time.Now)
			workers.Go(func() {
				for changes := range queues[i] {
					deliver(t, service, changes, 2*time.Minute)
				}
			})
		}
		for first := 1; first <= messages; first += perBatch {
			last := min(first+perBatch-1, messages)
			f.mu.Lock()
			f.session.LastSeq = last
			f.mu.Unlock()
			for i, queue := range queues {
				var part []conversation.Change
				for seq := first; seq <= last; seq++ {
					if seq%len(queues) == i || first == 1 {
						part = append(part, change(seq))
					}
				}
				if first == 1 && i > 0 {
					continue
				}
				queue <- part
			}
			time.Sleep(50 * time.Millisecond)
		}
		for _, queue := range queues {
			close(queue)
		}
		workers.Wait()
		f.wantEachOnce(t)
	})
}

// TestTwoWorkersOfOneAppend have one of its two records each.
func TestTwoWorkersOfOneAppend(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(2)
		f.slow(t, 10*time.Millisecond)
		var workers sync.WaitGroup
		for seq := 1; seq <= 2; seq++ {
			workers.Go(func() { deliver(t, indexing.New(f, f, time.Now), []conversation.Change{change(seq)}, time.Minute) })
		}
		workers.Wait()
		f.wantEachOnce(t)
	})
}

// TestWorkFitsTheTime has a session that a service needs many invocations for. Each of them ends in time, and the next
// one goes on where it stopped.
func TestWorkFitsTheTime(t *testing.T) {
	t.Parallel()
	for _, perText := range []time.Duration{200 * time.Millisecond, 1500 * time.Millisecond} {
		t.Run(perText.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				const limit = 2 * time.Minute
				f := newFake(1000)
				f.slow(t, perText)
				began := time.Now()
				deliveries := deliver(t, indexing.New(f, f, time.Now), []conversation.Change{change(1000)}, limit)
				f.wantEachOnce(t)
				work := 1000 * perText
				if took := time.Since(began); took != work || deliveries > int(work*10/(limit*7)+1) {
					t.Errorf("took %v in %d deliveries, want %v", took, deliveries, work)
				}
			})
		})
	}
}

// TestTheSweepLeavesTheRest repairs a session in less time than it takes. It is no failure, and nothing is lost.
func TestTheSweepLeavesTheRest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(200)
		f.slow(t, 200*time.Millisecond)
		service := indexing.New(f, f, time.Now)
		for repairs := 0; f.session.Indexed.Seq < 200; repairs++ {
			ctx, cancel := context.WithTimeout(t.Context(), 25*time.Second)
			if err := service.Repair(ctx, "ann", f.session); err != nil || repairs == 4 {
				t.Fatalf("repair %d: %v", repairs, err)
			}
			cancel()
		}
		f.wantEachOnce(t)
	})
}

// TestEachCallGetsOn has a service that takes more than half of the time of a call for one text.
func TestEachCallGetsOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(1)
		f.slow(t, 20*time.Second)
		service := indexing.New(f, f, time.Now)
		for seq := 1; seq <= 5; seq++ {
			f.session.LastSeq = seq
			if n := deliver(t, service, []conversation.Change{change(seq)}, 30*time.Second); n != 1 {
				t.Errorf("message %d took %d deliveries", seq, n)
			}
		}
	})
}

// TestAFailureAtOnceIsNoPace has the index fail before it has embedded anything. The next piece is not larger.
func TestAFailureAtOnceIsNoPace(t *testing.T) {
	t.Parallel()
	f := newFake(100)
	var sizes []int
	f.embed = func(_ context.Context, texts int) { sizes = append(sizes, texts) }
	f.fail = func(op string) error {
		if op == "index" && len(sizes) == 1 {
			return errors.New("down")
		}
		return nil
	}
	service := indexing.New(f, f, time.Now)
	for range 2 {
		_, _ = service.Consume(t.Context(), []conversation.Change{change(100)})
	}
	f.wantEachOnce(t)
	if sizes[1] > sizes[0] {
		t.Errorf("requests of %v texts", sizes)
	}
}

// TestManySessionsShareTheService repairs many sessions at once. Few requests are under way at any time.
func TestManySessionsShareTheService(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		service, requests, most := (*indexing.Service)(nil), 0, 0
		var mu sync.Mutex
		count := func(n int) {
			mu.Lock()
			defer mu.Unlock()
			requests += n
			most = max(most, requests)
		}
		f := newFake(2)
		f.embed = func(_ context.Context, texts int) {
			count(1)
			time.Sleep(time.Duration(texts) * 200 * time.Millisecond)
			count(-1)
		}
		service = indexing.New(f, f, time.Now)
		var repairs sync.WaitGroup
		for range 50 {
			repairs.Go(func() { _, _ = service.Consume(t.Context(), []conversation.Change{change(1), change(2)}) })
		}
		repairs.Wait()
		if most > 4 {
			t.Errorf("%d requests at once", most)
		}
	})
}

// TestAClaimOfADeadWorker lapses, and until then its session waits.
func TestAClaimOfADeadWorker(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(10)
		f.claim = time.Now().Add(time.Minute) // its worker will never end it
		service := indexing.New(f, f, time.Now)
		repair := func(want int) {
			t.Helper()
			if err := service.Repair(t.Context(), "ann", f.session); err != nil || f.session.Indexed.Seq != want {
				t.Errorf("indexed through %d, want %d: %v", f.session.Indexed.Seq, want, err)
			}
		}
		repair(0)
		time.Sleep(time.Minute)
		repair(10)
	})
}

// TestAFailedPieceKeepsTheOthers has the third request fail. What the first two have embedded is not embedded again.
func TestAFailedPieceKeepsTheOthers(t *testing.T) {
	t.Parallel()
	f := newFake(250)
	var sizes []int
	f.embed = func(_ context.Context, texts int) { sizes = append(sizes, texts) }
	f.fail = func(op string) error {
		if op == "index" && len(sizes) == 3 {
			return errors.New("down")
		}
		return nil
	}
	service := indexing.New(f, f, time.Now)
	if done, err := service.Consume(t.Context(), []conversation.Change{change(250)}); done != 0 || err == nil {
		t.Fatalf("%d done, %v", done, err)
	}
	if done, err := service.Consume(t.Context(), []conversation.Change{change(250)}); done != 1 || err != nil {
		t.Fatalf("%d done, %v", done, err)
	}
	f.wantEachOnce(t)
	if slices.Max(sizes) > 100 {
		t.Errorf("requests of %v texts", sizes)
	}
}
