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

	"github.com/throughline/throughline/internal/config"
	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/reindex"
	"github.com/throughline/throughline/internal/vector"
)

// TestUsersAreReindexed reindexes two users into an index of another model and dimension. The old vectors are there
// until the sweep deletes them.
func TestUsersAreReindexed(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	users := []conversation.UserID{"ann", "bob"}
	for _, user := range users {
		s.populate(user)
	}
	dry := s.deps("b")
	dry.DryRun = true
	plan := reindex.New(dry)
	s.check(plan.Run(t.Context()))
	if s.models["b"].texts != 0 || len(s.stored("b", "ann", 0, "text")) != 0 || s.serving("ann") != "first" {
		t.Error("a dry run wrote something")
	}
	x := reindex.New(s.deps("b"))
	s.check(x.Run(t.Context()))
	if diff := cmp.Diff(plan.Counts(), x.Counts()); diff != "" {
		t.Errorf("the dry run counted otherwise (-dry +run)\n%s", diff)
	}
	if c := x.Counts(); c.Reindexed != 2 || c.Vectors != int64(s.models["b"].texts) || c.Vectors == 0 || c.Tokens < 100 {
		t.Errorf("counts %+v, and %d texts were embedded", c, s.models["b"].texts)
	}
	for _, user := range users {
		s.wantComplete("b", user)
		if n := len(s.stored("first", user, 0, "text")); n == 0 {
			t.Errorf("the old vectors of %s are gone at once", user)
		}
	}
	s.sweep(14 * time.Minute)
	if len(s.stored("first", "ann", 0, "text")) == 0 {
		t.Error("the old vectors are gone while a search or a writer may still use them")
	}
	s.sweep(2 * time.Minute)
	s.sweep(26 * time.Hour)
	for _, user := range users {
		s.wantComplete("b", user)
		if n := len(s.stored("first", user, 0, "text")); n > 0 {
			t.Errorf("%d old vectors of %s are left", n, user)
		}
	}

	embedded := s.models["b"].texts
	again := reindex.New(s.deps("b"))
	s.check(again.Run(t.Context()))
	if c := (reindex.Counts{Already: 2}); again.Counts() != c || s.models["b"].texts != embedded {
		t.Errorf("a second run counts %+v", again.Counts())
	}
	s.check(reindex.New(s.deps("first")).Run(t.Context()))
	for _, user := range users {
		s.wantComplete("first", user)
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
		return []int{4, 9, 12}
	}
	calls := make([]int, 12)
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
	indexes := [2]string{"b", config.FirstIndex}
	isOver := false
	for n := 0; !isOver; n++ {
		kill, to := 1+n*stride(), indexes[n%2]
		for _, user := range users { // nothing is found that an earlier run has left
			_, err := s.index.DropFrom(t.Context(), user, 0, to)
			s.check(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		err := reindex.New(interrupted(s.deps(to), func(conversation.UserID, int) {}, func(call int) bool {
			if call >= kill {
				cancel()
			}
			return call >= kill
		})).Run(ctx)
		cancel()
		if isOver = err == nil; !isOver && !errors.Is(err, errKilled) {
			t.Fatal(err)
		}
		for _, user := range users {
			from := s.serving(user)
			if len(s.stored(from, user, 0, "text")) == 0 {
				t.Errorf("killed at call %d: nothing of %s is found in %s", kill, user, from)
			}
		}
		s.check(reindex.New(s.deps(to)).Run(t.Context()))
		for _, user := range users {
			s.wantComplete(to, user)
		}
		if t.Failed() {
			t.Fatalf("killed at call %d on the way to %s", kill, to)
		}
	}
}

// TestALargeUserGoesOn kills a run among the records of a user who has more than a page of them. The next run embeds
// the rest, and nothing again.
func TestALargeUserGoesOn(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	const memories = 130
	for i := range memories {
		m := longterm.Memory{Content: fmt.Sprint("ann knows ", i), Type: longterm.ProfileMemory}
		_, _, err := s.store.Memories.Create(t.Context(), "ann", m, noKey)
		s.check(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	err := reindex.New(interrupted(s.deps("b"), func(_ conversation.UserID, call int) {
		if s.models["b"].texts == 100 && call > 8 {
			cancel()
		}
	}, func(int) bool { return ctx.Err() != nil })).Run(ctx)
	if !errors.Is(err, errKilled) || s.models["b"].texts != 100 || s.serving("ann") != config.FirstIndex {
		t.Fatalf("%v after %d texts", err, s.models["b"].texts)
	}
	s.check(reindex.New(s.deps("b")).Run(t.Context()))
	if n := s.models["b"].texts; n != memories {
		t.Errorf("%d texts are embedded, want %d", n, memories)
	}
	s.wantComplete("b", "ann")
}

// TestAFullIndex has an index refuse a user's vectors. That does not hold up the user's new messages.
func TestAFullIndex(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.say("ann", "s1", "ann rows")
	s.full.Store(true)
	if err := reindex.New(s.deps("b")).Run(t.Context()); !errors.Is(err, vector.ErrQuota) {
		t.Fatalf("the full index: %v", err)
	}
	s.say("ann", "s1", "ann rows on")
	s.wantComplete(config.FirstIndex, "ann")
}

// TestAReindexIsGivenUp has a run the other way end a reindex that was killed.
func TestAReindexIsGivenUp(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.say("ann", "s1", "ann rows")
	ctx, cancel := context.WithCancel(t.Context())
	err := reindex.New(interrupted(s.deps("b"), func(_ conversation.UserID, call int) {
		if call > 5 {
			cancel()
		}
	}, func(int) bool { return ctx.Err() != nil })).Run(ctx)
	if !errors.Is(err, errKilled) {
		t.Fatal(err)
	}
	s.say("ann", "s1", "ann rows home")
	if len(s.stored("b", "ann", 0, "text")) == 0 {
		t.Fatal("the reindex was killed too early")
	}
	s.check(reindex.New(s.deps(config.FirstIndex)).Run(t.Context()))
	s.wantComplete(config.FirstIndex, "ann")
	s.sweep(time.Minute)
	s.sweep(26 * time.Hour)
	s.wantComplete(config.FirstIndex, "ann")
	if left := s.stored("b", "ann", 0, "text"); len(left) > 0 {
		t.Errorf("the other index has %s", list(left))
	}
}

// TestFailuresLeaveUsers has the embedding fail for one user, and then for all.
func TestFailuresLeaveUsers(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	const users = 12
	for i := range users {
		s.say(conversation.UserID(fmt.Sprint("user", i)), "s1", fmt.Sprint("user", i, " rows"))
	}
	left := 0
	d := s.deps("b")
	d.Report = func(conversation.UserID, error) { left++ }
	s.models["b"].fails = "user3 "
	x := reindex.New(d)
	s.check(x.Run(t.Context()))
	if c := x.Counts(); c.Reindexed != users-1 || c.Left != 1 || left != 1 {
		t.Errorf("counts %+v, reported %d", c, left)
	}
	s.models["b"].fails = ""
	s.check(reindex.New(s.deps("b")).Run(t.Context()))
	s.wantComplete("b", "user3")

	s.models[config.FirstIndex].fails = "user"
	d = s.deps(config.FirstIndex)
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
		d := s.deps("b")
		limiter := rate.NewLimiter(rate.Every(time.Hour), 1)
		limiter.Allow() // the next one is allowed in an hour
		limit(&d, limiter)
		d.Report = func(conversation.UserID, error) {}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		x := reindex.New(d)
		err := x.Run(ctx)
		cancel()
		if s.models["b"].texts > 0 || err == nil && x.Counts().Left != 1 {
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
		m.ValidUntil = s.now.Add(-time.Second)
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
		receipt, err := s.sweeper.Erase(s.t.Context(), user, s.now.Add(time.Minute))
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
			made := 0
			before := func(user conversation.UserID, call int) {
				if call == at[user] {
					made++
					write(s, user)
				}
				serving := s.serving(user)
				if call%3 == 0 && len(s.stored(serving, user, s.generation(user), "text")) == 0 {
					t.Errorf("%s finds nothing in %q before call %d", user, serving, call)
				}
			}
			s.check(reindex.New(interrupted(s.deps("b"), before, func(int) bool { return false })).Run(t.Context()))
			if made < len(at) {
				t.Errorf("%d of %d users wrote", made, len(at))
			}
			for user := range at {
				s.wantComplete("b", user)
			}
			s.sweep(16 * time.Minute)
			s.sweep(26 * time.Hour)
			for user, call := range at {
				s.wantComplete("b", user)
				if generation := s.generation(user); generation > 0 {
					if n := len(s.stored("b", user, generation-1, "text")); n > 0 {
						t.Errorf("%d vectors of the erased %s are back", n, user)
					}
				}
				for generation := range s.generation(user) + 1 {
					if old := s.stored(config.FirstIndex, user, generation, "text"); len(old) > 0 {
						t.Errorf("old vectors of %s, who wrote before call %d, are left: %s", user, call, list(old))
					}
				}
			}
		})
	}
}
