package dynamo_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/prompt"
	"github.com/throughline/throughline/internal/testing/check"
)

func TestOpen(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	want, _ := newSession(t, s, "program_designer", "a", "1")
	p := longterm.Preferences{CrossContext: true, Timezone: "Pacific/Auckland"}
	check.Got(s.Preferences.Put(t.Context(), alice, p))(t)
	session, access, err := s.PromptSource.Open(t.Context(), alice, "program_designer", "a")
	check.OK(t, err)
	check.Same(t, want, session, "session")
	wantAccess := longterm.Access{Preferences: p, NotMigrated: s.adopted != nil}
	check.Same(t, wantAccess, access, "access")
	for _, at := range [][2]string{{"program_designer", "b"}, {coach, "a"}, {"none", "a"}} {
		checkFault(t, errorOf3(s.PromptSource.Open(t.Context(), alice, at[0], at[1])), fault.NotFound, "open %v", at)
		checkFault(t, errorOf(s.Summaries.SessionIn(t.Context(), alice, at[0], at[1])), fault.NotFound, "session in %v",
			at)
	}
	checkFault(t, errorOf3(s.PromptSource.Open(t.Context(), bob, "program_designer", "a")), fault.NotFound,
		"open another user's")
}

func TestRecentSessions(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	for i, age := range []time.Duration{time.Minute, 3 * time.Minute, 2 * time.Minute, 49 * time.Hour} {
		id := fmt.Sprint("s", i)
		createSession(t, s, alice, coach, id)
		m := userMessages("x")
		m[0].Timestamp = start.Add(-age)
		appendMessages(t, s, alice, id, m...)
	}
	createSession(t, s, alice, coach, "silent")
	sum := saveSummary(t, s, readSession(t, s, "s2"))
	createSession(t, s, alice, "workout_log", "log")
	m := userMessages("x")
	m[0].Timestamp = start.Add(-150 * time.Second)
	appendMessages(t, s, alice, "log", m...)
	page := func(recent conversation.RecentSessions, limit int, after conversation.Position) (
		[]string, conversation.Position,
	) {
		t.Helper()
		recent.Since = start.Add(-48 * time.Hour)
		got, next, err := s.Recall.RecentSessions(t.Context(), alice, recent, conversation.Page{Limit: limit, After: after})
		check.OK(t, err)
		for _, x := range got {
			if x.ID == "s2" && (x.Summary == nil || x.Summary.Text != sum.Text) {
				t.Errorf("the summary of %s reads %+v", x.ID, x.Summary)
			}
		}
		return idsOf(got, sessionID), next
	}
	all := []string{"s0", "s2", "log", "s1"}
	if got, next := page(conversation.RecentSessions{}, 10, ""); cmp.Diff(all, got) != "" || next != "" {
		t.Errorf("recent are %v, then %q, want %v", got, next, all)
	}
	of := conversation.RecentSessions{Contexts: []string{"program_designer", coach}}
	var paged []string
	for after := conversation.Position(""); ; {
		got, next := page(of, 1, after)
		if paged = append(paged, got...); len(got) > 1 || next == "" {
			break
		}
		after = next
	}
	if want := []string{"s0", "s1", "s2"}; cmp.Diff(want, slices.Sorted(slices.Values(paged))) != "" {
		t.Errorf("page by page %v, want %v", paged, want)
	}
	if got, next := page(conversation.RecentSessions{Contexts: []string{"workout_log"}}, 1, ""); next != "" ||
		cmp.Diff([]string{"log"}, got) != "" {
		t.Errorf("recent workouts are %v, then %q", got, next)
	}
	_, _, err := s.Recall.RecentSessions(t.Context(), alice, of, conversation.Page{Limit: 1, After: "x"})
	checkFault(t, err, fault.Invalid, "a broken position")
}

