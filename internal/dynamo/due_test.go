package dynamo_test

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/indexing"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/sweep"
	"github.com/throughline/throughline/internal/testing/check"
)

const farAhead = 1000 * time.Hour

// listDue lists what is due in a queue at a time, earliest first.
func listDue(t *testing.T, s *fixture, q sweep.Queue, at time.Time) []sweep.Due {
	t.Helper()
	return dueIn(t, s, at, q.Shards()...)
}

// dueIn lists what is due in shards at a time, earliest first. A record stays in its shard, so that a test which
// follows one need not read all of the queue.
func dueIn(t *testing.T, s *fixture, at time.Time, shards ...sweep.Shard) []sweep.Due {
	t.Helper()
	var all []sweep.Due
	for _, shard := range shards {
		due, err := s.Due.Due(t.Context(), shard, at, nil, 50)
		check.OK(t, err)
		all = append(all, due...)
	}
	slices.SortFunc(all, func(a, b sweep.Due) int { return cmp.Or(a.DueAt.Compare(b.DueAt), cmp.Compare(a.ID, b.ID)) })
	return all
}

// checkDue checks how many records are due in a queue, now or later.
func checkDue(t *testing.T, s *fixture, q sweep.Queue, want int) {
	t.Helper()
	if due := listDue(t, s, q, s.clock().Add(farAhead)); len(due) != want {
		t.Errorf("due are %+v, want %d", due, want)
	}
}

// onlyDue returns what is due in a queue, which has to be one record.
func onlyDue(t *testing.T, s *fixture, q sweep.Queue) sweep.Due {
	t.Helper()
	return onlyDueIn(t, s, q.Shards()...)
}

