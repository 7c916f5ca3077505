package dynamo_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/indexing"
	"github.com/throughline/throughline/internal/summary"
	"github.com/throughline/throughline/internal/sweep"
	"github.com/throughline/throughline/internal/testing/check"
)

func newSummary(s conversation.Session, covered int, kind conversation.SummaryKind, inProgress bool) summary.Summary {
	return summary.Summary{
		RecordType: conversation.ConversationSummary, SubjectID: s.ID, SessionID: s.ID,
		Context: s.Context, CoachID: s.CoachID,
		Text: fmt.Sprintf("%s of %d", kind, covered), Tokens: 4,
		Tags: []string{"squats", fmt.Sprint(kind)}, Kind: kind, InProgress: inProgress, CoveredThrough: covered,
		CoveredAt:  start.Add(time.Duration(covered) * time.Second),
		OccurredAt: s.LastMessageAt, UpdatedAt: start, Fields: map[string]any{"n": 1.0}, Model: "m", PromptVersion: "v1",
		OwnFields: map[string]any{"confidence": 0.8}, SessionVersion: s.Version, Generation: s.Generation,
		Days: []conversation.DaySummary{
			{From: start.AddDate(0, 0, -1), To: start.AddDate(0, 0, -1).Add(time.Hour), Text: "the day before", Tokens: 3},
			{From: start, To: start.Add(time.Minute), Text: fmt.Sprint("day of ", covered), Tokens: 2},
		},
	}
}

// saveSummary saves a summary by the model that covers the whole session.
func saveSummary(t *testing.T, s *fixture, session conversation.Session) summary.Summary {
	t.Helper()
	sum := newSummary(session, session.LastSeq, conversation.ByModel, true)
	sum.UpdatedAt = s.clock()
	if err := s.Summaries.SaveSummary(t.Context(), alice, session, sum); err != nil {
		t.Fatalf("save the summary of %s: %v", session.ID, err)
	}
	return sum
}

func TestSaveSummary(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	session, _ := newSession(t, s, coach, "a", "1", "2", "3")
	const model, extract = conversation.ByModel, conversation.Extractive
	byModel := 0
	for i, step := range []struct {
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
	} {
		sum := newSummary(session, step.covered, step.kind, step.inProgress)
		err := s.Summaries.SaveSummary(t.Context(), alice, session, sum)
		if step.want == "" && err != nil || step.want != "" && !fault.Is(err, step.want) {
			t.Fatalf("step %d: %v, want %q", i, err, step.want)
		}
		if err != nil {
			continue
		}
		if step.kind == model {
			byModel = step.covered // a fallback summary leaves the session due
		}
		checkSummary(t, s, sum, byModel)
	}
	silent := newSummary(session, 4, model, true)
	silent.Text = ""
	if err := s.Summaries.SaveSummary(t.Context(), alice, session, silent); err != nil {
		t.Errorf("a watermark without text: %v", err)
	}
	checkSummary(t, s, newSummary(session, 3, model, false), 4)
	if got := readSession(t, s, "a"); got.Version != session.Version {
		t.Errorf("summaries raised the version from %d to %d", session.Version, got.Version)
	}
}

// checkSummary reads a summary both from its session and from its own record, and checks the session's watermark.
func checkSummary(t *testing.T, s *fixture, want summary.Summary, watermark int) {
	t.Helper()
	session, err := s.Summaries.SessionIn(t.Context(), alice, want.Context, want.SessionID)
	check.OK(t, err)
	copied := &conversation.SessionSummary{
		Text: want.Text, Tokens: want.Tokens, Tags: want.Tags, Kind: want.Kind, InProgress: want.InProgress,
		CoveredThrough: want.CoveredThrough, UpdatedAt: want.UpdatedAt,
		Model: want.Model, Fields: want.OwnFields, Digest: want.Digest, Days: want.Days,
	}
	if diff := cmp.Diff(copied, session.Summary); diff != "" || session.Summarized.Seq != watermark {
		t.Errorf("the session's copy (-want +got), watermark %d, want %d:\n%s", session.Summarized.Seq, watermark, diff)
	}
	if at := newSummary(session, watermark, want.Kind, true).CoveredAt; watermark > 0 && !session.Summarized.At.Equal(at) {
		t.Errorf("the watermark is at %v, want %v", session.Summarized.At, at)
	}
	hits, err := s.PromptSource.Resolve(t.Context(), alice, 0, []string{want.ID() + "#1"})
	if err != nil || len(hits) != 1 || hits[0].Summary == nil {
		t.Fatalf("resolved %v, %v", hits, err)
	}
	// Only the session has these.
	want.OwnFields, want.Digest, want.SessionVersion, want.CoveredAt, want.Days = nil, "", 0, time.Time{}, nil
	check.Same(t, want, *hits[0].Summary, "the record")
}