// TestCoachSessions lists a coach's sessions beside those of another coach, of an unwanted context, and without
// messages.
func TestCoachSessions(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	session := func(context, coachID, id string, ago time.Duration) {
		t.Helper()
		in := conversation.NewSession{ID: id, Context: context, CoachID: coachID}
		check.Got(s.Sessions.CreateSession(t.Context(), alice, in, noKey))(t)
		if ago > 0 {
			m := userMessages("x")
			m[0].Timestamp = start.Add(-ago)
			appendMessages(t, s, alice, id, m...)
		}
	}
	var want []string
	for i := range 5 {
		want = append(want, fmt.Sprint("wanted", i))
		session(coach, "c1", want[i], time.Duration(i+1)*24*time.Hour)
	}
	for i := range 22 {
		session(coach, "c2", fmt.Sprint("other", i), time.Minute)
		session("program_designer", "c1", fmt.Sprint("unshared", i), time.Minute)
		session(coach, "c1", fmt.Sprint("silent", i), 0)
	}
	session(coach, "c1", "here", time.Second)
	of := conversation.CoachSessions{
		CoachID: "c1", Except: "here",
		Allows: func(_ context.Context, context string) (bool, error) { return context == coach, nil },
	}
	for user, want := range map[conversation.UserID][]string{alice: want, bob: {}} {
		for _, limit := range []int{1, 2, 4, 5, 6} {
			list := func(p conversation.Page) ([]conversation.Session, conversation.Position, error) {
				return s.PromptSource.CoachSessions(t.Context(), user, of, p)
			}
			ids := idsOf(allPages(t, conversation.Page{Limit: limit}, list), sessionID)
			check.Same(t, want, ids, "%s, in pages of %d", user, limit)
		}
	}
	gone, _, err := s.Messages.Messages(t.Context(), alice, "wanted0", conversation.Page{Limit: 1})
	check.OK(t, err)
	check.OK(t, s.sweeper().DeleteMessage(t.Context(), alice, "wanted0", gone[0].ID))
	all, next, err := s.PromptSource.CoachSessions(t.Context(), alice, of, conversation.Page{Limit: 10})
	if diff := cmp.Diff(want[1:], idsOf(all, sessionID)); diff != "" || next != "" || err != nil {
		t.Errorf("without the session that has no messages any more (-want +got), next %q, %v:\n%s", next, err, diff)
	}
	of.Allows = func(context.Context, string) (bool, error) { return false, fault.New(fault.Unavailable, "down") }
	if _, _, err := s.PromptSource.CoachSessions(t.Context(), alice, of, conversation.Page{Limit: 9}); err == nil {
		t.Error("an error of Allows is lost")
	}
}

func sessionID(s conversation.Session) string { return s.ID }

// TestMessagesBefore reads a session backwards in steps.
func TestMessagesBefore(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	session, messages := newSession(t, s, coach, "a", numbered("m", 9)...)
	err := s.Deletion.DeleteMessages(t.Context(), alice, messages[4:5])
	if s.adopted != nil && s.adopted.HasCopies() { // the array has the message still
		_, err = s.Deletion.DeleteMessage(t.Context(), alice, messages[4], nil, start)
	}
	check.OK(t, err)
	session = readSession(t, s, session.ID)
	var before conversation.Message
	var got []int
	for {
		read, err := s.PromptSource.MessagesBefore(t.Context(), alice, session, before, 3)
		check.OK(t, err)
		if len(read) == 0 {
			break
		}
		for i := range read {
			got = append(got, read[len(read)-1-i].Seq)
		}
		before = read[0]
	}
	check.Same(t, []int{9, 8, 7, 6, 4, 3, 2, 1}, got, "read backwards")
}

