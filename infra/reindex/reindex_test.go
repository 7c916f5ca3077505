package reindex_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/time/rate"

	"github.com/throughline/throughline/infra/reindex"
	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/testing/pineconetest"
	"github.com/throughline/throughline/internal/vector"
)

// TestTheNextIndexIsFilled fills the next index, of another model and dimension, for two users. Both indexes are whole
// then, so that either can be searched.
func TestTheNextIndexIsFilled(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	users := []conversation.UserID{"ann", "bob"}
	for _, user := range users {
		s.populate(user)
	}
	s.announce()
	dry := s.deps()
	dry.DryRun = true
	plan := reindex.New(dry)
	s.check(plan.Run(t.Context()))
	if s.models[next].texts != 0 || len(s.stored(next, "ann", 0, "text")) != 0 {
		t.Error("a dry run wrote something")
	}
	x := reindex.New(s.deps())
	s.check(x.Run(t.Context()))
	if diff := cmp.Diff(plan.Counts(), x.Counts()); diff != "" {
		t.Errorf("the dry run counted otherwise (-dry +run)\n%s", diff)
	}
	if c := x.Counts(); c.Reindexed != 2 || c.Vectors != int64(s.models[next].texts) || c.Vectors == 0 || c.Tokens < 100 {
		t.Errorf("counts %+v, and %d texts were embedded", c, s.models[next].texts)
	}
	for _, user := range users {
		s.say(user, "s2", string(user)+" goes on")
		s.wantComplete(current, user)
		s.wantComplete(next, user)
	}
	s.check(reindex.New(s.deps()).Run(t.Context())) // anew: nothing is doubled
	for _, user := range users {
		s.wantComplete(next, user)
	}
}

// everyCall has the tests below kill runs and write at every remote call, in the place of some.
var everyCall = flag.Bool("every-call", false, "interrupt a run at every remote call")

// killStride is how many calls apart TestKilledRuns kills a run without the flag.
const killStride = 5

func stride() int {
	if *everyCall {
		return 1
	}
	return killStride
}

// liveCalls are the calls of a reindex before which TestLiveWrites writes: all of them, or those in front of which most
// can go wrong: the first vectors, the vectors of a memory that was read, and the last update.
func liveCalls() []int {
	if !*everyCall {
		return []int{2, 6, 9}
	}
	calls := make([]int, 9)
	for i := range calls {
		calls[i] = i + 1
	}
	return calls
}

