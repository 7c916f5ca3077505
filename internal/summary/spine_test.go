package summary_test

import (
	"errors"
	"fmt"
	"strings"
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

// TestSpineOfSeveralSessions brings a spine up to date with all sessions at rest by one call, and then with one more.
func TestSpineOfSeveralSessions(t *testing.T) {
	t.Parallel()
	f := newSpineFixture()
	f.due.Preferences.Timezone = "Pacific/Auckland"
	f.sessions = []conversation.Session{
		f.session("b", "program_designer", "Swapped\nsquats. <|im_start|>", 10*time.Minute),
		f.session("a", "coach_conversation", "Ann's knee hurts.", 20*time.Minute),
	}
	f.check(t, sweep.Removed, 1)
	want := longterm.Spine{
		CoachID: "mia", Text: "spine 1", Tokens: 2, Patterns: []string{"pattern 1"}, Struggles: []string{"s 1"},
		Contexts:  []string{"coach_conversation", "program_designer"},
		CoveredTo: spineNow.Add(-10 * time.Minute), UpdatedAt: spineNow, Model: "m", PromptVersion: "spine/6", Version: 1,
	}
	check.Same(t, want, f.due.Spine, "spine")
	f.check(t, sweep.Removed, 1) // a redelivery finds nothing new
	f.now = f.now.Add(time.Hour)
	f.sessions = append(f.sessions, f.session("c", "workout_log", "Ran 5 km.", 2*time.Minute))
	f.check(t, sweep.Removed, 2)
	inputs := []string{
		"Session summary:\n2026-02-06 Friday, Coach: Ann's knee hurts.\n\n" +
			"Session summary:\n2026-02-06 Friday, Program Designer: Swapped squats. <\\|im_start|>\n\n",
		"Spine so far:\nspine 1\n\nPatterns:\n- pattern 1\n\nStruggles:\n- s 1\n\n" +
			"Session summary:\n2026-02-06 Friday, Workout: Ran 5 km.\n\n",
	}
	inputs[1] = strings.Replace(inputs[1], "Workout", conversation.LabelOf("workout_log", ""), 1)
	check.Same(t, inputs, f.inputs, "input of the model")
	if diff := cmp.Diff([]int{2, 1}, f.written); diff != "" || len(f.quota.spent) != 2 {
		t.Errorf("%v, written (-want +got):\n%s", f.quota.spent, diff)
	}
}

// TestSpineOfAnImport has 170 imported sessions, listed the latest first and summarized in another order. All of them
// reach the spine, 50 by one call of the model, each call in the order in which they happened.
func TestSpineOfAnImport(t *testing.T) {
	t.Parallel()
	f := newSpineFixture()
	const n = 170
	for i := range n {
		s := f.session(fmt.Sprint(i), "coach_conversation", fmt.Sprintf("came to %d.", i), 20*time.Minute)
		s.LastMessageAt = f.now.AddDate(0, 0, -i-1)
		s.StartedAt = s.LastMessageAt.Add(-time.Hour)
		s.Summary.UpdatedAt = s.Summary.UpdatedAt.Add(-time.Duration(i*37%n) * time.Minute)
		f.sessions = append(f.sessions, s)
	}
	for calls := 1; calls <= 3; calls++ {
		f.check(t, sweep.Again(f.now), calls)
	}
	f.check(t, sweep.Removed, 4)
	input := strings.Join(f.inputs, "")
	for i := range n {
		if !strings.Contains(input, fmt.Sprintf(" came to %d.\n", i)) {
			t.Errorf("session %d is in no spine", i)
		}
	}
	for i, input := range f.inputs {
		day := ""
		for line := range strings.Lines(input) {
			if next, _, found := strings.Cut(line, ", Coach: "); found && next < day {
				t.Errorf("call %d: %s comes after %s", i, next, day)
			} else if found {
				day = next
			}
		}
	}
	f.check(t, sweep.Removed, 4) // a redelivery finds nothing new
}

// TestSpineFindsAnOldSession summarizes the oldest of 170 sessions after all others are in the spine, and then one that
// is three pages before it. Neither is passed over, because no page in front of it has anything new.
func TestSpineFindsAnOldSession(t *testing.T) {
	t.Parallel()
	f := newSpineFixture()
	const n = 170
	for i := range n {
		s := f.session(fmt.Sprint(i), "coach_conversation", fmt.Sprintf("came to %d.", i), time.Hour)
		s.LastMessageAt = f.now.AddDate(0, 0, -i-1)
		f.sessions = append(f.sessions, s)
	}
	f.due.CoveredTo, f.due.Text = f.now.Add(-time.Hour), "all so far"
	f.check(t, sweep.Removed, 0)
	f.sessions[n-1].Summary.UpdatedAt = f.now.Add(-30 * time.Minute)
	f.sessions[10].Summary.UpdatedAt = f.now.Add(-20 * time.Minute)
	f.check(t, sweep.Removed, 1)
	for _, want := range []string{" came to 169.\n", " came to 10.\n"} {
		if !strings.Contains(f.inputs[0], want) {
			t.Errorf("the model reads no %q in\n%s", want, f.inputs[0])
		}
	}
	f.sessions[n-2].Summary.UpdatedAt = f.now.Add(-10 * time.Minute)
	f.check(t, sweep.Removed, 2)
	check.Contains(t, f.inputs[1], " came to 168.\n", "the model reads")
}

// TestDaysOfTheSpine writes when a session happened: a workout when it was completed, and not when its form was sent,
// and a long session with the day since which it went on.
func TestDaysOfTheSpine(t *testing.T) {
	t.Parallel()
	f := newSpineFixture()
	workout := f.session("w", "workout_log", "Swings.", 20*time.Minute)
	workout.StartedAt, workout.LastMessageAt, workout.CompletedAt = time.Time{}, time.Time{}, f.now.Add(-time.Hour)
	workout.LastSeq, workout.MessageCount, workout.Status = 0, 0, conversation.Completed
	workout.Summary.CoveredThrough, workout.Summarized.Seq, workout.Summary.InProgress = 0, 0, false
	workout.Attributes = map[string]any{"completedAt": "2026-01-13T10:00:00.000Z"}
	workout.Summary.Digest = summary.AttributesDigestOf(workout)
	long := f.session("l", "coach_conversation", "Chats.", 30*time.Minute)
	long.StartedAt = f.now.AddDate(0, 0, -17)
	f.sessions = []conversation.Session{workout, long}
	f.check(t, sweep.Removed, 1)
	for _, want := range []string{
		"2026-01-13 Tuesday, Workout Log: Swings.", "2026-02-05 Thursday (since 2026-01-19), Coach: ",
	} {
		if !strings.Contains(f.inputs[0], want) {
			t.Errorf("the model reads no %q in\n%s", want, f.inputs[0])
		}
	}
}

// TestSpineWaitsForRest has a session that goes on. Nothing with a later summary is covered before it rests, because
// the spine covers everything before a time.
func TestSpineWaitsForRest(t *testing.T) {
	t.Parallel()
	f := newSpineFixture()
	going := f.session("going", "coach_conversation", "Still talking.", 10*time.Minute)
	going.LastMessageAt = f.now.Add(-time.Minute)
	same := f.session("also", "coach_conversation", "At the same time.", 10*time.Minute)
	later := f.session("later", "program_designer", "Later.", 5*time.Minute)
	later.Status, later.Summary.InProgress, later.LastMessageAt = conversation.Completed, false, f.now
	early := f.session("early", "workout_log", "Early.", time.Hour)
	f.sessions = []conversation.Session{going, later, same, early}
	f.check(t, sweep.Again(f.now.Add(14*time.Minute)), 1)
	if !strings.Contains(f.inputs[0], "Early.") || strings.Contains(f.inputs[0], "time.") {
		t.Errorf("the model was given\n%s", f.inputs[0])
	}
	f.now = f.now.Add(14 * time.Minute)
	f.check(t, sweep.Removed, 2)
	for _, text := range []string{"Still talking.", "At the same time.", "Later."} {
		if strings.Count(f.inputs[1], text) != 1 {
			t.Errorf("%q is not there once in\n%s", text, f.inputs[1])
		}
	}
}

// TestSpineSkipsWhatIsNotReady leaves out fallback summaries, and waits for summaries that are about to be written.
func TestSpineSkipsWhatIsNotReady(t *testing.T) {
	t.Parallel()
	idle, soon := sweep.Again(spineNow.Add(15*time.Minute)), sweep.Again(spineNow.Add(time.Minute))
	tests := map[string]struct {
		change func(*conversation.Session)
		want   sweep.Outcome
	}{
		"no summary":  {func(s *conversation.Session) { s.Summary = nil }, sweep.Removed},
		"a fallback":  {func(s *conversation.Session) { s.Summary.Kind = conversation.Extractive }, sweep.Removed},
		"completed":   {func(s *conversation.Session) { s.Status = conversation.Completed }, idle},
		"a message":   {func(s *conversation.Session) { s.LastSeq = 3 }, idle},
		"a young one": {func(s *conversation.Session) { s.Summary.UpdatedAt = spineNow }, soon},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newSpineFixture()
			s := f.session("s", "coach_conversation", "text", 30*time.Minute)
			test.change(&s)
			f.sessions = []conversation.Session{s}
			f.check(t, test.want, 0)
		})
	}
}

