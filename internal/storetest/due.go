package storetest

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/memory"
	"github.com/throughline/throughline/internal/sweep"
)

const farAhead = 1000 * time.Hour

// listDue lists what is due in a queue at a time, earliest first.
func listDue(t *testing.T, s *fixture, q sweep.Queue, at time.Time) []sweep.Due {
	t.Helper()
	var all []sweep.Due
	for _, shard := range q.Shards() {
		due, err := s.Due.Due(t.Context(), shard, at, nil, 50)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, due...)
	}
	slices.SortFunc(all, func(a, b sweep.Due) int { return cmp.Or(a.DueAt.Compare(b.DueAt), cmp.Compare(a.ID, b.ID)) })
	return all
}

// onlyDue returns what is due in a queue, which has to be one record.
func onlyDue(t *testing.T, s *fixture, q sweep.Queue) sweep.Due {
	t.Helper()
	due := listDue(t, s, q, Now.Add(farAhead))
	if len(due) != 1 {
		t.Fatalf("due are %+v, want one record", due)
	}
	return due[0]
}

// dueIDs are the ids of the sessions that are due.
func dueIDs(t *testing.T, s *fixture, at time.Time) []string {
	t.Helper()
	ids := []string{}
	for _, d := range listDue(t, s, sweep.Sessions, at) {
		session, err := s.Summaries.SessionDue(t.Context(), d)
		if err != nil || d.User != alice || !session.DueAt.Equal(d.DueAt) {
			t.Fatalf("%+v is of %+v, %v", d, session, err)
		}
		ids = append(ids, session.ID)
	}
	return ids
}

// testDue checks that the first uncovered message makes a session due, and that later messages do not delay it.
func testDue(t *testing.T, s *fixture) {
	var want []string
	var first time.Time
	for i := range 20 {
		s.advance(time.Second)
		session, _ := newSession(t, s, coach, fmt.Sprint("s", i), "hi")
		if !session.DueAt.After(s.clock()) {
			t.Fatalf("a session with a message is due at %v", session.DueAt)
		}
		if i == 0 {
			first = session.DueAt
		}
		want = append(want, session.ID)
	}
	createSession(t, s, alice, coach, "silent")
	if due := dueIDs(t, s, first.Add(-time.Millisecond)); len(due) != 0 {
		t.Errorf("due before their time: %v", due)
	}
	s.advance(time.Second)
	appendMessages(t, s, alice, "s0", userMessages("more")...)
	if diff := gocmp.Diff(want, dueIDs(t, s, Now.Add(farAhead))); diff != "" {
		t.Errorf("due (-want +got):\n%s", diff)
	}
}

// testDuePages reads what is due in pages of two, while what was read is claimed.
func testDuePages(t *testing.T, s *fixture) {
	want := map[string]bool{}
	for i := range 60 {
		session, _ := newSession(t, s, coach, fmt.Sprint("s", i), "hi")
		want[session.ID] = true
	}
	at := Now.Add(farAhead)
	for _, shard := range sweep.Sessions.Shards() {
		for after, page := (*sweep.Due)(nil), []sweep.Due{{}, {}}; len(page) == 2; {
			var err error
			if page, err = s.Due.Due(t.Context(), shard, at, after, 2); err != nil {
				t.Fatal(err)
			}
			for _, d := range page {
				session, err := s.Summaries.SessionDue(t.Context(), d)
				if err != nil || !want[session.ID] {
					t.Fatalf("%+v: %v, read already or unknown", d, err)
				}
				delete(want, session.ID)
				after = &d
				if _, ok, err := s.Due.Claim(t.Context(), d, at.Add(time.Hour)); !ok || err != nil {
					t.Fatalf("claim %+v: %v, %v", d, ok, err)
				}
			}
		}
	}
	if len(want) != 0 {
		t.Errorf("not read: %v", want)
	}
}

