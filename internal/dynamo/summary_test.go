package dynamo_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/conversation/storetest"
	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/dynamo/dynamotest"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/memory"
	"github.com/throughline/throughline/internal/summary"
)

func newSession(t testing.TB, s *dynamo.Store, user conversation.UserID, context, id string, contents ...string) conversation.Session {
	t.Helper()
	if _, err := s.CreateSession(t.Context(), user, conversation.NewSession{ID: id, Context: context, CoachID: "c1"}, noKey); err != nil {
		t.Fatal(err)
	}
	return say(t, s, user, id, contents...)
}

func say(t testing.TB, s *dynamo.Store, user conversation.UserID, id string, contents ...string) conversation.Session {
	t.Helper()
	for _, c := range contents {
		in := conversation.Append{SessionID: id, Messages: []conversation.NewMessage{{Role: conversation.User, Content: c}}}
		if _, err := s.Append(t.Context(), user, in); err != nil {
			t.Fatal(err)
		}
	}
	session, err := s.Session(t.Context(), user, id)
	if err != nil {
		t.Fatal(err)
	}
	return session
}

func summaryOf(s conversation.Session, covered int, kind conversation.SummaryKind, inProgress bool) summary.Summary {
	return summary.Summary{
		RecordType: conversation.ConversationSummary, SubjectID: s.ID, SessionID: s.ID, Context: s.Context, CoachID: s.CoachID,
		Text: fmt.Sprintf("%s of %d", kind, covered), Tokens: 4, Kind: kind, InProgress: inProgress, CoveredThrough: covered,
		OccurredAt: s.LastMessageAt, UpdatedAt: storetest.Now, Fields: map[string]any{"n": 1.0}, Model: "m", PromptVersion: "v1",
	}
}

