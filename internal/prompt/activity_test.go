package prompt_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/prompt"
	"github.com/throughline/throughline/internal/recall"
	"github.com/throughline/throughline/internal/testing/check"
)

// The specification's own story: a swap that was discussed in the program designer is known to the coach at once,
// with context and age, without a summary, without the designer session being closed, and without a vector index.
func TestSwapIsKnownAtOnce(t *testing.T) {
	t.Parallel()
	for _, way := range []struct{ from, label, to string }{
		{"program_designer", "Program Designer", "coach_conversation"},
		{"coach_conversation", "Coach", "program_designer"},
	} {
		t.Run(way.from, func(t *testing.T) {
			w := newFixture()
			p := w.user("u")
			p.converse("there", way.from, "c", now.Add(-2*time.Second),
				says(0, "Swap barbell hip thrusts for banded glute bridges"))
			p.converse("here", way.to, "c", now, says(0, "What about tomorrow?"))
			got := build(t, w.service(now), "u", prompt.Request{
				Context: way.to, SessionID: "here", CoachID: "c", Message: "What about tomorrow?", MessageID: "msg_here_1",
			})
			want := prompt.ActivityHeading + "\n[" + way.label +
				` - just now]: User: "Swap barbell hip thrusts for banded glute bridges"`
			check.Contains(t, systemText(got), want, "the prompt")
			items := blockOf(t, got, "recent_activity").Items
			if len(items) != 1 || items[0].SessionID != "there" || items[0].Context != way.from {
				t.Errorf("items %+v", items)
			}
		})
	}
}

// A summary that lacks the newest messages is in the prompt together with them; the session's own summary never is.
func TestActivityHasWhatTheSummaryLacks(t *testing.T) {
	t.Parallel()
	w := newFixture()
	p := w.user("u")
	there := summarize(p.converse("there", "program_designer", "c", now.Add(-3*time.Hour),
		says(0, "covered"), answers(minute, "covered too"), says(2*time.Hour, `news "quoted"`)), "The user changed the plan.")
	there.Summary.CoveredThrough = 2
	summarize(p.converse("here", "coach_conversation", "c", now.Add(-minute), says(0, "hi")), "own summary")
	got := build(t, w.service(now), "u",
		prompt.Request{Context: "coach_conversation", SessionID: "here", CoachID: "c", Message: "next"})
	const want = `[Program Designer - 1 hour ago]: The user changed the plan. Since then: User: "news 'quoted'"`
	if !strings.Contains(systemText(got), want) || strings.Contains(systemText(got), "own summary") {
		t.Errorf("activity: %s", systemText(got))
	}
}

// TestActivityLeavesOutWhatNobodySees has messages without visible text after the summary.
func TestActivityLeavesOutWhatNobodySees(t *testing.T) {
	t.Parallel()
	w := newFixture()
	p := w.user("u")
	p.converse("there", "program_designer", "c", now.Add(-3*time.Hour), says(0, "I run"), says(time.Minute, "\u200b"),
		says(2*time.Minute, " \n"))
	p.converse("blank", "workout_log", "c", now.Add(-2*time.Hour), says(0, "\u2060"))
	p.converse("here", "coach_conversation", "c", now.Add(-minute), says(0, "hi"))
	got := systemText(build(t, w.service(now), "u",
		prompt.Request{Context: "coach_conversation", SessionID: "here", CoachID: "c", Message: "next"}))
	if !strings.Contains(got, `User: "I run"`) || strings.Contains(got, `: ""`) || strings.Contains(got, "[Workout") {
		t.Errorf("activity: %s", got)
	}
}