// TestSpineOptOuts checks that nothing is written that the user does not allow, and that a spine with a context that is
// kept apart now is written anew without it, and with it when it is shared again.
func TestSpineOptOuts(t *testing.T) {
	t.Parallel()
	f := newSpineFixture()
	f.sessions = []conversation.Session{
		f.session("a", "coach_conversation", "About knees.", 30*time.Minute),
		f.session("b", "program_designer", "About squats.", 20*time.Minute),
	}
	for _, off := range []func(*longterm.Preferences){
		func(p *longterm.Preferences) { p.Memory = false }, func(p *longterm.Preferences) { p.CrossContext = false },
	} {
		f.due.Preferences = longterm.DefaultPreferences()
		off(&f.due.Preferences)
		f.check(t, sweep.Removed, 0)
	}
	f.due.Preferences = longterm.DefaultPreferences()
	f.check(t, sweep.Removed, 1)
	f.due.Preferences.Unshared = map[string]bool{"program_designer": true, "workout_log": false}
	f.check(t, sweep.Removed, 2)
	in := f.inputs[1]
	if strings.Contains(in, "squats") || strings.Contains(in, "spine 1") || !strings.Contains(in, "knees") {
		t.Errorf("written anew from\n%s", in)
	}
	check.Same(t, []string{"coach_conversation"}, f.due.Contexts, "contexts")
	check.Same(t, []string{"program_designer"}, f.due.Unshared, "kept apart")
	f.check(t, sweep.Removed, 2)
	f.due.Preferences.Unshared = nil
	f.check(t, sweep.Removed, 3)
	if in := f.inputs[2]; !strings.Contains(in, "squats") || !strings.Contains(in, "knees") {
		t.Errorf("written anew from\n%s", in)
	}
}

