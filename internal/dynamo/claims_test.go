package dynamo_test

import (
	"testing"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/sweep"
	"github.com/throughline/throughline/internal/testing/check"
)

// TestClaims claims one record in two workers, and checks what the end of a claim leaves.
func TestClaims(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	newSession(t, s, coach, "a", "1")
	d := onlyDue(t, s, sweep.Sessions)
	again := func() sweep.Due { return onlyDueIn(t, s, d.Shard) }
	until := s.clock().Add(time.Hour)
	first, ok, err := s.Due.Claim(t.Context(), d, until)
	if err != nil || !ok || first.Failures != 1 || !first.Until.Equal(until) || !first.Since.Equal(d.DueAt) {
		t.Fatalf("claimed %+v: %v, %v", first, ok, err)
	}
	if _, ok, err := s.Due.Claim(t.Context(), d, until.Add(time.Minute)); ok || err != nil {
		t.Errorf("a second worker claims it: %v, %v", ok, err)
	}
	if session := readSession(t, s, "a"); session.ClaimedVersion != session.Version {
		t.Errorf("the claim is of version %d, the session has %d", session.ClaimedVersion, session.Version)
	}
	lapsed := again()
	if !lapsed.DueAt.Equal(until) {
		t.Errorf("the claim lapses at %v, want %v", lapsed.DueAt, until)
	}
	second, ok, err := s.Due.Claim(t.Context(), lapsed, until.Add(time.Hour))
	if err != nil || !ok || second.Failures != 2 || !second.Since.Equal(d.DueAt) {
		t.Fatalf("the claim that lapsed: %+v, %v, %v", second, ok, err)
	}
	for name, end := range map[string]func() error{
		"postpone": func() error { return s.Due.Postpone(t.Context(), first, s.clock(), true) },
		"remove":   func() error { return s.Due.Remove(t.Context(), first) },
		"extend":   func() error { _, err := s.Due.Extend(t.Context(), first, s.clock()); return err },
	} {
		if err := end(); err != nil || !again().DueAt.Equal(second.Until) {
			t.Errorf("%s with a claim that lapsed: %v, due %+v", name, err, again())
		}
	}
	second, err = s.Due.Extend(t.Context(), second, until.Add(3*time.Hour))
	check.OK(t, err)
	since := d.DueAt
	for i, succeeded := range []bool{false, true, false} {
		at := s.clock().Add(time.Duration(i+1) * time.Minute)
		check.OK(t, s.Due.Postpone(t.Context(), second, at, succeeded))
		d := again()
		if session := readSession(t, s, "a"); !d.DueAt.Equal(at) || session.ClaimedVersion != 0 {
			t.Errorf("postponed to %v: due at %v, claimed %d", at, d.DueAt, session.ClaimedVersion)
		}
		if second, ok, err = s.Due.Claim(t.Context(), d, until.Add(time.Hour)); err != nil || !ok {
			t.Fatal(ok, err)
		}
		if want := []int{3, 1, 2}[i]; second.Failures != want {
			t.Errorf("%d failures, want %d", second.Failures, want)
		}
		if succeeded {
			since = at
		}
		if !second.Since.Equal(since) {
			t.Errorf("due since %v, want %v", second.Since, since)
		}
	}
	check.OK(t, s.Due.Remove(t.Context(), second))
	checkDue(t, s, sweep.Sessions, 0)
}

// TestClaimsOfChangedRecords checks that a claim makes no record of its own, and that the end of a claim undoes nothing
// that was written since.
func TestClaimsOfChangedRecords(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	_, messages := newSession(t, s, coach, "a", "1", "2")
	d := onlyDue(t, s, sweep.Sessions)
	c, ok, err := s.Due.Claim(t.Context(), d, s.clock().Add(time.Hour))
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	check.Got(s.Deletion.DeleteMessage(t.Context(), alice, messages[0], nil, start.Add(farAhead)))(t)
	check.OK(t, s.Due.Remove(t.Context(), c))
	if due := onlyDueIn(t, s, d.Shard); !due.DueAt.Equal(s.clock()) {
		t.Errorf("the deletion of a message makes its session due at %v, want %v", due.DueAt, s.clock())
	}
	check.Got(s.Deletion.DeleteSession(t.Context(), alice, "a", start.Add(farAhead)))(t)
	if _, ok, err := s.Due.Claim(t.Context(), d, s.clock()); ok || err != nil {
		t.Errorf("a session that is gone is claimed: %v, %v", ok, err)
	}
	checkFault(t, errorOf(s.Summaries.SessionDue(t.Context(), d)), fault.NotFound, "a session that is gone")
	check.OK(t, s.Due.Postpone(t.Context(), c, s.clock(), true))
	checkDue(t, s, sweep.Sessions, 0)
}

