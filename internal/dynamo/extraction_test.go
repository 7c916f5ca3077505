package dynamo_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/chat"
	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/extraction"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/testing/check"
)

func (s *fixture) lease(owner string) extraction.Lease {
	return extraction.Lease{Owner: owner, Until: s.clock().Add(time.Minute)}
}

// leased takes the lease for a session.
func (s *fixture) leased(t *testing.T, owner string, session conversation.Session) extraction.Lease {
	t.Helper()
	l := s.lease(owner)
	if held, err := s.Extraction.LeaseExtraction(t.Context(), alice, session, l); !held || err != nil {
		t.Fatalf("%s has the lease: %v, %v", owner, held, err)
	}
	return l
}

func (s *fixture) known(t *testing.T, session conversation.Session) extraction.Known {
	t.Helper()
	known, err := s.Extraction.Known(t.Context(), alice, session.Generation, false)
	check.OK(t, err)
	return known
}

var ids = []byte("0123456789")

// newFact returns a memory as extraction makes it, of a time.
func newFact(content string, at time.Time) longterm.Memory {
	return longterm.Memory{
		ID: longterm.NewMemoryID(at, repeated(content)), Type: longterm.ProfileMemory, Content: content,
		Source: longterm.Extracted, Confidence: 0.9, Rated: true, MessageIDs: []string{"m"}, CreatedAt: at, UpdatedAt: at,
		Model: "m", PromptVersion: "p",
	}
}

// repeated is a source of ids that depends on a text.
type repeated string

func (r repeated) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ids[i%len(ids)]
		if i < len(r) {
			p[i] = r[len(r)-1-i]
		}
	}
	return len(p), nil
}

// extract stores many new records, as the extraction from a session of its own does. Each batch is one write.
func (s *fixture) extract(t *testing.T, memories []longterm.Memory, todos []longterm.Todo) {
	t.Helper()
	const most = 40 // with what is beside them, they fit in a transaction
	session, _ := newSession(t, s, coach, "extracted", numbered("m", 20)...)
	b := extraction.Batch{Lease: s.leased(t, "w", session)}
	for len(memories)+len(todos) > 0 {
		n := min(len(memories), most)
		b.Memories.New, memories = memories[:n], memories[n:]
		n = min(len(todos), most-n)
		b.Todos.New, todos = todos[:n], todos[n:]
		b.Through.Seq++
		check.Got(s.Extraction.SaveExtraction(t.Context(), alice, session, b))(t)
		session = readSession(t, s, session.ID)
	}
}

func TestLeaseExtraction(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	session, _ := newSession(t, s, coach, "a", "1")
	take := func(owner string, want bool) {
		t.Helper()
		held, err := s.Extraction.LeaseExtraction(t.Context(), alice, session, s.lease(owner))
		if held != want || err != nil {
			t.Errorf("%s has the lease: %v, %v, want %v", owner, held, err, want)
		}
	}
	release := func(owner string) {
		t.Helper()
		check.OK(t, s.Extraction.ReleaseExtraction(t.Context(), alice, s.lease(owner)))
	}
	take("a", true)
	take("b", false)
	release("b")
	take("b", false)
	release("a")
	release("a")
	take("b", true)
	s.advance(time.Minute)
	take("c", true)
	readForMemories(t, s, "a")
	checkFault(t, errorOf(s.Extraction.LeaseExtraction(t.Context(), alice, session, s.lease("c"))), fault.Conflict,
		"the lease for a session that is read meanwhile")
}