// What is in the prompt: the last 48 hours, at most 5, this coach's, of other contexts that this one reads. Those stay
// that are near to the message or new. A session of two days ago gives way to newer ones, though it is nearer than they
// are. The newest come first.
func TestActivityScope(t *testing.T) {
	t.Parallel()
	w := newFixture()
	p := w.user("u")
	add := func(id, in, coach string, ago time.Duration) {
		summarize(p.converse(id, in, coach, now.Add(-ago), says(0, "x")), "sum of "+id+".")
	}
	for i := range 7 {
		add(fmt.Sprintf("d%d", i), "program_designer", "c", time.Duration(i+1)*time.Hour)
	}
	add("tom", "program_designer", "tom", minute)
	add("same", "coach_conversation", "c", minute)
	add("unread", "coach_creator", "c", minute)
	add("old", "workout_log", "c", 48*time.Hour+time.Millisecond)
	add("edge", "workout_log", "c", 48*time.Hour)
	p.hits = append(p.hits, summaryHit(&p.sessions[6], 0.9), // d6 is what the message is about
		summaryHit(&p.sessions[len(p.sessions)-1], 0.3))
	p.converse("here", "coach_conversation", "c", now)
	got := build(t, w.service(now), "u",
		prompt.Request{Context: "coach_conversation", SessionID: "here", CoachID: "c", Message: "next"})
	if items := blockOf(t, got, "recent_activity").Items; len(items) != 8 {
		t.Errorf("%d sessions are thought of, want the 7 of the designer and the one of 48 hours ago: %+v", len(items), items)
	}
	_, text, _ := strings.Cut(systemText(got), prompt.ActivityHeading+"\n")
	text, _, _ = strings.Cut(text, "\n\n")
	const want = `[Program Designer - 1 hour ago]: sum of d0.
[Program Designer - 2 hours ago]: sum of d1.
[Program Designer - 3 hours ago]: sum of d2.
[Program Designer - 4 hours ago]: sum of d3.
[Program Designer - 7 hours ago]: sum of d6.`
	if text != want {
		t.Errorf("activity:\n%s\nwant:\n%s", text, want)
	}
}

// workouts is a user with two sessions about one workout, both summarized, and one that is a form without messages.
func workouts(w *fixture) *person {
	p := w.user("u")
	about := func(id string, ago time.Duration, lines ...line) {
		s := p.converse(id, "workout_log", "c", now.Add(-ago), lines...)
		s.Attributes = map[string]any{"workoutId": "w_" + strings.TrimRight(id, "12")}
		s.CompletedAt = s.CreatedAt
		summarize(s, "Workout of "+id+".")
	}
	about("legs1", 5*time.Hour, says(0, "Squats."))
	about("legs2", 4*time.Hour, says(0, "More squats."))
	about("arms", 3*time.Hour)
	p.converse("here", "coach_conversation", "c", now)
	return p
}

// Of two summaries of one workout, the newer is in the prompt. Of the older session only the messages after its summary
// are. A form without messages is in the prompt as of the time of its summary.
func TestActivityIsNotSuperseded(t *testing.T) {
	t.Parallel()
	const arms = "[Workout Log - 3 hours ago]: Workout of arms.\n"
	const second = "[Workout Log - 4 hours ago]: Workout of legs2.\n"
	for covered, want := range map[int]string{
		1: arms + second,
		0: arms + second + `[Workout Log - 5 hours ago]: User: "Squats."`,
	} {
		w := newFixture()
		workouts(w).sessions[0].Summary.CoveredThrough = covered
		got := build(t, w.service(now), "u", request(prompt.Unified))
		text := sectionOf(systemText(got), prompt.ActivityHeading+"\n")
		if strings.TrimSpace(text) != strings.TrimSpace(want) {
			t.Errorf("activity:\n%s\nwant:\n%s", text, want)
		}
	}
}