// onlyDueIn returns what is due in shards, which has to be one record.
func onlyDueIn(t *testing.T, s *fixture, shards ...sweep.Shard) sweep.Due {
	t.Helper()
	due := dueIn(t, s, start.Add(farAhead), shards...)
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

// TestDue checks that the first uncovered message makes a session due, and that later messages do not delay it.
func TestDue(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	var want []string
	var first time.Time
	for i := range 8 {
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
	check.Same(t, want, dueIDs(t, s, start.Add(farAhead)), "due")
}

// TestDuePages reads what is due in pages of two, while what was read is claimed.
func TestDuePages(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	want := map[string]bool{}
	for i := range 40 {
		id := fmt.Sprint("s", i)
		createSession(t, s, alice, coach, id)
		appendMessages(t, s, alice, id, userMessages("hi")...)
		want[id] = true
	}
	laterPages := 0
	at := start.Add(farAhead)
	for _, shard := range sweep.Sessions.Shards() {
		pages := 0
		for after, page := (*sweep.Due)(nil), []sweep.Due{{}, {}}; len(page) == 2; pages++ {
			var err error
			page, err = s.Due.Due(t.Context(), shard, at, after, 2)
			check.OK(t, err)
			if pages > 0 && len(page) > 0 {
				laterPages++
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
	if len(want) != 0 || laterPages < 3 {
		t.Errorf("not read: %v; %d pages followed another", want, laterPages)
	}
}

// readForMemories raises the watermark of extraction to the end of a session.
func readForMemories(t *testing.T, s *fixture, id string) {
	t.Helper()
	check.OK(t, s.Extraction.SkipExtraction(t.Context(), alice, readSession(t, s, id)))
}

func TestSettleKeepsNewMessagesDue(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	session, _ := newSession(t, s, coach, "a", "1")
	shard := onlyDue(t, s, sweep.Sessions).Shard
	settle := func(want int) {
		t.Helper()
		settled, err := s.Summaries.Settle(t.Context(), alice, session)
		if err != nil || settled != (want == 0) {
			t.Fatalf("settled: %v, %v", settled, err)
		}
		if due := dueIn(t, s, start.Add(farAhead), shard); len(due) != want {
			t.Errorf("due are %+v, want %d", due, want)
		}
	}
	settle(1)
	saveSummary(t, s, session)
	session = readSession(t, s, "a")
	settle(1)
	check.OK(t, s.Indexing.MarkIndexed(t.Context(), alice, session, conversation.Watermark{Seq: 1}))
	appendMessages(t, s, alice, "a", userMessages("in between")...)
	settle(1)
	check.OK(t, s.Indexing.MarkIndexed(t.Context(), alice, session, conversation.Watermark{Seq: 2}))
	s.advance(time.Second)
	saveSummary(t, s, readSession(t, s, "a"))
	settle(1) // as of before the append
	session = readSession(t, s, "a")
	settle(1) // it is not read for memories
	readForMemories(t, s, "a")
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

// TestTheLastWatermarkSettles checks that a session whose summary is done leaves the due index with the watermark of
// indexing, and not before the summary is indexed.
func TestTheLastWatermarkSettles(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
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
		check.OK(t, s.Summaries.EndClaim(t.Context(), c, session, s.clock(), true))
		readForMemories(t, s, id)
		check.OK(t, s.Indexing.MarkIndexed(t.Context(), alice, session, conversation.Watermark{Seq: 1}))
		if got := readSession(t, s, id); got.DueAt.IsZero() != isIndexed {
			t.Errorf("summary indexed: %v, and the session is due at %v", isIndexed, got.DueAt)
		}
	}
}

// TestCompletedSessionsAreDue checks that completing a session makes it due, so that its last summary is written even
// when the stream record is lost.
func TestCompletedSessionsAreDue(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	session, _ := newSession(t, s, coach, "a", "1")
	saveSummary(t, s, session)
	check.OK(t, s.Indexing.MarkIndexed(t.Context(), alice, session, conversation.Watermark{Seq: 1}))
	readForMemories(t, s, "a")
	if settled, err := s.Summaries.Settle(t.Context(), alice, readSession(t, s, "a")); err != nil || !settled {
		t.Fatal(settled, err)
	}
	complete(t, s, "a")
	if due := dueIDs(t, s, start.Add(farAhead)); len(due) != 1 || due[0] != "a" {
		t.Errorf("due after completing: %v", due)
	}
}

// TestRecordsAreDue checks that a memory or check-in is due from each write until that version is indexed.
func TestRecordsAreDue(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	m := create(t, s.Memories, longterm.Memory{Content: "x", Source: longterm.Seeded})
	d := onlyDue(t, s, sweep.Records)
	ref, err := s.Indexing.RecordDue(t.Context(), d)
	if err != nil || ref.ID != m.ID || ref.Past || !d.DueAt.After(s.clock()) {
		t.Fatalf("%+v is of %+v, %v", d, ref, err)
	}
	pin := func(m *longterm.Memory) error { m.Pinned = !m.Pinned; return nil }
	check.Got(s.Memories.Update(t.Context(), alice, m.ID, pin))(t)
	mark := func(ref indexing.RecordRef, want int) {
		t.Helper()
		check.OK(t, s.Indexing.MarkRecordIndexed(t.Context(), alice, ref))
		checkDue(t, s, sweep.Records, want)
	}
	mark(ref, 1) // it has another version now
	now, err := s.Indexing.RecordDue(t.Context(), onlyDue(t, s, sweep.Records))
	if err != nil || now.Version == ref.Version {
		t.Fatalf("the changed record is %+v, %v", now, err)
	}
	mark(now, 0)
	mark(now, 0)
	check.Got(s.Memories.Update(t.Context(), alice, m.ID, pin))(t)
	c, ok, err := s.Due.Claim(t.Context(), onlyDue(t, s, sweep.Records), s.clock())
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	check.Got(s.Memories.Update(t.Context(), alice, m.ID, pin))(t)
	check.OK(t, s.Due.Remove(t.Context(), c))
	onlyDue(t, s, sweep.Records) // it changed after the claim
	checkIns := []longterm.CheckIn{{Note: "a", Timestamp: start}, {Note: "b", Timestamp: start.Add(time.Second)}}
	for _, c := range checkIns {
		create(t, s.CheckIns, c)
	}
	left, past := 3, 0
	for _, d := range listDue(t, s, sweep.Records, start.Add(farAhead)) {
		ref, err := s.Indexing.RecordDue(t.Context(), d)
		check.OK(t, err)
		if left--; ref.Past {
			past++
		}
		mark(ref, left)
	}
	if past != 1 || left != 0 {
		t.Errorf("%d past records were due, and %d are left", past, left)
	}
}

// TestDeletedRecordsAreDue checks that a deleted memory leaves a tombstone of its vector, and no record that is due.
func TestDeletedRecordsAreDue(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	m := create(t, s.Memories, longterm.Memory{Content: "x", Source: longterm.Seeded})
	record := onlyDue(t, s, sweep.Records)
	check.OK(t, s.Memories.Delete(t.Context(), alice, m.ID))
	tombstone, err := s.Tombstones.Tombstone(t.Context(), onlyDue(t, s, sweep.Deletions))
	if err != nil || !slices.Equal(tombstone.Vectors, []string{m.ID}) || !tombstone.Emptied {
		t.Errorf("the tombstone is %+v, %v", tombstone, err)
	}
	checkDue(t, s, sweep.Records, 0)
	checkFault(t, errorOf(s.Indexing.RecordDue(t.Context(), record)), fault.NotFound, "the record that is gone")
}

// TestErasuresAreDue checks that an erasure is due when its caller's lease has expired, that the sweep can take it
// over, and that its receipt stays.
func TestErasuresAreDue(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.storeEverything(t, "old")
	sessions := listDue(t, s, sweep.Sessions, start.Add(farAhead))
	checkFault(t, errorOf(s.Erasures.Erasure(t.Context(), alice)), fault.NotFound, "an erasure before there is one")
	if _, held, err := s.Erasures.ResumeErasure(t.Context(), alice, s.clock()); held || err != nil {
		t.Errorf("an erasure that has not begun is resumed: %v, %v", held, err)
	}
	begun, _, err := s.Erasures.BeginErasure(t.Context(), alice, s.clock().Add(time.Second))
	check.OK(t, err)
	for _, d := range sessions {
		checkFault(t, errorOf(s.Summaries.SessionDue(t.Context(), d)), fault.NotFound,
			"a session of the erased user is due")
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
	check.Same(t, none, s.visible(t), "visible afterwards")
	checkDue(t, s, sweep.Sessions, 0)
}