// TestSaveExtraction stores new and changed records, and reads all of them back.
func TestSaveExtraction(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	session, _ := newSession(t, s, coach, "a", "1", "2", "3")
	old := create(t, s.Memories, newFact("old", start.Add(-time.Hour)))
	todo := create(t, s.Todos, longterm.Todo{Content: "call", CoachID: "c1", Status: longterm.Pending})
	b := extraction.Batch{
		Lease: s.leased(t, "w", session), Through: conversation.Watermark{Seq: 2, At: session.LastMessageAt},
		Known: s.known(t, session),
	}
	if len(b.Known.Memories) != 1 || len(b.Known.Todos) != 1 || b.Known.Versions[old.ID] != 1 {
		t.Fatalf("known is %+v", b.Known)
	}
	fact := newFact("new", start)
	old.ValidUntil, old.SupersededBy = start.AddDate(-1, 0, 0), fact.ID // no prompt tells that any more
	todo.Status, todo.CompletedAt = longterm.TodoCompleted, start
	opened := longterm.Todo{
		ID: longterm.NewTodoID(start, repeated("o")), CoachID: "c1", Content: "write", Status: longterm.Pending,
		CreatedAt: start, UpdatedAt: start, MessageIDs: []string{"m"}, Model: "m", PromptVersion: "p",
	}
	b.Memories = extraction.Changes[longterm.Memory]{
		New: []longterm.Memory{fact}, Changed: []longterm.Memory{old},
	}
	b.Todos = extraction.Changes[longterm.Todo]{New: []longterm.Todo{opened}, Changed: []longterm.Todo{todo}}
	saved := func() error {
		forgotten, err := s.Extraction.SaveExtraction(t.Context(), alice, session, b)
		if len(forgotten) > 0 {
			t.Errorf("forgotten are %v", forgotten)
		}
		return err
	}
	check.OK(t, saved())
	session = readSession(t, s, "a")
	if session.Extracted != b.Through {
		t.Errorf("the session is read through %+v", session.Extracted)
	}
	for _, want := range []longterm.Memory{fact, old} {
		got, err := s.Memories.Get(t.Context(), alice, want.ID)
		check.OK(t, err)
		check.Same(t, want, got, "memory %s", want.ID)
	}
	for _, want := range []longterm.Todo{opened, todo} {
		got, err := s.Todos.Get(t.Context(), alice, want.ID)
		check.OK(t, err)
		check.Same(t, want, got, "todo %s", want.ID)
	}
	if live := s.known(t, session); len(live.Memories) != 1 || live.Memories[0].ID != fact.ID {
		t.Errorf("live memories are %+v", live.Memories)
	}
	if err := saved(); !fault.Is(err, fault.NotFound) && !fault.Is(err, fault.Conflict) {
		t.Errorf("the same batch again: %v", err)
	}
	b.Through.Seq, b.Last, b.Known = 3, true, s.known(t, session)
	b.Memories, b.Todos = extraction.Changes[longterm.Memory]{}, extraction.Changes[longterm.Todo]{}
	check.OK(t, saved())
	newSession(t, s, coach, "b", "1")
	s.leased(t, "another", readSession(t, s, "b")) // the last batch has given the lease back
}

// TestLateExtractions checks the conditions of a batch: nothing is stored of a worker that comes late.
func TestLateExtractions(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	session, messages := newSession(t, s, coach, "a", "1", "2")
	fact := newFact("fact", start)
	known := create(t, s.Memories, newFact("known", start))
	b := extraction.Batch{
		Lease: s.leased(t, "w", session), Through: conversation.Watermark{Seq: 2}, Known: s.known(t, session),
		Memories: extraction.Changes[longterm.Memory]{New: []longterm.Memory{fact}, Changed: []longterm.Memory{known}},
	}
	save := func(want error, what string) {
		t.Helper()
		_, err := s.Extraction.SaveExtraction(t.Context(), alice, session, b)
		if !errors.Is(err, want) && !fault.Is(err, fault.CodeOf(want)) || err == nil {
			t.Errorf("%s: %v, want %v", what, err, want)
		}
		checkFault(t, errorOf(s.Memories.Get(t.Context(), alice, fact.ID)), fault.NotFound, "%s: the fact is stored",
			what)
	}
	conflict := fault.New(fault.Conflict, "")
	pin := func(m *longterm.Memory) error { m.Pinned = true; return nil }
	check.Got(s.Memories.Update(t.Context(), alice, known.ID, pin))(t)
	save(conflict, "a known record that has changed")
	b.Known = s.known(t, session)
	check.Got(s.Preferences.Put(t.Context(), alice, longterm.Preferences{CrossContext: true}))(t)
	save(conflict, "a user who wants no memories")
	check.Got(s.Preferences.Put(t.Context(), alice, longterm.DefaultPreferences()))(t)
	check.Got(s.Deletion.DeleteMessage(t.Context(), alice, messages[0], nil, start))(t)
	save(conflict, "a session that has lost a message")
	session = readSession(t, s, "a")
	s.advance(time.Minute)
	s.leased(t, "another", session)
	save(extraction.ErrLeaseLost, "a worker that has lost the lease")
	b.Lease.Owner = "another"
	check.Got(s.Deletion.DeleteSession(t.Context(), alice, "a", start))(t)
	save(fault.Missing(""), "a session that is gone")
}

// TestForgottenRecords checks that what the user has deleted does not come back, and that what was deleted with its
// message may.
func TestForgottenRecords(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	session, _ := newSession(t, s, coach, "a", "1")
	forget := func(content string, memories longterm.Collection[longterm.Memory]) {
		t.Helper()
		check.OK(t, memories.Delete(t.Context(), alice, create(t, s.Memories, newFact(content, start)).ID))
	}
	forget("Is allergic to nuts.", s.Memories)
	forget("Lives in Porto.", s.DrawnMemories)
	todo := create(t, s.Todos, longterm.Todo{Content: "Call", CoachID: "c1"})
	check.OK(t, s.Todos.Delete(t.Context(), alice, todo.ID))
	again, todo := newFact("is  allergic to NUTS", start), longterm.Todo{
		ID:      longterm.NewTodoID(start, repeated("x")),
		Content: "call", CoachID: "c1", Status: longterm.Pending, CreatedAt: start,
	}
	b := extraction.Batch{
		Lease: s.leased(t, "w", session), Last: true, Through: conversation.Watermark{Seq: 1},
		Memories: extraction.Changes[longterm.Memory]{New: []longterm.Memory{again, newFact("Lives in Porto.", start)}},
		Todos:    extraction.Changes[longterm.Todo]{New: []longterm.Todo{todo}},
	}
	forgotten, err := s.Extraction.SaveExtraction(t.Context(), alice, session, b)
	slices.Sort(forgotten)
	check.OK(t, err)
	check.Same(t, []string{again.ID, todo.ID}, forgotten, "forgotten")
	b.Memories.New, b.Todos.New = b.Memories.New[1:], nil
	if forgotten, err := s.Extraction.SaveExtraction(t.Context(), alice, session, b); len(forgotten) > 0 || err != nil {
		t.Errorf("forgotten are %v, %v", forgotten, err)
	}
}