// TestClaimSession claims a session as it was read.
func TestClaimSession(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	session, _ := newSession(t, s, coach, "a", "1")
	until := s.clock().Add(time.Hour)
	c, ok, err := s.Summaries.ClaimSession(t.Context(), alice, session, until)
	if err != nil || !ok || c.Failures != 1 {
		t.Fatalf("claimed %+v: %v, %v", c, ok, err)
	}
	if _, ok, err := s.Summaries.ClaimSession(t.Context(), alice, session, until); ok || err != nil {
		t.Errorf("claimed twice: %v, %v", ok, err)
	}
	silent := createSession(t, s, alice, coach, "silent")
	if c, ok, err = s.Summaries.ClaimSession(t.Context(), alice, silent, until); err != nil || !ok {
		t.Fatal(ok, err)
	}
	if due := listDue(t, s, sweep.Sessions, until); len(due) != 2 {
		t.Errorf("claims of a session that was not due lapse, too: due %v", due)
	}
	check.OK(t, s.Due.Remove(t.Context(), c))
	silent.CreatedAt = silent.CreatedAt.Add(time.Millisecond)
	if _, ok, err := s.Summaries.ClaimSession(t.Context(), alice, silent, until); ok || err != nil {
		t.Errorf("another session of that id was claimed: %v, %v", ok, err)
	}
}

// TestEndClaim ends claims of a session whose summary is indexed.
func TestEndClaim(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	session, _ := newSession(t, s, coach, "a", "1")
	saveSummary(t, s, session)
	claim := func() (sweep.Claim, conversation.Session) {
		t.Helper()
		session := readSession(t, s, "a")
		c, ok, err := s.Summaries.ClaimSession(t.Context(), alice, session, s.clock().Add(time.Hour))
		if err != nil || !ok {
			t.Fatal(ok, err)
		}
		return c, session
	}
	c, session := claim()
	if session.Summary.Indexed {
		t.Error("the summary is indexed before anybody has said so")
	}
	session.Summary.Indexed = true
	again := s.clock().Add(7 * time.Minute)
	check.OK(t, s.Summaries.EndClaim(t.Context(), c, session, again, true))
	got := readSession(t, s, "a")
	if !got.Summary.Indexed || !got.DueAt.Equal(again) || got.ClaimedVersion != 0 {
		t.Errorf("after the claim the session is %+v, its summary %+v", got, got.Summary)
	}
	appendMessages(t, s, alice, "a", userMessages("2")...)
	s.advance(time.Second)
	saveSummary(t, s, readSession(t, s, "a"))
	if readSession(t, s, "a").Summary.Indexed {
		t.Error("a new summary counts as indexed")
	}
	if c, _ = claim(); c.Failures != 1 {
		t.Errorf("%d failures after a success", c.Failures)
	}
	if err := s.Summaries.EndClaim(t.Context(), c, session, again, false); err != nil { // as of before the new summary
		t.Fatal(err)
	}
	if got = readSession(t, s, "a"); got.Summary.Indexed || !got.DueAt.Equal(again) {
		t.Errorf("the end of an older claim: %+v, its summary %+v", got, got.Summary)
	}
	check.OK(t, s.Indexing.MarkIndexed(t.Context(), alice, session, conversation.Watermark{Seq: 2}))
	readForMemories(t, s, "a")
	c, session = claim()
	session.Indexed.Seq, session.Summary.Indexed = 0, true
	check.OK(t, s.Summaries.EndClaim(t.Context(), c, session, again, true))
	checkDue(t, s, sweep.Sessions, 0)
}

func TestLeases(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	shard := sweep.Shard(3)
	lease := func(owner string, want bool) {
		t.Helper()
		held, err := s.Due.Lease(t.Context(), shard, owner, s.clock().Add(time.Minute))
		if err != nil || held != want {
			t.Errorf("%s has the lease: %v, %v, want %v", owner, held, err, want)
		}
	}
	lease("a", true)
	lease("b", false)
	if held, err := s.Due.Lease(t.Context(), shard+1, "b", s.clock()); err != nil || !held {
		t.Errorf("another shard: %v, %v", held, err)
	}
	check.OK(t, s.Due.Release(t.Context(), shard, "b"))
	lease("b", false)
	check.OK(t, s.Due.Release(t.Context(), shard, "a"))
	lease("b", true)
	s.advance(time.Minute)
	lease("c", true)
}