// testClaims claims one record in two workers, and checks what the end of a claim leaves.
func testClaims(t *testing.T, s *fixture) {
	newSession(t, s, coach, "a", "1")
	d := onlyDue(t, s, sweep.Sessions)
	until := s.clock().Add(time.Hour)
	first, ok, err := s.Due.Claim(t.Context(), d, until)
	if err != nil || !ok || first.Failures != 1 || !first.Until.Equal(until) {
		t.Fatalf("claimed %+v: %v, %v", first, ok, err)
	}
	if _, ok, err := s.Due.Claim(t.Context(), d, until.Add(time.Minute)); ok || err != nil {
		t.Errorf("a second worker claims it: %v, %v", ok, err)
	}
	if session := readSession(t, s, "a"); session.ClaimedVersion != session.Version {
		t.Errorf("the claim is of version %d, the session has %d", session.ClaimedVersion, session.Version)
	}
	lapsed := onlyDue(t, s, sweep.Sessions)
	if !lapsed.DueAt.Equal(until) {
		t.Errorf("the claim lapses at %v, want %v", lapsed.DueAt, until)
	}
	second, ok, err := s.Due.Claim(t.Context(), lapsed, until.Add(time.Hour))
	if err != nil || !ok || second.Failures != 2 {
		t.Fatalf("the claim that lapsed: %+v, %v, %v", second, ok, err)
	}
	for name, end := range map[string]func() error{
		"postpone": func() error { return s.Due.Postpone(t.Context(), first, s.clock(), true) },
		"remove":   func() error { return s.Due.Remove(t.Context(), first) },
		"extend":   func() error { _, err := s.Due.Extend(t.Context(), first, s.clock()); return err },
	} {
		if err := end(); err != nil || !onlyDue(t, s, sweep.Sessions).DueAt.Equal(second.Until) {
			t.Errorf("%s with a claim that lapsed: %v, due %+v", name, err, onlyDue(t, s, sweep.Sessions))
		}
	}
	if second, err = s.Due.Extend(t.Context(), second, until.Add(3*time.Hour)); err != nil {
		t.Fatal(err)
	}
	for i, succeeded := range []bool{false, true, false} {
		at := s.clock().Add(time.Duration(i+1) * time.Minute)
		if err := s.Due.Postpone(t.Context(), second, at, succeeded); err != nil {
			t.Fatal(err)
		}
		d := onlyDue(t, s, sweep.Sessions)
		if session := readSession(t, s, "a"); !d.DueAt.Equal(at) || session.ClaimedVersion != 0 {
			t.Errorf("postponed to %v: due at %v, claimed %d", at, d.DueAt, session.ClaimedVersion)
		}
		if second, ok, err = s.Due.Claim(t.Context(), d, until.Add(time.Hour)); err != nil || !ok {
			t.Fatal(ok, err)
		}
		if want := []int{3, 1, 2}[i]; second.Failures != want {
			t.Errorf("%d failures, want %d", second.Failures, want)
		}
	}
	if err := s.Due.Remove(t.Context(), second); err != nil || len(listDue(t, s, sweep.Sessions, Now.Add(farAhead))) != 0 {
		t.Errorf("removed: %v, due %v", err, listDue(t, s, sweep.Sessions, Now.Add(farAhead)))
	}
}