// TestSpineWaits checks that the model is not asked while background calls are stopped, or without tokens.
func TestSpineWaits(t *testing.T) {
	t.Parallel()
	f := newSpineFixture()
	f.sessions = []conversation.Session{f.session("a", "coach_conversation", "text", 30*time.Minute)}
	f.background = false
	f.check(t, sweep.Kept, 0)
	if diff := cmp.Diff([]time.Time{f.now.Add(30 * time.Minute)}, f.postponed); diff != "" { // after two failures
		t.Errorf("postponed (-want +got):\n%s", diff)
	}
	f.background = true
	f.quota.reset = time.Now().Add(time.Hour)
	f.check(t, sweep.Again(f.quota.reset), 0)
	f.quota.reset = time.Time{}
	f.check(t, sweep.Removed, 1)
	f.gone = true
	f.check(t, sweep.Removed, 1)
}

// TestSpineAnswers checks that an answer of no use fails the visit and is paid for, and that a late one
// changes nothing.
func TestSpineAnswers(t *testing.T) {
	t.Parallel()
	f := newSpineFixture()
	f.sessions = []conversation.Session{f.session("a", "coach_conversation", "text", 30*time.Minute)}
	f.due.Text = "The spine so far."
	for i, spoil := range []func(){
		func() { f.answerErr = errors.New("the model is down") },
		func() { f.answerErr, f.answer = nil, map[string]any{"spine": " \n"} },
		func() { f.answer = map[string]any{"spine": 1} },
	} {
		spoil()
		if out, err := f.visit(t); err == nil || out != sweep.Kept || f.due.Version != 0 || len(f.quota.spent) != i+1 {
			t.Errorf("case %d: %+v, %v, spine %+v, spent %v", i, out, err, f.due.Spine, f.quota.spent)
		}
	}
	f.answer = nil
	f.saveErr = fault.New(fault.Conflict, "cleared")
	f.check(t, sweep.Again(f.now), 4)
	f.saveErr = fault.Missing("user")
	f.check(t, sweep.Removed, 5)
}

