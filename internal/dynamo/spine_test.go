package dynamo_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/summary"
	"github.com/throughline/throughline/internal/sweep"
	"github.com/throughline/throughline/internal/testing/check"
)

// dueSpine reads the only spine that is due.
func (s *fixture) dueSpine(t *testing.T) summary.DueSpine {
	t.Helper()
	due, err := s.Spines.SpineDue(t.Context(), onlyDue(t, s, sweep.Spines))
	check.OK(t, err)
	return due
}

// saveSpine stores a spine of the coach of the tests' sessions, drawn from everything so far.
func (s *fixture) saveSpine(t *testing.T, text string) longterm.Spine {
	t.Helper()
	due := s.dueSpine(t)
	spine := longterm.Spine{
		CoachID: due.CoachID, Text: text, Tokens: 2, Patterns: []string{text + " pattern"}, Wins: []string{text + " win"},
		Struggles: []string{text + " struggle"}, Contexts: []string{coach}, Unshared: []string{"workout_log"},
		CoveredTo: s.clock(), UpdatedAt: s.clock(), Model: "m", PromptVersion: "v1", Version: due.Version,
	}
	check.OK(t, s.Spines.SaveSpine(t.Context(), alice, due.Generation, spine))
	spine.Version++
	return spine
}

// storedSpine returns the spine that prompts read.
func (s *fixture) storedSpine(t *testing.T) longterm.Spine {
	t.Helper()
	return snapshot(t, s).Spines["c1"]
}

// checkListedSpines fails unless alice's spines have these texts.
func (s *fixture) checkListedSpines(t *testing.T, when string, want ...string) longterm.Preferences {
	t.Helper()
	spines, preferences, err := s.Spines.Spines(t.Context(), alice)
	var texts []string
	for _, one := range spines {
		texts = append(texts, one.Text)
	}
	check.OK(t, err)
	check.Same(t, want, texts, "spines listed %s", when)
	return preferences
}

// spineWait is after what time a spine falls due by default.
const spineWait = 18 * time.Hour

// TestSummariesMakeSpinesDue checks that a summary of the model makes its coach's spine due, once for several.
func TestSummariesMakeSpinesDue(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	session, _ := newSession(t, s, coach, "a", "1", "2")
	due := func() int { return len(listDue(t, s, sweep.Spines, start.Add(farAhead))) }
	save := func(covered int, kind conversation.SummaryKind, inProgress bool) {
		t.Helper()
		sum := newSummary(readSession(t, s, "a"), covered, kind, inProgress)
		check.OK(t, s.Summaries.SaveSummary(t.Context(), alice, readSession(t, s, "a"), sum))
	}
	save(2, conversation.Extractive, true)
	if due() != 0 {
		t.Error("a fallback summary makes the spine due")
	}
	save(2, conversation.ByModel, true)
	first := onlyDue(t, s, sweep.Spines)
	if first.User != alice || first.DueAt.Sub(s.clock()) != spineWait {
		t.Errorf("due is %+v", first)
	}
	s.advance(time.Minute)
	other, _ := newSession(t, s, "program_designer", "b", "1")
	sum := newSummary(other, 1, conversation.ByModel, true)
	sum.RecordType = conversation.ProgramDesignerSummary
	check.OK(t, s.Summaries.SaveSummary(t.Context(), alice, other, sum))
	if again := onlyDue(t, s, sweep.Spines); !again.DueAt.Equal(first.DueAt) {
		t.Errorf("another session delays the spine from %v to %v", first.DueAt, again.DueAt)
	}
	claim, _, err := s.Due.Claim(t.Context(), first, first.DueAt.Add(time.Hour))
	check.OK(t, err)
	save(2, conversation.ByModel, false) // the same text
	if err := s.Due.Remove(t.Context(), claim); err != nil || due() != 0 {
		t.Errorf("a summary of the same text keeps the spine due: %v", err)
	}
	appendMessages(t, s, alice, "a", userMessages("3")...)
	save(3, conversation.ByModel, false)
	claim, _, err = s.Due.Claim(t.Context(), onlyDue(t, s, sweep.Spines), first.DueAt.Add(time.Hour))
	check.OK(t, err)
	appendMessages(t, s, alice, "a", userMessages("4")...)
	save(4, conversation.ByModel, false)
	if err := s.Due.Remove(t.Context(), claim); err != nil || due() != 1 {
		t.Errorf("what came during the visit is not due: %v", err)
	}
	if spines, owner := snapshot(t, s).Spines, readSession(t, s, session.ID); len(spines) != 0 || owner.CoachID != "c1" {
		t.Errorf("a due spine is among the live records: %v", spines)
	}
}

