package dynamo_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/document"
	"github.com/throughline/throughline/internal/erasure"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/prompt"
	"github.com/throughline/throughline/internal/sweep"
	"github.com/throughline/throughline/internal/testing/check"
)

func promptIDs(prompts []prompt.StoredPrompt) []string {
	return idsOf(prompts, func(p prompt.StoredPrompt) string { return p.ID })
}

// storeEverything stores a record of every kind for alice, and puts name in each.
func (s *fixture) storeEverything(t *testing.T, name string) {
	t.Helper()
	ctx := t.Context()
	session, messages := newSession(t, s, coach, name, name+" 1", name+" 2")
	saveSummary(t, s, session)
	s.extractMemory(t, messages...)
	s.savePrompt(t, name)
	active := longterm.Goal{Title: name, Status: longterm.GoalActive, CreatedAt: s.clock()}
	create(t, s.Goals, active)
	active.Status = longterm.GoalPaused
	create(t, s.Goals, active)
	create(t, s.CheckIns, longterm.CheckIn{Note: name, Timestamp: s.clock()})
	s.put(t, alice, name, name, `{"name":"`+name+`"}`)
	create(t, s.Todos, longterm.Todo{Content: name, Status: longterm.Pending, CreatedAt: s.clock()})
	check.Got(s.Profiles.Put(ctx, alice, longterm.Profile{Name: name}))(t)
	check.Got(s.Seeds.Put(ctx, alice, longterm.Seed{Content: name}))(t)
	check.Got(s.UserSummaries.Put(ctx, alice, longterm.UserSummary{Wins: []string{name}}))(t)
	check.Got(s.Preferences.Put(ctx, alice, longterm.Preferences{Timezone: "Asia/Kolkata"}))(t)
	check.Got(s.Coaches.PutCoach(ctx, alice, longterm.Coach{ID: name, Name: name}))(t)
}

// visible counts the records of alice that each read returns. The reads include those that an export makes.
func (s *fixture) visible(t *testing.T) map[string]int {
	t.Helper()
	ctx, page, got := t.Context(), conversation.Page{Limit: 50, Descending: true}, map[string]int{}
	some := func(name string, n int, err error) {
		t.Helper()
		if err != nil && !fault.Is(err, fault.NotFound) {
			t.Fatalf("%s: %v", name, err)
		}
		if n > 0 {
			got[name] = n
		}
	}
	messages, _, err := s.Messages.Timeline(ctx, alice, conversation.Range{}, page)
	some("timeline", len(messages), err)
	sessions, _, err := s.Sessions.Sessions(ctx, alice, conversation.SessionFilter{}, page)
	some("sessions", len(sessions), err)
	recent, _, err := s.Recall.RecentSessions(ctx, alice, conversation.RecentSessions{Since: start.Add(-farAhead)}, page)
	some("recent sessions", len(recent), err)
	for _, id := range []string{"old", "new"} {
		messages, _, err := s.Messages.Messages(ctx, alice, id, page)
		some("messages of "+id, len(messages), err)
	}
	prompts, _, err := s.Prompts.StoredPrompts(ctx, alice, "", page)
	some("prompts", len(prompts), err)
	coaches, _, err := s.Coaches.Coaches(ctx, alice, page)
	some("coaches", len(coaches), err)
	goals, _, err := s.Goals.List(ctx, alice, page)
	some("goals", len(goals), err)
	checkIns, _, err := s.CheckIns.List(ctx, alice, page)
	some("check-ins", len(checkIns), err)
	memories, _, err := s.Memories.List(ctx, alice, page)
	some("memories", len(memories), err)
	todos, _, err := s.Todos.List(ctx, alice, page)
	some("todos", len(todos), err)
	documents, _, err := s.Documents.Documents(ctx, alice, nil, nil, page)
	some("documents", len(documents), err)
	namespaces, _, err := s.Documents.Namespaces(ctx, alice, document.NamespaceQuery{}, page)
	some("namespaces", len(namespaces), err)
	s.visibleSingletons(t, some)
	return got
}

func (s *fixture) visibleSingletons(t *testing.T, some func(string, int, error)) {
	t.Helper()
	profile, err := s.Profiles.Get(t.Context(), alice)
	some("profile", len(profile.Name), err)
	seed, err := s.Seeds.Get(t.Context(), alice)
	some("seed", len(seed.Content), err)
	about, err := s.UserSummaries.Get(t.Context(), alice)
	some("user summary", len(about.Wins), err)
	snap, err := s.PromptSource.LongTerm(t.Context(), alice)
	some("snapshot", len(snap.Coaches)+len(snap.Goals)+len(snap.Memories)+len(snap.Todos), err)
	if snap.Profile != nil || snap.Seed != nil || snap.UserSummary != nil || snap.LatestCheckIn != nil {
		some("snapshot's single records", 1, nil)
	}
	access, err := s.Recall.Access(t.Context(), alice)
	some("preferences", len(access.Preferences.Timezone)-len("UTC"), err)
}