// testClaimsOfChangedRecords checks that a claim makes no record of its own, and that the end of a claim undoes nothing
// that was written since.
func testClaimsOfChangedRecords(t *testing.T, s *fixture) {
	_, messages := newSession(t, s, coach, "a", "1", "2")
	d := onlyDue(t, s, sweep.Sessions)
	c, ok, err := s.Due.Claim(t.Context(), d, s.clock().Add(time.Hour))
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	if _, err := s.MessageDeletion.DeleteMessage(t.Context(), alice, messages[0], nil, Now.Add(farAhead)); err != nil {
		t.Fatal(err)
	}
	if err := s.Due.Remove(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if due := onlyDue(t, s, sweep.Sessions); !due.DueAt.Equal(s.clock()) {
		t.Errorf("the deletion of a message makes its session due at %v, want %v", due.DueAt, s.clock())
	}
	if _, err := s.SessionDeletion.DeleteSession(t.Context(), alice, "a", Now.Add(farAhead)); err != nil {
		t.Fatal(err)
	}
	if _, ok, err := s.Due.Claim(t.Context(), d, s.clock()); ok || err != nil {
		t.Errorf("a session that is gone is claimed: %v, %v", ok, err)
	}
	if _, err := s.Summaries.SessionDue(t.Context(), d); !fault.Is(err, fault.NotFound) {
		t.Errorf("a session that is gone: %v", err)
	}
	if err := s.Due.Postpone(t.Context(), c, s.clock(), true); err != nil {
		t.Error(err)
	}
	if due := listDue(t, s, sweep.Sessions, Now.Add(farAhead)); len(due) != 0 {
		t.Errorf("a session that is gone is due: %v", due)
	}
}

// testClaimSession claims a session as it was read.
func testClaimSession(t *testing.T, s *fixture) {
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
	if err := s.Due.Remove(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	silent.CreatedAt = silent.CreatedAt.Add(time.Millisecond)
	if _, ok, err := s.Summaries.ClaimSession(t.Context(), alice, silent, until); ok || err != nil {
		t.Errorf("another session of that id was claimed: %v, %v", ok, err)
	}
}

// testEndClaim ends claims of a session whose summary is indexed.
func testEndClaim(t *testing.T, s *fixture) {
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
	if err := s.Summaries.EndClaim(t.Context(), c, session, again, true); err != nil {
		t.Fatal(err)
	}
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
	if err := s.Indexing.MarkIndexed(t.Context(), alice, session, conversation.Watermark{Seq: 2}); err != nil {
		t.Fatal(err)
	}
	c, session = claim()
	session.Indexed.Seq, session.Summary.Indexed = 0, true
	if err := s.Summaries.EndClaim(t.Context(), c, session, again, true); err != nil {
		t.Fatal(err)
	}
	if due := listDue(t, s, sweep.Sessions, Now.Add(farAhead)); len(due) != 0 {
		t.Errorf("everything is covered, and due is %+v", due)
	}
}

func testLeases(t *testing.T, s *fixture) {
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
	if err := s.Due.Release(t.Context(), shard, "b"); err != nil {
		t.Error(err)
	}
	lease("b", false)
	if err := s.Due.Release(t.Context(), shard, "a"); err != nil {
		t.Error(err)
	}
	lease("b", true)
	s.advance(time.Minute)
	lease("c", true)
}

func testSettleKeepsNewMessagesDue(t *testing.T, s *fixture) {
	session, _ := newSession(t, s, coach, "a", "1")
	settle := func(want int) {
		t.Helper()
		settled, err := s.Summaries.Settle(t.Context(), alice, session)
		if err != nil || settled != (want == 0) {
			t.Fatalf("settled: %v, %v", settled, err)
		}
		if got := len(listDue(t, s, sweep.Sessions, Now.Add(farAhead))); got != want {
			t.Errorf("%d due, want %d", got, want)
		}
	}
	settle(1)
	saveSummary(t, s, session)
	session = readSession(t, s, "a")
	settle(1)
	if err := s.Indexing.MarkIndexed(t.Context(), alice, session, conversation.Watermark{Seq: 1}); err != nil {
		t.Fatal(err)
	}
	appendMessages(t, s, alice, "a", userMessages("in between")...)
	settle(1)
	if err := s.Indexing.MarkIndexed(t.Context(), alice, session, conversation.Watermark{Seq: 2}); err != nil {
		t.Fatal(err)
	}
	s.advance(time.Second)
	saveSummary(t, s, readSession(t, s, "a"))
	settle(1) // as of before the append
	session = readSession(t, s, "a")
	old := session
	oldSummary := *session.Summary
	oldSummary.UpdatedAt = oldSummary.UpdatedAt.Add(-time.Second)
	session.Summary = &oldSummary
	settle(1) // with another summary
	session = old
	settle(0)
	appendMessages(t, s, alice, "a", userMessages("and again")...)
	settle(1)
}

// testTheLastWatermarkSettles checks that a session whose summary is done leaves the due index with the watermark of
// indexing, and not before the summary is indexed.
func testTheLastWatermarkSettles(t *testing.T, s *fixture) {
	for _, isIndexed := range []bool{false, true} {
		id := fmt.Sprint(isIndexed)
		session, _ := newSession(t, s, coach, id, "1")
		saveSummary(t, s, session)
		session = readSession(t, s, id)
		c, ok, err := s.Summaries.ClaimSession(t.Context(), alice, session, s.clock().Add(time.Hour))
		if err != nil || !ok {
			t.Fatal(ok, err)
		}
		session.Summary.Indexed = isIndexed
		if err := s.Summaries.EndClaim(t.Context(), c, session, s.clock(), true); err != nil {
			t.Fatal(err)
		}
		if err := s.Indexing.MarkIndexed(t.Context(), alice, session, conversation.Watermark{Seq: 1}); err != nil {
			t.Fatal(err)
		}
		if got := readSession(t, s, id); got.DueAt.IsZero() != isIndexed {
			t.Errorf("summary indexed: %v, and the session is due at %v", isIndexed, got.DueAt)
		}
	}
}

// testCompletedSessionsAreDue checks that completing a session makes it due, so that its last summary is written even
// when the stream record is lost.
func testCompletedSessionsAreDue(t *testing.T, s *fixture) {
	session, _ := newSession(t, s, coach, "a", "1")
	saveSummary(t, s, session)
	if err := s.Indexing.MarkIndexed(t.Context(), alice, session, conversation.Watermark{Seq: 1}); err != nil {
		t.Fatal(err)
	}
	if settled, err := s.Summaries.Settle(t.Context(), alice, readSession(t, s, "a")); err != nil || !settled {
		t.Fatal(settled, err)
	}
	completed := conversation.Completed
	change := conversation.SessionChange{Status: &completed}
	if _, err := s.Sessions.UpdateSession(t.Context(), alice, "a", change); err != nil {
		t.Fatal(err)
	}
	if due := dueIDs(t, s, Now.Add(farAhead)); len(due) != 1 || due[0] != "a" {
		t.Errorf("due after completing: %v", due)
	}
}

// testRecordsAreDue checks that a memory or check-in is due from each write until that version is indexed.
func testRecordsAreDue(t *testing.T, s *fixture) {
	m, _, err := s.Memories.Create(t.Context(), alice, longterm.Memory{Content: "x", Source: longterm.Seeded}, noKey)
	if err != nil {
		t.Fatal(err)
	}
	d := onlyDue(t, s, sweep.Records)
	ref, err := s.Indexing.RecordDue(t.Context(), d)
	if err != nil || ref.ID != m.ID || ref.Past || !d.DueAt.After(s.clock()) {
		t.Fatalf("%+v is of %+v, %v", d, ref, err)
	}
	pin := func(m *longterm.Memory) error { m.Pinned = !m.Pinned; return nil }
	if _, err := s.Memories.Update(t.Context(), alice, m.ID, pin); err != nil {
		t.Fatal(err)
	}
	mark := func(ref memory.RecordRef, want int) {
		t.Helper()
		if err := s.Indexing.MarkRecordIndexed(t.Context(), alice, ref); err != nil {
			t.Fatal(err)
		}
		if due := listDue(t, s, sweep.Records, Now.Add(farAhead)); len(due) != want {
			t.Errorf("due after version %d is indexed: %v", ref.Version, due)
		}
	}
	mark(ref, 1) // it has another version now
	now, err := s.Indexing.RecordDue(t.Context(), onlyDue(t, s, sweep.Records))
	if err != nil || now.Version == ref.Version {
		t.Fatalf("the changed record is %+v, %v", now, err)
	}
	mark(now, 0)
	mark(now, 0)
	if _, err := s.Memories.Update(t.Context(), alice, m.ID, pin); err != nil {
		t.Fatal(err)
	}
	c, ok, err := s.Due.Claim(t.Context(), onlyDue(t, s, sweep.Records), s.clock())
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	if _, err := s.Memories.Update(t.Context(), alice, m.ID, pin); err != nil {
		t.Fatal(err)
	}
	if err := s.Due.Remove(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	onlyDue(t, s, sweep.Records) // it changed after the claim
	checkIns := []longterm.CheckIn{{Note: "a", Timestamp: Now}, {Note: "b", Timestamp: Now.Add(time.Second)}}
	for _, c := range checkIns {
		if _, _, err := s.CheckIns.Create(t.Context(), alice, c, noKey); err != nil {
			t.Fatal(err)
		}
	}
	left, past := 3, 0
	for _, d := range listDue(t, s, sweep.Records, Now.Add(farAhead)) {
		ref, err := s.Indexing.RecordDue(t.Context(), d)
		if err != nil {
			t.Fatal(err)
		}
		if left--; ref.Past {
			past++
		}
		mark(ref, left)
	}
	if past != 1 || left != 0 {
		t.Errorf("%d past records were due, and %d are left", past, left)
	}
}

// testDeletedRecordsAreDue checks that a deleted memory leaves a tombstone of its vector, and no record that is due.
func testDeletedRecordsAreDue(t *testing.T, s *fixture) {
	m, _, err := s.Memories.Create(t.Context(), alice, longterm.Memory{Content: "x", Source: longterm.Seeded}, noKey)
	if err != nil {
		t.Fatal(err)
	}
	record := onlyDue(t, s, sweep.Records)
	if err := s.Memories.Delete(t.Context(), alice, m.ID); err != nil {
		t.Fatal(err)
	}
	tombstone, err := s.Tombstones.Tombstone(t.Context(), onlyDue(t, s, sweep.Deletions))
	if err != nil || !slices.Equal(tombstone.Vectors, []string{m.ID}) || !tombstone.Emptied {
		t.Errorf("the tombstone is %+v, %v", tombstone, err)
	}
	if due := listDue(t, s, sweep.Records, Now.Add(farAhead)); len(due) != 0 {
		t.Errorf("due are %v", due)
	}
	if _, err := s.Indexing.RecordDue(t.Context(), record); !fault.Is(err, fault.NotFound) {
		t.Errorf("the record that is gone: %v", err)
	}
}

// testErasuresAreDue checks that an erasure is due when its caller's lease has expired, that the sweep can take it
// over, and that its receipt stays.
func testErasuresAreDue(t *testing.T, s *fixture) {
	s.storeEverything(t, "old")
	sessions := listDue(t, s, sweep.Sessions, Now.Add(farAhead))
	if _, err := s.Erasures.Erasure(t.Context(), alice); !fault.Is(err, fault.NotFound) {
		t.Errorf("an erasure before there is one: %v", err)
	}
	if _, held, err := s.Erasures.ResumeErasure(t.Context(), alice, s.clock()); held || err != nil {
		t.Errorf("an erasure that has not begun is resumed: %v, %v", held, err)
	}
	begun, _, err := s.Erasures.BeginErasure(t.Context(), alice, s.clock().Add(time.Second))
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range sessions {
		if _, err := s.Summaries.SessionDue(t.Context(), d); !fault.Is(err, fault.NotFound) {
			t.Errorf("a session of the erased user is due: %v", err)
		}
	}
	d := onlyDue(t, s, sweep.Deletions)
	if tombstone, err := s.Tombstones.Tombstone(t.Context(), d); err != nil || !tombstone.Erasing {
		t.Errorf("the erasure's tombstone is %+v, %v", tombstone, err)
	}
	if _, held, err := s.Erasures.ResumeErasure(t.Context(), alice, s.clock()); held || err != nil {
		t.Errorf("resumed while its caller works: %v, %v", held, err)
	}
	s.advance(d.DueAt.Sub(s.clock()))
	if done, err := s.Sweep(t.Context(), sweep.Deletions, s.sweeper(), s.clock); err != nil || done != 1 {
		t.Fatalf("swept %d, %v", done, err)
	}
	p, err := s.Erasures.Erasure(t.Context(), alice)
	if err != nil || !p.Done || p.Generation != begun.Generation || p.Counts["message"] != 2 {
		t.Errorf("the erasure is %+v, %v", p, err)
	}
	if diff := gocmp.Diff(none, s.visible(t)); diff != "" {
		t.Errorf("visible afterwards (-want +got):\n%s", diff)
	}
	if due := listDue(t, s, sweep.Sessions, Now.Add(farAhead)); len(due) != 0 {
		t.Errorf("due are %v", due)
	}
}