// TestMessagesAfter reads ranges of a session whose messages are not evenly spread in time.
func TestMessagesAfter(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	const n = 500
	createSession(t, s, alice, coach, "a")
	at := start.Add(-1000 * time.Hour)
	times := []time.Time{{}}
	for i := 0; i < n; i += 50 {
		messages := userMessages(numbered("m", 50)...)
		for j := range messages {
			at = at.Add(time.Duration((i+j)*(i+j)) * time.Millisecond)
			messages[j].Timestamp = at
			times = append(times, at)
		}
		appendMessages(t, s, alice, "a", messages...)
	}
	session := readSession(t, s, "a")
	for _, after := range []int{0, 1, 99, 250, 350, 399, 490, 499, 500, 2000} {
		for _, limit := range []int{1, 20, 100} {
			want := max(0, min(limit, n-after))
			for _, at := range []time.Time{{}, times[min(after, n)]} {
				watermark := conversation.Watermark{Seq: after, At: at}
				got, err := s.Summaries.MessagesAfter(t.Context(), alice, session, watermark, limit)
				check.OK(t, err)
				if len(got) != want || want > 0 && (got[0].Seq != after+1 || got[want-1].Seq != after+want) {
					t.Errorf("after %d at %v, at most %d: %d messages", after, at, limit, len(got))
				}
			}
		}
	}
	tail, err := s.PromptSource.MessagesBefore(t.Context(), alice, session, conversation.Message{}, 10)
	if err != nil || len(tail) != 10 || tail[0].Seq != n-9 || tail[9].Seq != n {
		t.Errorf("tail of %d messages, %v", len(tail), err)
	}
	none, err := s.PromptSource.MessagesBefore(t.Context(), alice, session, conversation.Message{}, 0)
	if err != nil || len(none) != 0 {
		t.Errorf("a tail of length 0: %v, %v", none, err)
	}
}

// TestMessagesAfterADeletedOne goes on after a message that is deleted, where the next one has an earlier time than the
// deleted one had.
func TestMessagesAfterADeletedOne(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	createSession(t, s, alice, coach, "a")
	messages := userMessages("1", "2", "deleted")
	for i := range messages {
		messages[i].Timestamp = start.Add(time.Duration(i-10) * time.Hour)
	}
	appended := appendMessages(t, s, alice, "a", messages...).Messages
	page, cursor, err := s.Messages.Messages(t.Context(), alice, "a", conversation.Page{Limit: 2})
	if err != nil || len(page) != 2 || cursor == "" {
		t.Fatalf("%d messages, cursor %q, %v", len(page), cursor, err)
	}
	for _, m := range appended[1:] {
		check.OK(t, s.sweeper().DeleteMessage(t.Context(), alice, "a", m.ID))
	}
	next := userMessages("4")
	next[0].Timestamp = appended[0].Timestamp.Add(time.Minute)
	appendMessages(t, s, alice, "a", next...)

	deleted := conversation.Watermark{Seq: 3, At: appended[2].Timestamp}
	after, err := s.Summaries.MessagesAfter(t.Context(), alice, readSession(t, s, "a"), deleted, 10)
	if err != nil || len(after) != 1 || after[0].Seq != 4 {
		t.Errorf("after the watermark: %v, %v", after, err)
	}
	page, _, err = s.Messages.Messages(t.Context(), alice, "a", conversation.Page{Limit: 2, After: cursor})
	if err != nil || len(page) != 1 || page[0].Seq != 4 {
		t.Errorf("the next page: %v, %v", page, err)
	}
}

// TestResolve reads the records that vector ids name: messages, summaries, memories and check-ins, and parts of them.
func TestResolve(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	session, messages := newSession(t, s, coach, "a", "hello", "deleted")
	sum := saveSummary(t, s, session)
	memory := func(change func(*longterm.Memory)) string {
		t.Helper()
		m := longterm.Memory{Content: "fact", CreatedAt: start, UpdatedAt: start}
		change(&m)
		stored := create(t, s.Memories, m)
		return stored.ID
	}
	valid := memory(func(*longterm.Memory) {})
	superseded := memory(func(m *longterm.Memory) { m.SupersededBy = valid })
	over := memory(func(m *longterm.Memory) { m.ValidUntil = start })
	slept := longterm.CheckIn{Timestamp: start.Add(-time.Hour), Note: "slept"}
	checkIn := create(t, s.CheckIns, slept)
	check.OK(t, s.Deletion.DeleteMessages(t.Context(), alice, messages[1:]))
	ids := []string{
		superseded, valid + "#2", messages[0].ID, "none", valid, checkIn.ID + "#p1", over, messages[1].ID,
		sum.ID() + "#1", "msg_bob_1_000123456789",
	}
	want := []string{valid + "#2", messages[0].ID, checkIn.ID + "#p1", sum.ID() + "#1"}
	for user, want := range map[conversation.UserID][]string{alice: want, bob: nil} {
		hits, err := s.PromptSource.Resolve(t.Context(), user, 0, ids)
		check.OK(t, err)
		var got []string
		for _, h := range hits {
			got = append(got, h.ID)
		}
		check.Same(t, want, got, "%s resolves", user)
		if len(hits) == 4 && (hits[0].Memory == nil || hits[1].Message == nil ||
			hits[1].Message.Content != "hello" || hits[2].CheckIn == nil || hits[3].Summary == nil) {
			t.Errorf("resolved %+v", hits)
		}
	}
	if hits, err := s.PromptSource.Resolve(t.Context(), alice, 1, ids); err != nil || len(hits) != 0 {
		t.Errorf("of another generation: %v, %v", hits, err)
	}
}