// TestKilledRuns kills a run before and after its remote calls, and runs it again.
func TestKilledRuns(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	users := []conversation.UserID{"ann", "bob"}
	s.populate("ann")
	s.say("bob", "s1", "bob rows")
	s.announce()
	isOver := false
	for n := 0; !isOver; n++ {
		kill := 1 + n*stride()
		for _, user := range users { // nothing is found that an earlier run has left
			_, err := s.indexes[next].Drop(t.Context(), user, 0)
			s.check(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		err := reindex.New(interrupted(s.deps(), func(conversation.UserID, int) {}, func(call int) bool {
			if call >= kill {
				cancel()
			}
			return call >= kill
		})).Run(ctx)
		cancel()
		if isOver = err == nil; !isOver && !errors.Is(err, errKilled) {
			t.Fatal(err)
		}
		s.check(reindex.New(s.deps()).Run(t.Context()))
		for _, user := range users {
			s.wantComplete(next, user)
			s.wantComplete(current, user)
		}
		if t.Failed() {
			t.Fatalf("killed at call %d", kill)
		}
	}
}

// TestAFullIndex has the next index refuse vectors. A run ends at once, and what is said meanwhile is found in the
// current index.
func TestAFullIndex(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.say("ann", "s1", "ann rows")
	s.announce()
	s.full.Store(true)
	if err := reindex.New(s.deps()).Run(t.Context()); !errors.Is(err, vector.ErrQuota) {
		t.Fatalf("the full index: %v", err)
	}
	a, err := s.store.Messages.Append(t.Context(), "ann", conversation.Append{
		SessionID: "s1", Messages: []conversation.NewMessage{{Role: conversation.RoleUser, Content: "ann rows on"}},
	})
	s.check(err)
	session, err := s.store.Sessions.Session(t.Context(), "ann", "s1")
	s.check(err)
	if err := s.messages.Repair(t.Context(), "ann", session); !errors.Is(err, vector.ErrQuota) {
		t.Errorf("a message that the next index lacks counts as indexed: %v", err)
	}
	if got := s.stored(current, "ann", 0, "text"); got[a.Messages[0].ID] == "" {
		t.Errorf("the current index lacks what was said: %s", list(got))
	}
	s.full.Store(false)
	s.indexes[next] = pineconetest.Dial(t, s.nextHost, 0) // one that knows of no refusal
	s.announce()
	s.check(s.messages.Repair(t.Context(), "ann", session))
	s.check(reindex.New(s.deps()).Run(t.Context()))
	s.wantComplete(next, "ann")
}

// TestFailuresLeaveUsers has the embedding fail for one user, and then for all.
func TestFailuresLeaveUsers(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	const users = 12
	for i := range users {
		s.say(conversation.UserID(fmt.Sprint("user", i)), "s1", fmt.Sprint("user", i, " rows"))
	}
	s.announce()
	left := 0
	d := s.deps()
	d.Report = func(conversation.UserID, error) { left++ }
	s.models[next].fails = "user3 "
	x := reindex.New(d)
	s.check(x.Run(t.Context()))
	if c := x.Counts(); c.Reindexed != users-1 || c.Left != 1 || left != 1 {
		t.Errorf("counts %+v, reported %d", c, left)
	}
	s.models[next].fails = ""
	s.check(reindex.New(s.deps()).Run(t.Context()))
	s.wantComplete(next, "user3")

	s.models[next].fails = "user"
	d = s.deps()
	left = 0
	d.Report = func(conversation.UserID, error) { left++ }
	if err := reindex.New(d).Run(t.Context()); !errors.Is(err, errModel) || left != 9 {
		t.Errorf("%v after %d users", err, left)
	}
}

// TestLimits embeds no faster than it may.
func TestLimits(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.say("ann", "s1", "ann rows")
	for name, limit := range map[string]func(*reindex.Deps, *rate.Limiter){
		"texts":  func(d *reindex.Deps, l *rate.Limiter) { d.TextLimit = l },
		"tokens": func(d *reindex.Deps, l *rate.Limiter) { d.TokenLimit = l },
	} {
		d := s.deps()
		limiter := rate.NewLimiter(rate.Every(time.Hour), 1)
		limiter.Allow() // the next one is allowed in an hour
		limit(&d, limiter)
		d.Report = func(conversation.UserID, error) {}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		x := reindex.New(d)
		err := x.Run(ctx)
		cancel()
		if s.models[next].texts > 0 || err == nil && x.Counts().Left != 1 {
			t.Errorf("%s: %v, %+v", name, err, x.Counts())
		}
	}
}

// liveWrites are what a user may do during a run.
var liveWrites = map[string]func(s *fixture, user conversation.UserID){
	"message": func(s *fixture, user conversation.UserID) { s.say(user, "s2", string(user)+" runs faster") },
	"session": func(s *fixture, user conversation.UserID) { s.say(user, "s0", string(user)+" asks anew") },
	"summary": func(s *fixture, user conversation.UserID) {
		s.say(user, "s2", string(user)+" plans another marathon")
		s.summarize(user, "s2", string(user)+" talked of two marathons")
	},
	"memory changed": func(s *fixture, user conversation.UserID) {
		m := s.memory(user)
		m.Content = string(user) + " is allergic to fish"
		s.remember(user, m)
	},
	"memory superseded": func(s *fixture, user conversation.UserID) {
		m := s.memory(user)
		m.ValidUntil = s.Time().Add(-time.Second)
		s.remember(user, m)
	},
	"memory deleted": func(s *fixture, user conversation.UserID) {
		id := s.memory(user).ID
		s.check(s.store.Memories.Delete(s.t.Context(), user, id))
		s.refresh(user, id)
	},
	"message deleted": func(s *fixture, user conversation.UserID) {
		s.check(s.sweeper.DeleteMessage(s.t.Context(), user, "s1", s.firstMessage(user).ID))
	},
	"session deleted": func(s *fixture, user conversation.UserID) {
		s.check(s.sweeper.DeleteSession(s.t.Context(), user, "s1"))
	},
	"erased": func(s *fixture, user conversation.UserID) {
		receipt, err := s.sweeper.Erase(s.t.Context(), user, s.Time().Add(time.Minute))
		if err != nil || !receipt.Done || receipt.Vectors == 0 {
			s.t.Errorf("erased: %+v, %v", receipt, err)
		}
		s.say(user, "s9", string(user)+" starts anew")
	},
}

// TestLiveWrites has users write, change, delete or leave between the calls of their reindex. Nothing is missing then,
// nothing comes back, and at any time what the user has is found.
func TestLiveWrites(t *testing.T) {
	t.Parallel()
	for name, write := range liveWrites {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newFixture(t)
			at := map[conversation.UserID]int{}
			for _, call := range liveCalls() {
				user := conversation.UserID(fmt.Sprintf("ann%02d", call))
				at[user] = call
				s.say(user, "s1", string(user)+" has a knee that hurts")
				s.say(user, "s1", string(user)+" has a shoulder that hurts")
				s.say(user, "s2", string(user)+" plans a marathon")
				s.summarize(user, "s2", string(user)+" talked of a marathon")
				s.remember(user, longterm.Memory{Content: string(user) + " is allergic to nuts"})
			}
			s.announce()
			made := 0
			before := func(user conversation.UserID, call int) {
				if call == at[user] {
					made++
					write(s, user)
				}
			}
			s.check(reindex.New(interrupted(s.deps(), before, func(int) bool { return false })).Run(t.Context()))
			if made < len(at) {
				t.Errorf("%d of %d users wrote", made, len(at))
			}
			for user := range at {
				s.wantComplete(next, user)
			}
			s.sweep(16 * time.Minute)
			s.sweep(26 * time.Hour)
			for user := range at {
				s.wantComplete(current, user)
				s.wantComplete(next, user)
				for generation := range s.generation(user) {
					for _, index := range []string{current, next} {
						if n := len(s.stored(index, user, generation, "text")); n > 0 {
							t.Errorf("%d vectors of the erased %s are back in %s", n, user, index)
						}
					}
				}
			}
		})
	}
}