var none = map[string]int{}

// TestErasureResumes checks that one caller at a time holds the erasure of a user, and that another caller continues it
// after the lease has expired.
func TestErasureResumes(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.storeEverything(t, "old")
	until := s.clock().Add(time.Minute)
	p, held, err := s.Erasures.BeginErasure(t.Context(), alice, until)
	if err != nil || !held || p.Done || p.Generation != 1 || !p.ErasedAt.Equal(s.clock()) {
		t.Fatalf("begin: %+v, held %v, %v", p, held, err)
	}
	p.Counts, p.Vectors = map[string]int{"message": 7}, 3
	check.OK(t, s.Erasures.SaveErasure(t.Context(), alice, p, start))
	got, held, err := s.Erasures.BeginErasure(t.Context(), alice, until)
	if err != nil || !held || cmp.Diff(p, got) != "" {
		t.Errorf("continue: %+v, held %v, %v", got, held, err)
	}
	got, held, err = s.Erasures.BeginErasure(t.Context(), alice, until)
	if err != nil || held || cmp.Diff(p, got) != "" {
		t.Errorf("begin while another caller holds the erasure: %+v, held %v, %v", got, held, err)
	}
	s.advance(time.Hour) // the lease has expired
	if out := s.erase(t, 1); out.Counts["message"] != 9 || out.Vectors != 3 {
		t.Errorf("to the end: %+v", out)
	}
	checkFault(t, s.Erasures.SaveErasure(t.Context(), alice, erasedBefore(p), start), fault.Conflict,
		"save another erasure")
}

// erase erases alice to the end, which makes the generation that.
func (s *fixture) erase(t *testing.T, generation int64) erasure.Receipt {
	t.Helper()
	out, err := s.sweeper().Erase(t.Context(), alice, s.clock().Add(time.Minute))
	if err != nil || !out.Done || out.Generation != generation {
		t.Fatalf("erase: %+v, %v", out, err)
	}
	return out
}

func erasedBefore(p erasure.Progress) erasure.Progress {
	p.Generation--
	return p
}

// TestErasedRecordsAreHidden begins an erasure and deletes nothing. No read may return the old records. Records
// that the user stores from then on are read, and remain after the erasure.
func TestErasedRecordsAreHidden(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.storeEverything(t, "old")
	all := s.visible(t)
	if _, held, err := s.Erasures.BeginErasure(t.Context(), alice, s.clock()); err != nil || !held {
		t.Fatalf("held %v, %v", held, err)
	}
	check.Same(t, none, s.visible(t), "visible of the erased records")
	s.advance(time.Minute)
	s.storeEverything(t, "new")
	want := maps.Clone(all)
	want["messages of new"] = want["messages of old"]
	delete(want, "messages of old")
	check.Same(t, want, s.visible(t), "visible of the new records")
	counts := s.erase(t, 1).Counts
	for kind, n := range map[string]int{"goal": 2, "check_in": 1, "todo": 1, "coach": 1, "document": 1, "summary": 1} {
		check.Equal(t, n, counts[kind], "erased of the kind %s", kind)
	}
	check.Same(t, want, s.visible(t), "visible after the erasure")
}

// TestTimelineDuringErasure reads pages that begin between messages of the erased generation.
func TestTimelineDuringErasure(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	newSession(t, s, coach, "old", numbered("m", 20)...)
	check.OK(t, errorOf3(s.Erasures.BeginErasure(t.Context(), alice, s.clock())))
	s.advance(time.Second)
	newSession(t, s, coach, "new", "a", "b", "c")
	for _, descending := range []bool{false, true} {
		var got []string
		for _, m := range timeline(t, s, conversation.Range{}, conversation.Page{Limit: 2, Descending: descending}) {
			got = append(got, m.Content)
		}
		if want := map[bool][]string{false: {"a", "b", "c"}, true: {"c", "b", "a"}}[descending]; !slices.Equal(got, want) {
			t.Errorf("descending %v: %q, want %q", descending, got, want)
		}
	}
}

