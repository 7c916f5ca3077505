package dynamo_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	mathrand "math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/extraction"
	"github.com/throughline/throughline/internal/indexing"
	"github.com/throughline/throughline/internal/llm"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/recall"
	"github.com/throughline/throughline/internal/summary"
	"github.com/throughline/throughline/internal/sweep"
	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/testing/dynamotest"
)

// derived is the model and the vector index that all workers share. It counts what it is asked for.
type derived struct {
	mu sync.Mutex
	// asked counts the model calls of this round by what they summarise, embedded those of the index of all rounds.
	asked    map[string]int
	embedded map[string]int
	broken   string // the session for which the model always fails
}

// worker is one invocation. It dies at a remote call, and makes no more.
type worker struct {
	dynamotest.Stores
	*derived
	mu     sync.Mutex
	left   int // the calls until it dies, negative for never
	cancel context.CancelFunc
}

// call makes a remote call of a worker, or ends the worker: before the call, or when the call has been carried out.
func (w *worker) call(_ string, run func() error) error {
	w.mu.Lock()
	w.left--
	left := w.left
	w.mu.Unlock()
	switch {
	case left == 0:
		err := run()
		w.cancel()
		return errors.Join(err, dynamotest.ErrCrash)
	case left < 0 && left > -1_000_000:
		return dynamotest.ErrCrash
	}
	return run()
}

func (w *worker) Complete(_ context.Context, r llm.Request) (out llm.Completion, err error) {
	err = w.call("model", func() error {
		w.derived.mu.Lock()
		defer w.derived.mu.Unlock()
		input := r.Messages[len(r.Messages)-1].Content
		if strings.Contains(input, w.broken) {
			return dynamotest.ErrNoAnswer
		}
		w.asked[r.User+input]++
		return nil
	})
	text := `{"summary":"what was said","tags":["a","b"],"spine":"all that was said","wins":["w"]}`
	if strings.Contains(r.Schema.Name, "memory") {
		text = answerOf(r.Messages[1].Content)
	}
	return llm.Completion{Text: text, Model: "m"}, err
}

// answerOf makes a fact and an open loop of the first message of a session.
func answerOf(input string) string {
	said := regexp.MustCompile(`\[m1 [^]]*\] user: (\S+ (s(\d)) \S+)`).FindStringSubmatch(input)
	if said == nil {
		return `{"facts":[],"ended":[],"openLoops":[],"closedLoops":[]}`
	}
	return fmt.Sprintf(`{"facts":[{"type":"PROFILE","content":"fact %s","confidence":0.9,"messageIds":["m1"],`+
		`"safety":"","repeats":"","supersedes":[]}],"ended":[],"openLoops":[{"content":"do %s","confidence":0.9,`+
		`"messageIds":["m1"]}],"closedLoops":[]}`, said[2], said[2])
}

func (w *worker) index(ids ...string) error {
	return w.call(dynamotest.IndexCall, func() error {
		w.derived.mu.Lock()
		defer w.derived.mu.Unlock()
		for _, id := range ids {
			w.embedded[id]++
		}
		return nil
	})
}

func (w *worker) IndexSummary(_ context.Context, user conversation.UserID, s summary.Summary) error {
	return w.index(string(user) + s.ID())
}

func (w *worker) IndexBatches(_ context.Context, batches []indexing.Batch) []error {
	failures := make([]error, len(batches))
	for i, b := range batches {
		for _, m := range b.Messages {
			failures[i] = errors.Join(failures[i], w.index(m.ID))
		}
	}
	return failures
}

func (w *worker) IndexHits(_ context.Context, _ conversation.UserID, _ int64, hits []recall.Hit) error {
	return w.index(hits[0].ID)
}

func (w *worker) Delete(context.Context, conversation.UserID, int64, []string) error {
	return w.index()
}

func (w *worker) Reset(context.Context, conversation.UserID) (time.Time, error) {
	return time.Time{}, nil
}

func (w *worker) Spend(context.Context, conversation.UserID, int64, int) error { return nil }

func (w *worker) Count(string) int { return 1 }

// sweepCase is a table whose sessions several workers summarise at once.
type sweepCase struct {
	*derived
	t     *testing.T
	table string
	clock *dynamotest.Clock
	// shards are those that have sessions, and all of the other queues.
	shards []sweep.Shard
}

// worker returns an invocation that dies after a number of calls, and its context.
func (s sweepCase) worker(calls int) (*worker, context.Context) {
	ctx, cancel := context.WithCancel(s.t.Context())
	s.t.Cleanup(cancel)
	w := &worker{derived: s.derived, left: calls, cancel: cancel}
	if calls < 0 {
		w.left = -2_000_000
	}
	w.Stores = dynamotest.OpenIntercepted(s.t, s.table, dynamotest.Interceptor{Call: w.call}, s.clock.Option())
	return w, ctx
}