// TestForgottenOnce has extraction and the chat read the same message that asks to forget a memory. Who comes second
// counts the memory, too, so that the user hears that it is forgotten.
func TestForgottenOnce(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	session, messages := newSession(t, s, coach, "a", "1")
	fact, asks := create(t, s.Memories, newFact("Is allergic to nuts.", start)), messages[0].ID
	fact.MessageIDs = append(fact.MessageIDs, asks)
	known, err := s.Extraction.Known(t.Context(), alice, session.Generation, false)
	check.OK(t, err)
	_, err = s.Extraction.SaveExtraction(t.Context(), alice, session, extraction.Batch{
		Lease: s.leased(t, "w", session), Last: true, Through: conversation.Watermark{Seq: 1},
		Known: known, Forgotten: []longterm.Memory{fact},
	})
	check.OK(t, err)
	for id, want := range map[string]int{asks: 1, "another message": 0} {
		n, err := s.Extraction.(chat.Forgetter).Forget(t.Context(), alice, id,
			func(valid []longterm.Memory) []longterm.Memory { return valid })
		check.OK(t, err)
		check.Same(t, want, n, "forgotten by %s", id)
	}
}

// TestExtractedMemoriesRoom fills the live memories, and stores more: the oldest extracted ones that are not pinned
// make room.
func TestExtractedMemoriesRoom(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	session, _ := newSession(t, s, coach, "a", numbered("m", 40)...)
	const each, most = 8, 200
	n := 0
	for batch := range most/each + 1 {
		b := extraction.Batch{
			Lease: s.lease("w"), Through: conversation.Watermark{Seq: batch + 1}, Known: s.known(t, session),
		}
		if batch == 0 {
			s.leased(t, "w", session)
		}
		for range each {
			m := newFact(fmt.Sprint("fact ", n), start.Add(time.Duration(n)*time.Second))
			m.Pinned = n == 0
			b.Memories.New = append(b.Memories.New, m)
			n++
		}
		if forgotten, err := s.Extraction.SaveExtraction(t.Context(), alice, session, b); err != nil || len(forgotten) > 0 {
			t.Fatal(forgotten, err)
		}
		session = readSession(t, s, "a")
	}
	live := s.known(t, session).Memories
	if len(live) != most || live[0].Content != "fact 0" || live[1].Content != "fact 9" {
		t.Errorf("%d memories are live, the first are %q and %q", len(live), live[0].Content, live[1].Content)
	}
	list := func(p conversation.Page) ([]longterm.Memory, conversation.Position, error) {
		return s.Memories.List(t.Context(), alice, p)
	}
	all := allPages(t, conversation.Page{Limit: 200}, list)
	if len(all) != n {
		t.Errorf("%d of %d memories are stored", len(all), n)
	}
}

func TestSkipExtraction(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	session, _ := newSession(t, s, coach, "a", "1", "2")
	if !session.NeedsExtraction() {
		t.Fatal("messages of the user need no extraction")
	}
	for range 2 {
		check.OK(t, s.Extraction.SkipExtraction(t.Context(), alice, session))
	}
	want := conversation.Watermark{Seq: 2, At: session.LastMessageAt}
	if got := readSession(t, s, "a"); got.NeedsExtraction() || got.Extracted != want {
		t.Errorf("the session is read through %+v", got.Extracted)
	}
}

// TestExtractionAfterErasure checks that a worker of before an erasure stores nothing.
func TestExtractionAfterErasure(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	session, _ := newSession(t, s, coach, "a", "1")
	b := extraction.Batch{
		Lease: s.leased(t, "w", session), Last: true, Through: conversation.Watermark{Seq: 1},
		Memories: extraction.Changes[longterm.Memory]{New: []longterm.Memory{newFact("fact", start)}},
	}
	check.OK(t, errorOf3(s.Erasures.BeginErasure(t.Context(), alice, s.clock().Add(time.Second))))
	if _, err := s.Extraction.SaveExtraction(t.Context(), alice, session, b); err == nil {
		t.Error("a batch of before the erasure is stored")
	}
	s.advance(time.Minute)
	checkFault(t, errorOf(s.Extraction.LeaseExtraction(t.Context(), alice, session, s.lease("x"))), fault.Conflict,
		"a lease of before the erasure")
	list, _, err := s.Memories.List(t.Context(), alice, conversation.Page{Limit: 10})
	if len(list) > 0 || err != nil {
		t.Errorf("memories are %v, %v", list, err)
	}
}