// TestEmptySpine checks that sessions that have nothing to tell are read once, and that the next one is written alone.
func TestEmptySpine(t *testing.T) {
	t.Parallel()
	f := newSpineFixture()
	f.sessions = []conversation.Session{f.session("a", "coach_conversation", "The user made small talk.", 30*time.Minute)}
	f.answer = map[string]any{"spine": "", "patterns": []string{}, "wins": []string{}, "struggles": []string{}}
	f.check(t, sweep.Removed, 1)
	if f.due.Text != "" || !f.due.CoveredTo.Equal(f.sessions[0].Summary.UpdatedAt) || f.due.Version != 1 {
		t.Errorf("stored %+v", f.due.Spine)
	}
	f.check(t, sweep.Removed, 1)
	f.answer = nil
	f.sessions = append(f.sessions, f.session("b", "coach_conversation", "The user rowed 2 km.", 20*time.Minute))
	f.check(t, sweep.Removed, 2)
	if in := f.inputs[1]; strings.Contains(in, "so far") || strings.Contains(in, "small talk") || f.due.Text != "spine 2" {
		t.Errorf("after %q: %+v", in, f.due.Spine)
	}
}

// TestSpineIsClean checks the bounds of what is stored, and that it cannot pass for structure.
func TestSpineIsClean(t *testing.T) {
	t.Parallel()
	f := newSpineFixture()
	f.sessions = []conversation.Session{f.session("a", "coach_conversation", "text", 30*time.Minute)}
	many := []string{"Trains  at\ndawn", "trains at dawn.", "", strings.Repeat("ä", 300)}
	for i := range 20 {
		many = append(many, fmt.Sprint("remark ", i))
	}
	f.answer = map[string]any{
		"spine": strings.Repeat("Übt täglich. ", 200), "patterns": many, "wins": nil, "struggles": []string{},
	}
	f.check(t, sweep.Removed, 1)
	got := f.due.Spine
	if n := len([]rune(got.Text)); n > 1200 || n < 1100 || !strings.HasSuffix(got.Text, ".") {
		t.Errorf("a spine of %d characters: …%s", n, got.Text[len(got.Text)-20:])
	}
	if len(got.Patterns) != longterm.MaxRemarks || got.Patterns[0] != "Trains at dawn" || got.Patterns[2] != "remark 0" {
		t.Errorf("patterns %q", got.Patterns)
	}
	if n := len([]rune(got.Patterns[1])); n > 200 || n < 190 {
		t.Errorf("a remark of %d characters", n)
	}
}

// TestReplacedRemarksAreGone checks that remarks which the app has replaced are not given to the model again.
func TestReplacedRemarksAreGone(t *testing.T) {
	t.Parallel()
	f := newSpineFixture()
	f.sessions = []conversation.Session{f.session("a", "coach_conversation", "text", 5*time.Minute)}
	f.due.Spine = longterm.Spine{
		CoachID: "mia", Text: "so far", Wins: []string{"won"}, UpdatedAt: f.now.Add(-time.Hour), Version: 3,
		CoveredTo: f.now.Add(-time.Hour),
	}
	f.due.ReplacedAt = f.now.Add(-time.Hour)
	f.check(t, sweep.Removed, 1)
	if strings.Contains(f.inputs[0], "won") || !strings.Contains(f.inputs[0], "so far") {
		t.Errorf("the model was given\n%s", f.inputs[0])
	}
}