func promptAt(at time.Time, random string) prompt.StoredPrompt {
	return prompt.StoredPrompt{
		ID: fmt.Sprintf("prompt_%d_%s", at.UnixMilli(), random), Recipe: "unified", CreatedAt: at,
		ExpiresAt: at.Truncate(time.Second).Add(farAhead), Manifest: []byte{1, 2, 0, 3},
	}
}

// savePrompt saves a prompt of a session, built now, in the user's generation.
func (s *fixture) savePrompt(t *testing.T, session string) prompt.StoredPrompt {
	t.Helper()
	s.advance(time.Millisecond)
	access, err := s.Recall.Access(t.Context(), alice)
	check.OK(t, err)
	k := promptAt(s.clock(), "r")
	k.SessionID, k.Generation = session, access.Generation
	check.OK(t, s.Prompts.SavePrompt(t.Context(), alice, k))
	return k
}

// listPrompts lists the saved prompts of a session, or of all sessions where session is empty.
func listPrompts(t *testing.T, s *fixture, session string, limit int) []prompt.StoredPrompt {
	t.Helper()
	list := func(p conversation.Page) ([]prompt.StoredPrompt, conversation.Position, error) {
		return s.Prompts.StoredPrompts(t.Context(), alice, session, p)
	}
	return allPages(t, conversation.Page{Limit: limit}, list)
}

func TestSavedPrompts(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	var saved []prompt.StoredPrompt
	for i := range 5 {
		saved = append([]prompt.StoredPrompt{s.savePrompt(t, fmt.Sprint("s", i%2))}, saved...)
	}
	short := saved[4]
	short.Text, short.ExpiresAt = []byte("text"), s.clock().Truncate(time.Second).Add(time.Hour)
	if err := s.Prompts.SavePrompt(t.Context(), alice, short); err != nil { // saving it again replaces it
		t.Fatal(err)
	}
	saved[4] = short
	for _, want := range saved {
		got, err := s.Prompts.StoredPrompt(t.Context(), alice, want.ID)
		check.OK(t, err)
		check.Same(t, want, got, "saved prompt")
	}
	for _, limit := range []int{1, 2, 50} {
		check.Same(t, saved, listPrompts(t, s, "", limit), "listed in pages of %d", limit)
		check.Same(t, []prompt.StoredPrompt{saved[1], saved[3]}, listPrompts(t, s, "s1", limit),
			"of one session in pages of %d", limit)
	}
	s.advance(time.Hour)
	checkFault(t, errorOf(s.Prompts.StoredPrompt(t.Context(), alice, short.ID)), fault.NotFound, "an expired prompt")
	check.Same(t, saved[:4], listPrompts(t, s, "", 50), "listed after one expired")
	checkFault(t, errorOf(s.Prompts.StoredPrompt(t.Context(), bob, saved[0].ID)), fault.NotFound,
		"another user's prompt")
	late := saved[0]
	late.Generation = 1
	checkFault(t, s.Prompts.SavePrompt(t.Context(), alice, late), fault.Conflict, "save a prompt of another generation")
}