func (s sweepCase) summaries(w *worker) (*summary.Service, *indexing.Service) {
	messages := indexing.New(w.Stores.Indexing, w, s.clock.Time)
	return summary.New(summary.Deps{
		Store: w.Stores.Summaries, Model: w, Quota: w, Index: w, Messages: messages, Memories: s.memories(w), Tokens: w,
		Now:    s.clock.Time,
		Random: func() float64 { return 0 }, Report: func(context.Context, string, error) {},
		EveryMessages: 20, Idle: 15 * time.Minute, Timeout: time.Minute, Background: true,
	}), messages
}

func (s sweepCase) spines(w *worker) *summary.Spines {
	return summary.NewSpines(summary.SpineDeps{
		Store: w.Stores.Spines, Model: w, Quota: w, Tokens: w, Now: s.clock.Time, Random: func() float64 { return 0 },
		Report: func(context.Context, string, error) {}, Written: func(context.Context, int) {},
		Idle: 15 * time.Minute, Background: true,
	})
}

func (s sweepCase) memories(w *worker) *extraction.Service {
	return extraction.New(extraction.Deps{
		Store: w.Stores.Extraction, Model: w, Quota: w, Tokens: w, Now: s.clock.Time, Random: rand.Reader,
		NewOwner: rand.Text, Report: func(context.Context, string, error) {},
		Count: func(context.Context, extraction.Counts) {}, EveryMessages: 50, Background: true,
	})
}

// unleased is a store without leases, so that several workers have the same shards.
type unleased struct{ sweep.Store }

func (unleased) Lease(context.Context, sweep.Shard, string, time.Time) (bool, error) {
	return true, nil
}

func (unleased) Release(context.Context, sweep.Shard, string) error { return nil }

// sweep does a task in a worker that dies after a number of calls.
func (s sweepCase) sweep(calls int, task sweep.Task) {
	w, ctx := s.worker(calls)
	summaries, records := s.summaries(w)
	sweeper := sweep.New(sweep.Deps{
		Store: unleased{w.Stores.Due}, Now: s.clock.Time, Random: func() float64 { return 0 }, NewOwner: rand.Text,
		Works: []sweep.Work{
			{Queue: sweep.Sessions, Visitor: summaries, FirstWait: 15 * time.Minute},
			{Queue: sweep.Records, Visitor: records, FirstWait: 15 * time.Minute},
			{Queue: sweep.Spines, Visitor: s.spines(w), FirstWait: 15 * time.Minute},
		},
		Invoke: func(context.Context, sweep.Task) error { return nil },
		Report: func(context.Context, string, error) {},
	})
	_, _ = sweeper.Sweep(ctx, task)
}

// deliver delivers the change that completed a session to an instance that dies after a number of calls.
func (s sweepCase) deliver(calls int, user conversation.UserID, session conversation.Session) {
	w, ctx := s.worker(calls)
	before := session
	before.Status = conversation.Active
	change := conversation.Change{User: user, Before: &before, After: &session}
	service, _ := s.summaries(w)
	_, _ = service.Consume(ctx, []conversation.Change{change})
}

// TestSweepsThatDie has sessions of several users due at once. In each round several workers sweep, and changes of the
// stream are delivered to several instances, all of which die at some call. In no round the model is asked twice for
// the same messages, because claims last longer than a round. In the end everything is summarised and indexed, except
// the session for which the model fails, and every user has a spine.
func TestSweepsThatDie(t *testing.T) {
	t.Parallel()
	const users, sessions, broken = 3, 3, "u1 s1 never"
	s := sweepCase{
		derived: &derived{asked: map[string]int{}, embedded: map[string]int{}, broken: broken}, t: t,
		table: dynamotest.Table(t), clock: dynamotest.NewClock(),
	}
	client := dynamotest.Open(t, s.table, s.clock.Option())
	completed := map[conversation.UserID]conversation.Session{}
	status := conversation.Completed
	for u := range users {
		user := conversation.UserID(fmt.Sprint("u", u))
		for n := range sessions {
			text := fmt.Sprintf("%s s%d %s", user, n, map[bool]string{true: "never", false: "said"}[u == 1 && n == 1])
			dynamotest.NewSession(t, client, user, "coach_conversation", fmt.Sprint("s", n), text, text+" more")
		}
		if _, _, err := client.Memories.Create(t.Context(), user, longterm.Memory{Content: "m"}, noKey); err != nil {
			t.Fatal(err)
		}
		change := conversation.SessionChange{Status: &status}
		session := check.Got(client.Sessions.UpdateSession(t.Context(), user, "s0", change))(t)
		completed[user] = session
	}
	s.findShards(client)
	random := mathrand.New(mathrand.NewPCG(7, 7))
	s.clock.Advance(16 * time.Minute)
	for range 5 {
		s.round(random, completed)
		s.clock.Advance(20 * time.Minute)
	}
	for range 4 { // nobody dies any more
		s.clock.Advance(25 * time.Hour)
		clear(s.asked)
		s.sweep(-1, sweep.Task{})
	}
	s.check(client, users, sessions)
}