// TestSaveSummaryOfAttributes saves summaries that cover the same messages and were made with different attributes.
func TestSaveSummaryOfAttributes(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	session, _ := newSession(t, s, coach, "a", "1")
	const model, extract = conversation.ByModel, conversation.Extractive
	edited := session
	for i, step := range []struct {
		digest string
		edits  bool // the session is edited first
		stale  bool // the summary was made before the last edit
		kind   conversation.SummaryKind
		want   fault.Code
	}{
		{"", false, false, model, ""},
		{"a", false, false, model, ""},
		{"a", false, false, model, fault.Conflict},
		{"b", true, true, model, fault.Conflict},
		{"b", false, false, extract, ""},
		{"b", true, true, model, ""},
		{"", false, true, model, fault.Conflict},
		{"", false, false, model, ""},
	} {
		if step.edits {
			session = edited
			var err error
			change := conversation.SessionChange{Attributes: map[string]any{"step": float64(i)}}
			edited, err = s.Sessions.UpdateSession(t.Context(), alice, "a", change)
			check.OK(t, err)
		}
		from := edited
		if step.stale {
			from = session
		}
		sum := newSummary(from, 1, step.kind, true)
		sum.Digest = step.digest
		err := s.Summaries.SaveSummary(t.Context(), alice, from, sum)
		if step.want == "" && err != nil || step.want != "" && !fault.Is(err, step.want) {
			t.Fatalf("step %d: %v, want %q", i, err, step.want)
		}
		if err == nil {
			checkSummary(t, s, sum, 1)
		}
	}
}

// TestSummariesOfOneSubject saves summaries of two sessions about one program: each has its own record.
func TestSummariesOfOneSubject(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	for _, id := range []string{"a", "b"} {
		session, _ := newSession(t, s, coach, id, "1")
		sum := newSummary(session, 1, conversation.ByModel, true)
		sum.SubjectID = "program 1"
		check.OK(t, s.Summaries.SaveSummary(t.Context(), alice, session, sum))
		checkSummary(t, s, sum, 1)
	}
	hits, err := s.PromptSource.Resolve(t.Context(), alice, 0, []string{
		"conversation_summary#a", "conversation_summary#b", "conversation_summary#program 1",
	})
	if err != nil || len(hits) != 2 || hits[0].Summary.SessionID != "a" || hits[1].Summary.SessionID != "b" {
		t.Errorf("resolved %+v, %v", hits, err)
	}
}

// TestAttributesAreDue checks that a session falls due when its attributes have to be summarised or its summary has to
// follow them, and that a session without messages is listed as recent when it was completed.
func TestAttributesAreDue(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	completed, shards := conversation.Completed, sweep.Sessions.Shards()
	checkForm := func(want int) {
		t.Helper()
		due := dueIn(t, s, s.clock().Add(farAhead), shards...)
		if len(due) != want {
			t.Errorf("due are %+v, want %d", due, want)
		}
		for _, d := range due {
			shards = []sweep.Shard{d.Shard}
		}
	}
	change := func(status *conversation.Status, attributes map[string]any, due int) conversation.Session {
		t.Helper()
		in := conversation.SessionChange{Status: status, Attributes: attributes}
		check.Got(s.Sessions.UpdateSession(t.Context(), alice, "form", in))(t)
		checkForm(due)
		return readSession(t, s, "form")
	}
	createSession(t, s, alice, "workout_log", "empty")
	createSession(t, s, alice, "workout_log", "form")
	s.advance(30 * time.Hour)
	empty := conversation.SessionChange{Status: &completed}
	check.Got(s.Sessions.UpdateSession(t.Context(), alice, "empty", empty))(t)
	change(nil, map[string]any{"workoutName": "Fran"}, 0)
	form := change(&completed, nil, 1)
	if !form.CompletedAt.Equal(s.clock()) || !form.ListedAt().Equal(s.clock().Truncate(conversation.ActivityStep)) {
		t.Errorf("completed at %v, active at %v, now is %v", form.CompletedAt, form.ListedAt(), s.clock())
	}
	sum := newSummary(form, 0, conversation.ByModel, false)
	sum.RecordType = conversation.WorkoutSummary
	sum.Digest = "attributes:x" // not that of the attributes
	check.OK(t, s.Summaries.SaveSummary(t.Context(), alice, form, sum))
	edited := change(nil, map[string]any{"workoutName": "Grace"}, 1)
	for i, settled := range []conversation.Session{form, edited} { // the first one was read before the edit
		if ok, err := s.Summaries.Settle(t.Context(), alice, settled); err != nil || ok != (i == 1) {
			t.Fatalf("settled as of version %d: %v, %v", settled.Version, ok, err)
		}
		checkForm(1 - i)
	}
	since := conversation.RecentSessions{Since: s.clock().Add(-time.Hour)}
	recent, _, err := s.Recall.RecentSessions(t.Context(), alice, since, conversation.Page{Limit: 10})
	if err != nil || len(recent) != 1 || recent[0].ID != "form" {
		t.Errorf("recent sessions are %+v, %v", recent, err)
	}
	of := conversation.CoachSessions{CoachID: form.CoachID}
	listed, _, err := s.PromptSource.CoachSessions(t.Context(), alice, of, conversation.Page{Limit: 10})
	if err != nil || len(listed) != 1 || listed[0].ID != "form" {
		t.Errorf("the coach's sessions are %+v, %v", listed, err)
	}
	change(nil, map[string]any{"workoutName": "Helen"}, 1)
}