// Without the list of sessions, the search's summaries and the messages replace it. With the list, a session that
// the search alone finds is not in the prompt.
func TestActivityWithoutTheSessionsList(t *testing.T) {
	t.Parallel()
	w := newFixture()
	p := w.user("u")
	there := summarize(p.converse("there", "program_designer", "c", now.Add(-3*time.Hour), says(0, "x")),
		"The user changed the plan.")
	p.hits = append(p.hits, summaryHit(there, 0.7))
	p.converse("log", "workout_log", "c", now.Add(-2*time.Hour), says(0, "Ran 3 km."))
	p.converse("here", "coach_conversation", "c", now)
	r := prompt.Request{Context: "coach_conversation", SessionID: "here", CoachID: "c", Message: "next"}
	w.fail["sessions"] = errBroken
	got := build(t, w.service(now), "u", r)
	for _, want := range []string{
		"[Program Designer - 3 hours ago]: The user changed the plan.", `[Workout Log - 2 hours ago]: User: "Ran 3 km."`,
	} {
		check.Contains(t, systemText(got), want, "the prompt")
	}
	delete(w.fail, "sessions")
	p.sessions, p.messages = p.sessions[1:], p.messages[1:]
	got = build(t, w.service(now), "u", r)
	if items := blockOf(t, got, "recent_activity").Items; len(items) != 1 || items[0].SessionID != "log" {
		t.Errorf("with the list: %+v", items)
	}
}

// A message that refers back brings the newest related session's messages in, whatever their rank.
func TestReferencePullsTheSession(t *testing.T) {
	t.Parallel()
	w := newFixture()
	p := w.user("u")
	p.converse("far", "training_program", "c", now.Add(-6*24*time.Hour),
		says(0, "The taper is two weeks."), answers(minute, "Two weeks it is, then the race."))
	p.converse("newer", "training_program", "c", now.Add(-5*24*time.Hour), says(0, "Something else entirely."))
	p.converse("here", "coach_conversation", "c", now)
	request := prompt.Request{
		Context: "coach_conversation", SessionID: "here", CoachID: "c",
		Message: "Keep the taper as we said.",
	}
	got := build(t, w.service(now), "u", request)
	if items := blockOf(t, got, "relevant_messages").Items; len(items) != 2 || items[0].SessionID != "far" {
		t.Errorf("without hits, the session with the word: %+v", items)
	}
	request.Message = "Keep the dessert as we said."
	if items := blockOf(t, build(t, w.service(now), "u", request), "relevant_messages").Items; len(items) != 0 {
		t.Errorf("nothing was said of it: %+v", items)
	}
	request.Message = "Keep the taper as we said."
	p.hits = nil
	hit := summaryHit(summarize(&p.sessions[0], "taper"), 0.4)
	p.sessions[0].Summary = nil
	p.hits = append(p.hits, hit)
	got = build(t, w.service(now), "u", request)
	block := blockOf(t, got, "relevant_messages")
	if len(block.Items) != 2 || block.Items[0].SessionID != "far" ||
		!strings.Contains(block.Items[0].Reason, "refers back") {
		t.Errorf("the related session: %+v", block.Items)
	}
	for _, message := range []string{
		"Like we discussed.", "As I told you before", "Let us pick up where we left off",
		"Continue where we left off.",
	} {
		request.Message = message
		items := blockOf(t, build(t, w.service(now), "u", request), "relevant_messages").Items
		if len(items) != 1 || items[0].SessionID != "newer" {
			t.Errorf("%q names no topic, and pulls %+v", message, items)
		}
	}
	request.Message = "Keep the taper."
	if items := blockOf(t, build(t, w.service(now), "u", request), "relevant_messages").Items; len(items) != 0 {
		t.Errorf("without a reference: %+v", items)
	}
}