// TestSaveSpine stores a spine and reads it back, on the conditions of the interface.
func TestSaveSpine(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	session, _ := newSession(t, s, coach, "a", "1", "2")
	saveSummary(t, s, session)
	due := s.dueSpine(t)
	if diff := cmp.Diff(longterm.Spine{CoachID: "c1"}, due.Spine); diff != "" || !due.Preferences.Memory {
		t.Errorf("before it is written (-want +got):\n%s", diff)
	}
	want := s.saveSpine(t, "first")
	stored := []longterm.Spine{s.dueSpine(t).Spine, s.storedSpine(t)}
	check.Same(t, []longterm.Spine{want, want}, stored, "stored")
	s.checkListedSpines(t, "after a save", "first")
	checkFault(t, s.Spines.SaveSpine(t.Context(), alice, 0, due.Spine), fault.Conflict,
		"save what another worker has written")
	want.Text = "second"
	check.OK(t, s.Spines.SaveSpine(t.Context(), alice, 0, want))
	checkFault(t, s.Spines.SaveSpine(t.Context(), alice, 7, s.storedSpine(t)), fault.NotFound,
		"save a spine of another generation")
	p := longterm.DefaultPreferences()
	p.Memory = false
	for _, memory := range []bool{false, true} {
		p.Memory = memory
		check.Got(s.Preferences.Put(t.Context(), alice, p))(t)
		if got := s.checkListedSpines(t, "with preferences", "second"); got.Memory != memory {
			t.Errorf("listed with memory %v, want %v", got.Memory, memory)
		}
		err := s.Spines.SaveSpine(t.Context(), alice, 0, s.storedSpine(t))
		if memory && err != nil || !memory && !fault.Is(err, fault.Conflict) {
			t.Errorf("save with memory %v: %v", memory, err)
		}
	}
	checkFault(t, errorOf(s.Spines.SpineDue(t.Context(), onlyDue(t, s, sweep.Sessions))), fault.NotFound,
		"the spine of a session")
}

// TestUserSummaryOfSpines checks that the user summary has the app's own remarks and those of spines, and that the app
// replaces both.
func TestUserSummaryOfSpines(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	session, _ := newSession(t, s, coach, "a", "1")
	saveSummary(t, s, session)
	tells := func(wins ...string) {
		t.Helper()
		got, err := s.UserSummaries.Get(t.Context(), alice)
		check.OK(t, err)
		check.Same(t, wins, got.Wins, "wins")
	}
	s.saveSpine(t, "seen")
	tells("seen win")
	s.advance(time.Second)
	check.Got(s.UserSummaries.Put(t.Context(), alice, longterm.UserSummary{Wins: []string{"own"}}))(t)
	tells("own")
	if at := s.dueSpine(t).ReplacedAt; !at.Equal(s.clock()) {
		t.Errorf("replaced at %v, want %v", at, s.clock())
	}
	s.advance(time.Second)
	s.saveSpine(t, "later")
	tells("own", "later win")
	if got := snapshot(t, s).UserSummary; got == nil || len(got.Wins) != 1 {
		t.Errorf("the app's own is %+v", got)
	}
}