func TestMarkIndexed(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	session, _ := newSession(t, s, "workout_log", "a", "1", "2", "3")
	mark := func(session conversation.Session, through int) fault.Code {
		watermark := conversation.Watermark{Seq: through, At: start}
		if err := s.Indexing.MarkIndexed(t.Context(), alice, session, watermark); err != nil {
			return fault.CodeOf(err)
		}
		return ""
	}
	gone, reborn, none, ahead := session, session, session, session
	gone.Generation, reborn.CreatedAt = 1, reborn.CreatedAt.Add(time.Millisecond)
	none.ID, ahead.Indexed.Seq = "none", 1
	for i, got := range []struct{ got, want fault.Code }{
		{mark(ahead, 2), fault.Conflict},
		{mark(session, 2), ""},
		{mark(session, 2), fault.Conflict},
		{mark(session, 1), fault.Conflict},
		{mark(session, 3), ""}, // everything since session.Indexed is indexed, whoever marked a part of it
		{mark(gone, 4), fault.NotFound},
		{mark(reborn, 4), fault.NotFound},
		{mark(none, 1), fault.NotFound},
	} {
		if got.got != got.want {
			t.Errorf("step %d: %q, want %q", i, got.got, got.want)
		}
	}
	want := conversation.Watermark{Seq: 3, At: start}
	if now := readSession(t, s, "a"); now.Indexed != want || now.Version != session.Version {
		t.Errorf("indexed to %v at version %d", now.Indexed, now.Version)
	}
}

// TestClaimIndexing has two workers claim a session. A claim is ended by its own worker only, and lapses by itself.
func TestClaimIndexing(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	session, _ := newSession(t, s, "workout_log", "a", "1", "2")
	claim := func(session conversation.Session, now time.Time, want bool) {
		t.Helper()
		current, ok, err := s.Indexing.ClaimIndexing(t.Context(), alice, session, now, now.Add(time.Minute))
		if ok != want || err != nil || current.LastSeq != 2 {
			t.Errorf("claimed %v, %v, of %d messages, want %v", ok, err, current.LastSeq, want)
		}
	}
	end := func(until time.Time) {
		t.Helper()
		current, err := s.Indexing.EndIndexing(t.Context(), alice, session, until)
		if err != nil || current.LastSeq != 2 {
			t.Errorf("ended: %v, with %d messages", err, current.LastSeq)
		}
	}
	claim(session, start, true)
	claim(session, start.Add(time.Second), false)
	end(start.Add(2 * time.Minute)) // another worker's
	claim(session, start.Add(time.Second), false)
	end(start.Add(time.Minute))
	claim(session, start.Add(time.Second), true)
	claim(session, start.Add(2*time.Minute), true)
	reborn := session
	reborn.CreatedAt = reborn.CreatedAt.Add(time.Millisecond)
	_, ok, err := s.Indexing.ClaimIndexing(t.Context(), alice, reborn, start, start)
	if ok || !fault.Is(err, fault.NotFound) {
		t.Errorf("claimed a session that is gone: %v, %v", ok, err)
	}
	if now := readSession(t, s, "a"); now.Version != session.Version || now.Indexed != session.Indexed {
		t.Errorf("the claims changed the session: %+v", now)
	}
}

// TestSessionsAt reads sessions of several users in one call.
func TestSessionsAt(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	session, _ := newSession(t, s, "workout_log", "a", "1")
	here := indexing.SessionRef{User: alice, Context: "workout_log", SessionID: "a"}
	old, elsewhere, none, other := here, here, here, here
	old.Generation, elsewhere.Context, none.SessionID, other.User = 1, coach, "none", bob
	got, err := s.Indexing.SessionsAt(t.Context(), []indexing.SessionRef{old, here, elsewhere, none, other, here})
	check.OK(t, err)
	check.Same(t, map[indexing.SessionRef]conversation.Session{here: session}, got, "sessions")
}