// findShards finds the shards of the sessions. The workers need not look at the others, in which nothing is ever due.
func (s *sweepCase) findShards(client dynamotest.Stores) {
	s.t.Helper()
	for _, shard := range sweep.Sessions.Shards() {
		due, err := client.Due.Due(s.t.Context(), shard, s.clock.Time().AddDate(1, 0, 0), nil, 1)
		check.OK(s.t, err)
		if len(due) > 0 {
			s.shards = append(s.shards, shard)
		}
	}
	s.shards = slices.Concat(s.shards, sweep.Records.Shards(), sweep.Spines.Shards())
}

// round has three workers and two instances for each change of the stream work at once, and die.
func (s sweepCase) round(random *mathrand.Rand, completed map[conversation.UserID]conversation.Session) {
	s.t.Helper()
	clear(s.asked)
	var all sync.WaitGroup
	for range 3 {
		calls := 1 + random.IntN(120)
		all.Go(func() { s.sweep(calls, sweep.Task{Shards: s.shards}) })
	}
	for _, user := range slices.Sorted(maps.Keys(completed)) {
		for range 2 {
			calls := 1 + random.IntN(12)
			all.Go(func() { s.deliver(calls, user, completed[user]) })
		}
	}
	all.Wait()
	for input, n := range s.asked {
		if n > 1 {
			s.t.Errorf("the model is asked %d times in one round for\n%s", n, input)
		}
	}
}

// checkExtracted checks that each session of a user has its fact and its open loop once, except the one for which the
// model fails.
func (s sweepCase) checkExtracted(client dynamotest.Stores, user conversation.UserID, sessions int) {
	s.t.Helper()
	var want, got []string
	for n := range sessions {
		if user != "u1" || n != 1 {
			want = append(want, fmt.Sprint("fact s", n), fmt.Sprint("do s", n))
		}
	}
	memories, _, err := client.Memories.List(s.t.Context(), user, conversation.Page{Limit: 100})
	todos, _, todoErr := client.Todos.List(s.t.Context(), user, conversation.Page{Limit: 100})
	if err = errors.Join(err, todoErr); err != nil {
		s.t.Fatal(err)
	}
	for _, m := range memories {
		if m.Source == longterm.Extracted {
			got = append(got, m.Content)
		}
	}
	for _, todo := range todos {
		got = append(got, todo.Content)
	}
	slices.Sort(want)
	slices.Sort(got)
	check.Same(s.t, want, got, "remembered of %s", user)
}

// check checks that everything is covered, except the session for which the model fails.
func (s sweepCase) check(client dynamotest.Stores, users, sessions int) {
	s.t.Helper()
	for u := range users {
		user := conversation.UserID(fmt.Sprint("u", u))
		snapshot, err := client.PromptSource.LongTerm(s.t.Context(), user)
		if spine := snapshot.Spines["c1"]; err != nil || spine.Text == "" || len(spine.Wins) != 1 {
			s.t.Errorf("the spine of %s is %+v, %v", user, spine, err)
		}
		for n := range sessions {
			session, err := client.Sessions.Session(s.t.Context(), user, fmt.Sprint("s", n))
			check.OK(s.t, err)
			isDone := summary.IsDone(session) && session.Indexed.Seq == 2 && session.DueAt.IsZero()
			if want := u != 1 || n != 1; isDone != want {
				s.t.Errorf("%s %s is done: %v, want %v: %+v", user, session.ID, isDone, want, session)
			}
			if id := string(user) + "conversation_summary#" + session.ID; s.embedded[id] == 0 {
				s.t.Errorf("%s is not in the index", id)
			}
		}
		s.checkExtracted(client, user, sessions)
	}
	for _, q := range []sweep.Queue{sweep.Sessions, sweep.Records, sweep.Spines} {
		for _, shard := range q.Shards() {
			due, err := client.Due.Due(s.t.Context(), shard, s.clock.Time().AddDate(1, 0, 0), nil, 10)
			for _, d := range due {
				if d.User != "u1" || d.ID != "conversation#s1" {
					s.t.Errorf("still due is %+v, %v", d, err)
				}
			}
		}
	}
}