// TestDeletionsClearSpines checks that a spine is cleared with whatever it may be drawn from, is due, and is not stored
// by a worker that has read what is deleted.
func TestDeletionsClearSpines(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	newSession(t, s, coach, "plain", "no summary")
	session, messages := newSession(t, s, coach, "a", "1", "2")
	saveSummary(t, s, session)
	uncovered := appendMessages(t, s, alice, "a", userMessages("3")...).Messages
	for _, step := range []struct {
		name   string
		change func() error
		clears bool
	}{
		{"a session without a summary", func() error {
			return errorOf(s.Deletion.DeleteSession(t.Context(), alice, "plain", s.clock()))
		}, false},
		{"a message after the summary", func() error {
			return errorOf(s.Deletion.DeleteMessage(t.Context(), alice, uncovered[0], nil, s.clock()))
		}, false},
		{"a message", func() error {
			return errorOf(s.Deletion.DeleteMessage(t.Context(), alice, messages[0], nil, s.clock()))
		}, true},
		{"a session", func() error {
			saveSummary(t, s, readSession(t, s, "a"))
			return errorOf(s.Deletion.DeleteSession(t.Context(), alice, "a", s.clock()))
		}, true},
	} {
		before := s.saveSpine(t, step.name)
		if !step.clears {
			s.removeDueSpine(t)
		}
		if err := step.change(); err != nil {
			t.Fatalf("delete %s: %v", step.name, err)
		}
		after := s.storedSpine(t)
		if !step.clears {
			check.Same(t, before, after, "delete %s", step.name)
			s.makeSpineDue(t)
			continue
		}
		cleared := longterm.Spine{CoachID: "c1", UpdatedAt: s.clock(), Version: before.Version + 1}
		check.Same(t, cleared, s.dueSpine(t).Spine, "delete %s", step.name)
		check.Same(t, s.clock(), onlyDue(t, s, sweep.Spines).DueAt, "delete %s: when it is due", step.name)
		s.checkListedSpines(t, "after it was cleared")
		checkFault(t, s.Spines.SaveSpine(t.Context(), alice, 0, before), fault.Conflict,
			"delete %s: a worker that comes late", step.name)
	}
}

// removeDueSpine takes the only due spine out of the index.
func (s *fixture) removeDueSpine(t *testing.T) {
	t.Helper()
	claim, ok, err := s.Due.Claim(t.Context(), onlyDue(t, s, sweep.Spines), s.clock().Add(time.Hour))
	if err != nil || !ok {
		t.Fatalf("claim: %v, %v", ok, err)
	}
	check.OK(t, s.Due.Remove(t.Context(), claim))
}

// makeSpineDue makes the spine due by a session of its own.
func (s *fixture) makeSpineDue(t *testing.T) {
	t.Helper()
	session, _ := newSession(t, s, coach, fmt.Sprintf("due%d", s.storedSpine(t).Version), "1")
	saveSummary(t, s, session)
}

// TestErasedSpines erases a user with a spine, and stores it again in a worker that comes late.
func TestErasedSpines(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	session, _ := newSession(t, s, coach, "a", "1")
	saveSummary(t, s, session)
	spine := s.saveSpine(t, "erased")
	due := onlyDue(t, s, sweep.Spines)
	if out := s.erase(t, 1); out.Counts["spine"] != 1 {
		t.Errorf("erase: %+v", out)
	}
	s.checkListedSpines(t, "after an erasure")
	checkFault(t, errorOf(s.Spines.SpineDue(t.Context(), due)), fault.NotFound, "the spine of an erased user is due")
	for _, version := range []int64{0, spine.Version} {
		spine.Version = version
		checkFault(t, s.Spines.SaveSpine(t.Context(), alice, 0, spine), fault.NotFound, "a worker that comes late")
	}
	session, _ = newSession(t, s, coach, "a", "1")
	saveSummary(t, s, session)
	check.Same(t, longterm.Spine{CoachID: "c1"}, s.dueSpine(t).Spine, "a user who came back")
	s.saveSpine(t, "new")
}

// TestOldSpinesGo checks that a user has no more spines than a prompt can read.
func TestOldSpinesGo(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	const limit = 32
	for i := range limit + 3 {
		s.advance(time.Second)
		spine := longterm.Spine{CoachID: fmt.Sprint("coach", i), Text: "so far", UpdatedAt: s.clock()}
		check.OK(t, s.Spines.SaveSpine(t.Context(), alice, 0, spine))
	}
	spines := snapshot(t, s).Spines
	_, oldest := spines["coach2"]
	_, kept := spines["coach3"]
	if len(spines) != limit || oldest || !kept {
		t.Errorf("%d spines, the oldest is there: %v, the next: %v", len(spines), oldest, kept)
	}
}