// A session that is referred to and older than those that the store lists is known by what the search found: the newest
// of this coach's that are near to the message.
func TestReferenceBeyondTheList(t *testing.T) {
	t.Parallel()
	w := newFixture()
	p := w.user("u")
	p.converse("far", "training_program", "c", now.Add(-300*24*time.Hour), says(0, "The taper is two weeks."))
	p.converse("tom", "training_program", "tom", now.Add(-200*24*time.Hour), says(0, "The taper is three weeks."))
	p.converse("other", "training_program", "c", now.Add(-100*24*time.Hour), says(0, "A week of rest."))
	for i := range 30 { // the first 20 are listed, the last of them from before the tiers' days
		p.converse(fmt.Sprint("s", i), "training_program", "c", now.Add(-time.Duration(i+10)*10*time.Hour), says(0, "x"),
			says(1, "y"), says(2, "z"), says(3, "x"))
	}
	summarize(&p.sessions[3], "A letter.") // no more are read for the latest summary
	p.converse("here", "coach_conversation", "c", now)
	p.hits = []recall.Hit{
		{ID: "1", Score: 0.8, Message: p.message(t, "msg_far_1")},
		{ID: "2", Score: 0.7, Message: p.message(t, "msg_tom_1")},
		{ID: "3", Score: 0.3, Message: p.message(t, "msg_other_1")},
	}
	got := build(t, w.service(now), "u", prompt.Request{
		Context: "coach_conversation", SessionID: "here", CoachID: "c", Message: "Keep the taper as we said.",
	})
	items := blockOf(t, got, "relevant_messages").Items
	if len(items) != 3 || items[0].ID != "msg_far_1" || !strings.Contains(items[0].Reason, "refers back") {
		t.Errorf("items %+v", items)
	}
}

// A message that names a day points at a session of that day, in the user's time zone, however near another one is.
func TestReferenceToADay(t *testing.T) {
	t.Parallel()
	w := newFixture()
	p := w.user("u")
	day := func(id string, ago time.Duration) {
		p.converse(id, "coach_conversation", "c", now.Add(-ago), says(0, "said "+id))
	}
	day("weeks", 20*24*time.Hour)
	day("lastweek", 6*24*time.Hour) // now is a Thursday
	day("monday", 3*24*time.Hour)
	day("yesterday", 20*time.Hour)
	day("morning", 9*time.Hour)
	p.hits = append(p.hits, recall.Hit{ID: "msg_weeks_1", Message: p.message(t, "msg_weeks_1"), Score: 0.9})
	p.converse("here", "coach_conversation", "c", now)
	for message, want := range map[string]string{
		"What did we agree, as we said yesterday?": "yesterday", "Go on with what we said this morning.": "morning",
		"Last week we talked about squats.": "lastweek", "As we said about squats.": "weeks", "Like last time.": "morning",
	} {
		got := build(t, w.service(now), "u",
			prompt.Request{Context: "coach_conversation", SessionID: "here", CoachID: "c", Message: message})
		var pulled string
		for _, i := range blockOf(t, got, "relevant_messages").Items {
			if i.Reason == "the message refers back to this conversation" {
				pulled = i.SessionID
			}
		}
		if pulled != want {
			t.Errorf("%q pulls %q, want %q", message, pulled, want)
		}
	}
}

// The heading is the specification's to the byte: its line, two lines of text, a blank line, then the items
// (unified-conversation-context, "Prompt addition example").
func TestActivityReadsAsTheSpecification(t *testing.T) {
	t.Parallel()
	const want = `# RECENT ACTIVITY IN OTHER CONTEXTS
The user recently had the following interactions in other parts of the platform.
Use this for continuity, but don't assume actions were completed unless confirmed.

[Program Designer - 2 hours ago]: User was modifying their Deadlift Prep program. They wanted to swap barbell hip ` +
		`thrusts for banded glute bridges due to limited equipment at home. The change was discussed but may not have been ` +
		`completed.`
	w := newFixture()
	p := w.user("u")
	const text = `User was modifying their Deadlift Prep program.
They wanted to swap barbell hip thrusts for banded glute bridges due to limited
equipment at home. The change was discussed but may not have been completed.`
	summarize(p.converse("d", "program_designer", "c", now.Add(-2*time.Hour), says(0, "Swap?")), text)
	p.converse("s", "coach_conversation", "c", now.Add(-minute), says(0, "hi"))
	got := build(t, w.service(now), "u",
		prompt.Request{Context: "coach_conversation", SessionID: "s", CoachID: "c", Message: "next"})
	check.Contains(t, systemText(got), want, "the prompt")
}