// TestSameIDDuringErasure creates a session with the id of one that is being erased.
func TestSameIDDuringErasure(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	newSession(t, s, coach, "a", "1", "2")
	check.OK(t, errorOf3(s.Erasures.BeginErasure(t.Context(), alice, s.clock())))
	s.advance(time.Minute)
	newSession(t, s, coach, "a", "new")
	check := func() {
		t.Helper()
		check.Same(t, []string{"a"}, listIDs(t, s, conversation.SessionFilter{}, 10), "sessions")
		checkSeqs(t, s, "a", 1)
	}
	check()
	s.erase(t, 1)
	check()
}

// TestLateWritesAreRejected makes the writes of workers that began before the erasure, both while it runs and after it
// has ended.
func TestLateWritesAreRejected(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	session, messages := newSession(t, s, coach, "a", "1")
	m := s.extractMemory(t, messages...)
	saved := s.savePrompt(t, "a")
	p, _, err := s.Erasures.BeginErasure(t.Context(), alice, s.clock())
	check.OK(t, err)
	checkRefused := func(when string) {
		t.Helper()
		checkFault(t, s.Prompts.SavePrompt(t.Context(), alice, saved), fault.Conflict, "%s: save a prompt", when)
		_, err := s.Memories.Update(t.Context(), alice, m, func(m *longterm.Memory) error { m.Pinned = true; return nil })
		checkFault(t, err, fault.NotFound, "%s: change a memory", when)
	}
	checkRefused("while it runs")
	s.advance(time.Minute)
	s.erase(t, p.Generation)
	checkRefused("afterwards")
	late := newSummary(session, 1, conversation.ByModel, true)
	indexed := conversation.Watermark{Seq: 1}
	for op, err := range map[string]error{
		"save a summary": s.Summaries.SaveSummary(t.Context(), alice, session, late),
		"mark indexed":   s.Indexing.MarkIndexed(t.Context(), alice, session, indexed),
		"append":         errorOf(s.Messages.Append(t.Context(), alice, newAppend("a", "late"))),
		"delete":         errorOf(s.Deletion.DeleteSession(t.Context(), alice, "a", start)),
	} {
		checkFault(t, err, fault.NotFound, "%s", op)
	}
	if settled, err := s.Summaries.Settle(t.Context(), alice, session); settled || err != nil {
		t.Errorf("settle: %v, %v", settled, err)
	}
	if _, ok, err := s.Summaries.ClaimSession(t.Context(), alice, session, s.clock()); ok || err != nil {
		t.Errorf("claim: %v, %v", ok, err)
	}
	check.Same(t, none, s.visible(t), "visible after the late writes")
	checkDue(t, s, sweep.Sessions, 0)
}

// TestKeysAreFreeAfterErasure checks that a user who comes back may use the same ids and idempotency keys, while the
// erasure runs and after it has ended.
func TestKeysAreFreeAfterErasure(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	write := func() {
		t.Helper()
		in := conversation.NewSession{ID: "a", Context: coach, CoachID: "c"}
		created, err := s.Sessions.CreateSession(t.Context(), alice, in, idempotencyKey("sessions", "k"))
		if err != nil || created.Replayed {
			t.Fatalf("create: replayed %v, %v", created.Replayed, err)
		}
		one, two := newAppend("a", "1"), newAppend("a", "2")
		one.Idempotency, two.Idempotency = idempotencyKey("messages", "k"), idempotencyKey("chat", "k")
		a, err := s.Messages.Append(t.Context(), alice, one)
		if err != nil || a.Replayed || a.Messages[0].Seq != 1 {
			t.Fatalf("append: replayed %v, %v", a.Replayed, err)
		}
		turn, err := s.Turns.BeginTurn(t.Context(), alice, two, time.Minute)
		if err != nil || turn.Answer != nil {
			t.Fatalf("begin turn: %+v, %v", turn, err)
		}
		if m, err := s.Turns.FinishTurn(t.Context(), alice, turn, userMessages("3")[0]); err != nil || m.Seq != 3 {
			t.Fatalf("finish turn: %+v, %v", m, err)
		}
		g := longterm.Goal{Title: "x", CreatedAt: start}
		_, replayed, err := s.Goals.Create(t.Context(), alice, g, idempotencyKey("goals", "k"))
		if err != nil || replayed {
			t.Fatalf("create a goal: replayed %v, %v", replayed, err)
		}
	}
	write()
	check.OK(t, errorOf3(s.Erasures.BeginErasure(t.Context(), alice, s.clock())))
	s.advance(time.Minute)
	write()
	s.erase(t, 1) // the one that has begun
	s.erase(t, 2)
	write()
	checkSeqs(t, s, "a", 1, 2, 3)
}