func TestSaveSummary(t *testing.T) {
	s := dynamotest.New(t, atNow())
	session := newSession(t, s, alice, "coach_conversation", "a", "1", "2", "3")
	const model, extract = conversation.ByModel, conversation.Extractive
	steps := []struct {
		covered    int
		kind       conversation.SummaryKind
		inProgress bool
		want       fault.Code
	}{
		{2, extract, true, ""},
		{2, model, true, ""},
		{2, extract, true, fault.Conflict},
		{2, model, true, fault.Conflict},
		{1, model, false, fault.Conflict},
		{3, extract, true, ""},
		{3, model, true, ""},
		{3, model, false, ""},
		{3, model, false, fault.Conflict},
		{3, model, true, fault.Conflict},
	}
	byModel := 0
	for i, step := range steps {
		sum := summaryOf(session, step.covered, step.kind, step.inProgress)
		err := s.SaveSummary(t.Context(), alice, session, sum)
		if step.want == "" && err != nil || step.want != "" && !fault.Is(err, step.want) {
			t.Fatalf("step %d: %v, want %q", i, err, step.want)
		}
		if err == nil {
			if step.kind == model {
				byModel = step.covered // a stand-in leaves the session due
			}
			checkSummary(t, s, sum, byModel)
		}
	}
	silent := summaryOf(session, 4, model, true)
	silent.Text = ""
	if err := s.SaveSummary(t.Context(), alice, session, silent); err != nil {
		t.Errorf("a watermark without a text: %v", err)
	}
	checkSummary(t, s, summaryOf(session, 3, model, false), 4)
	if got, err := s.Session(t.Context(), alice, "a"); err != nil || got.Version != session.Version {
		t.Errorf("summaries raised the version from %d to %d, %v", session.Version, got.Version, err)
	}
	gone := session
	gone.Generation++
	reborn := session
	reborn.CreatedAt = reborn.CreatedAt.Add(time.Millisecond)
	for name, x := range map[string]conversation.Session{"another generation": gone, "made anew": reborn, "none": {ID: "x", Context: "workout_log"}} {
		if err := s.SaveSummary(t.Context(), alice, x, summaryOf(session, 9, model, false)); !fault.Is(err, fault.NotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// checkSummary reads a summary from the session and from its own record, and the session's watermark.
func checkSummary(t *testing.T, s *dynamo.Store, want summary.Summary, watermark int) {
	t.Helper()
	session, err := s.SessionIn(t.Context(), alice, want.Context, want.SessionID)
	if err != nil {
		t.Fatal(err)
	}
	copied := &conversation.SessionSummary{
		Text: want.Text, Kind: want.Kind, InProgress: want.InProgress, CoveredThrough: want.CoveredThrough, UpdatedAt: want.UpdatedAt,
	}
	if diff := cmp.Diff(copied, session.Summary); diff != "" || session.SummarizedSeq != watermark {
		t.Errorf("the session's copy (-want +got), watermark %d:\n%s", session.SummarizedSeq, diff)
	}
	hits, err := s.Resolve(t.Context(), alice, 0, []string{want.ID() + "#1"})
	if err != nil || len(hits) != 1 || hits[0].Summary == nil {
		t.Fatalf("resolved %v, %v", hits, err)
	}
	if diff := cmp.Diff(want, *hits[0].Summary); diff != "" {
		t.Errorf("the record (-want +got):\n%s", diff)
	}
}

func TestMarkIndexed(t *testing.T) {
	s := dynamotest.New(t, atNow())
	session := newSession(t, s, alice, "workout_log", "a", "1", "2", "3")
	ref := memory.SessionRef{Context: session.Context, SessionID: session.ID}
	mark := func(ref memory.SessionRef, from, through int) fault.Code {
		if err := s.MarkIndexed(t.Context(), alice, ref, from, through); err != nil {
			return fault.CodeOf(err)
		}
		return ""
	}
	old := ref
	old.Generation = 1
	none := ref
	none.SessionID = "none"
	for i, got := range []struct{ got, want fault.Code }{
		{mark(ref, 2, 3), fault.Conflict},
		{mark(ref, 1, 2), ""},
		{mark(ref, 1, 2), fault.Conflict},
		{mark(ref, 3, 3), ""},
		{mark(old, 4, 4), fault.NotFound},
		{mark(none, 1, 1), fault.NotFound},
	} {
		if got.got != got.want {
			t.Errorf("step %d: %q, want %q", i, got.got, got.want)
		}
	}
	if now, err := s.Session(t.Context(), alice, "a"); err != nil || now.IndexedSeq != 3 || now.Version != session.Version {
		t.Errorf("indexed to %d at version %d, %v", now.IndexedSeq, now.Version, err)
	}
}

func TestDue(t *testing.T) {
	clk := newClock()
	s := dynamotest.New(t, clk.option(), dynamo.WithIdle(time.Minute))
	var sessions []conversation.Session
	for i := range 20 {
		clk.advance(time.Second)
		sessions = append(sessions, newSession(t, s, alice, "coach_conversation", fmt.Sprint("s", i), "hi"))
	}
	if due, err := s.DueBefore(t.Context(), storetest.Now.Add(time.Minute), 50); err != nil || len(due) != 0 {
		t.Errorf("due before their time: %v, %v", due, err)
	}
	clk.advance(time.Second)
	say(t, s, alice, "s0", "more") // does not put it off
	due, err := s.DueBefore(t.Context(), storetest.Now.Add(time.Hour), 5)
	if err != nil || len(due) != 5 {
		t.Fatalf("due: %v, %v", due, err)
	}
	for i, d := range due {
		want := summary.Due{User: alice, Context: "coach_conversation", SessionID: sessions[i].ID, DueAt: storetest.Now.Add(time.Minute + time.Duration(i+1)*time.Second)}
		if diff := cmp.Diff(want, d); diff != "" {
			t.Errorf("due %d (-want +got):\n%s", i, diff)
		}
	}
	later := storetest.Now.Add(2 * time.Hour)
	if err := s.Rearm(t.Context(), alice, sessions[0], later); err != nil {
		t.Fatal(err)
	}
	if due, _ = s.DueBefore(t.Context(), storetest.Now.Add(time.Hour), 50); len(due) != 19 {
		t.Errorf("%d due after one was put off", len(due))
	}
	gone := sessions[0]
	gone.ID = "none"
	if err := s.Rearm(t.Context(), alice, gone, later); !fault.Is(err, fault.NotFound) {
		t.Errorf("rearm no session: %v", err)
	}
}

func TestSettleLetsAnAppendWin(t *testing.T) {
	s := dynamotest.New(t, atNow())
	session := newSession(t, s, alice, "coach_conversation", "a", "1")
	dueNow := func() int {
		t.Helper()
		due, err := s.DueBefore(t.Context(), storetest.Now.Add(time.Hour), 50)
		if err != nil {
			t.Fatal(err)
		}
		return len(due)
	}
	settle := func(want int) {
		t.Helper()
		if err := s.Settle(t.Context(), alice, session); err != nil {
			t.Fatal(err)
		}
		if got := dueNow(); got != want {
			t.Errorf("%d due, want %d", got, want)
		}
	}
	settle(1)
	if err := s.SaveSummary(t.Context(), alice, session, summaryOf(session, 1, conversation.ByModel, true)); err != nil {
		t.Fatal(err)
	}
	settle(1)
	ref := memory.SessionRef{Context: session.Context, SessionID: session.ID}
	if err := s.MarkIndexed(t.Context(), alice, ref, 1, 1); err != nil {
		t.Fatal(err)
	}
	say(t, s, alice, "a", "in between")
	settle(1)
	if err := s.MarkIndexed(t.Context(), alice, ref, 2, 2); err != nil {
		t.Fatal(err)
	}
	if err := s.SaveSummary(t.Context(), alice, session, summaryOf(session, 2, conversation.ByModel, true)); err != nil {
		t.Fatal(err)
	}
	settle(0)
	completed := conversation.Completed
	if _, err := s.UpdateSession(t.Context(), alice, "a", conversation.SessionChange{Status: &completed}); err != nil {
		t.Fatal(err)
	}
	if dueNow() != 1 {
		t.Error("a completed session is not due for its last summary")
	}
}

func TestOpen(t *testing.T) {
	s := dynamotest.New(t, atNow())
	want := newSession(t, s, alice, "program_designer", "a", "1")
	p := longterm.Preferences{CrossContext: true, Timezone: "Pacific/Auckland"}
	if _, err := s.Preferences().Put(t.Context(), alice, p); err != nil {
		t.Fatal(err)
	}
	session, access, err := s.Open(t.Context(), alice, "program_designer", "a")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, session); diff != "" {
		t.Errorf("session (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(longterm.Access{Preferences: p}, access); diff != "" {
		t.Errorf("access (-want +got):\n%s", diff)
	}
	for _, at := range [][2]string{{"program_designer", "b"}, {"coach_conversation", "a"}, {"none", "a"}} {
		if _, _, err := s.Open(t.Context(), alice, at[0], at[1]); !fault.Is(err, fault.NotFound) {
			t.Errorf("open %v: %v", at, err)
		}
	}
}

func TestRecentSessions(t *testing.T) {
	s := dynamotest.New(t, atNow())
	for i, age := range []time.Duration{time.Minute, 3 * time.Minute, 2 * time.Minute, 49 * time.Hour} {
		id := fmt.Sprint("s", i)
		newSession(t, s, alice, "coach_conversation", id)
		in := conversation.Append{SessionID: id, Messages: []conversation.NewMessage{{Role: conversation.User, Content: "x", Timestamp: storetest.Now.Add(-age)}}}
		if _, err := s.Append(t.Context(), alice, in); err != nil {
			t.Fatal(err)
		}
	}
	newSession(t, s, alice, "coach_conversation", "silent")
	got, err := s.RecentSessions(t.Context(), alice, storetest.Now.Add(-48*time.Hour), 10)
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, x := range got {
		ids = append(ids, x.ID)
	}
	if diff := cmp.Diff([]string{"s0", "s2", "s1"}, ids); diff != "" {
		t.Errorf("recent (-want +got):\n%s", diff)
	}
	if got, err = s.RecentSessions(t.Context(), alice, storetest.Now.Add(-48*time.Hour), 2); err != nil || len(got) != 2 {
		t.Errorf("2 recent: %v, %v", got, err)
	}
}

func TestMessagesAfter(t *testing.T) {
	s := dynamotest.New(t, atNow())
	newSession(t, s, alice, "coach_conversation", "a")
	const n = 1000
	at := storetest.Now.Add(-1000 * time.Hour)
	for i := 0; i < n; i += 50 {
		in := conversation.Append{SessionID: "a"}
		for j := range 50 {
			at = at.Add(time.Duration((i+j)*(i+j)) * time.Millisecond) // not evenly spread
			in.Messages = append(in.Messages, conversation.NewMessage{Role: conversation.User, Content: "x", Timestamp: at})
		}
		if _, err := s.Append(t.Context(), alice, in); err != nil {
			t.Fatal(err)
		}
	}
	session, err := s.Session(t.Context(), alice, "a")
	if err != nil {
		t.Fatal(err)
	}
	for _, after := range []int{0, 1, 99, 333, 500, 850, 899, 990, 999, 1000, 2000} {
		for _, limit := range []int{1, 20, 100} {
			got, err := s.MessagesAfter(t.Context(), alice, session, after, limit)
			if err != nil {
				t.Fatal(err)
			}
			want := max(0, min(limit, n-after))
			if len(got) != want || want > 0 && (got[0].Seq != after+1 || got[want-1].Seq != after+want) {
				t.Errorf("after %d, at most %d: %d messages", after, limit, len(got))
			}
		}
	}
	tail, err := s.Tail(t.Context(), alice, session, 10)
	if err != nil || len(tail) != 10 || tail[0].Seq != 991 || tail[9].Seq != 1000 {
		t.Errorf("tail of %d messages, %v", len(tail), err)
	}
}
