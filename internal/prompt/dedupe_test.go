package prompt_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/prompt"
	"github.com/throughline/throughline/internal/prompt/pack"
	"github.com/throughline/throughline/internal/recall"
	"github.com/throughline/throughline/internal/testing/check"
)

// exchanges are n questions with their answers, each word padded to some ten tokens.
func exchanges(n int) []line {
	var lines []line
	for i := range n {
		at := time.Duration(2*i) * minute
		lines = append(lines, says(at, fmt.Sprint("What about squats, bands and knees, number ", i, "?")),
			answers(at+minute, fmt.Sprint("Start light and watch the knee, number ", i, ".")))
	}
	return lines
}

// today is a user who has talked in another session today, which has a summary, and now talks to the coach.
func today(w *fixture, in string, ago time.Duration, messages int) (prompt.Request, *person) {
	p := w.user("u")
	summarize(p.converse("earlier", in, "c", now.Add(-ago), exchanges(messages/2)...), "They sorted out the squats.")
	p.converse("here", "coach_conversation", "c", now.Add(-minute), says(0, "own words"))
	p.snapshot.Seed = &longterm.Seed{Content: "Prefers short answers."}
	return prompt.Request{Context: "coach_conversation", SessionID: "here", CoachID: "c", Message: "next"}, p
}

// itemOf is the manifest's line about a session in a block.
func itemOf(t *testing.T, p prompt.Prompt, block, session string) prompt.Item {
	t.Helper()
	for _, i := range blockOf(t, p, block).Items {
		if i.SessionID == session {
			return i
		}
	}
	t.Fatalf("%s has no line about %s", block, session)
	return prompt.Item{}
}

// The latest session summary is not in the prompt beside its own session's whole transcript, and is where a part of
// that is missing.
func TestSummaryGivesWayToItsTranscript(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		messages, budget int
		want             pack.Decision
		transcript       pack.Decision
	}{
		"whole": {4, 4000, pack.Dropped, pack.Included},
		"cut":   {60, 900, pack.Included, pack.Trimmed},
	} {
		t.Run(name, func(t *testing.T) {
			w := newFixture()
			r, _ := today(w, "coach_conversation", 3*time.Hour, tt.messages)
			r.Budget = &prompt.Budget{Tokens: tt.budget}
			p := build(t, w.service(now), "u", r)
			summary, transcript := itemOf(t, p, "session_summary", "earlier"), itemOf(t, p, "thread_history", "earlier")
			if summary.Decision != tt.want || transcript.Decision != tt.transcript {
				t.Errorf("summary %+v\ntranscript %+v", summary, transcript)
			}
			check.Equal(t, (tt.want == pack.Included), strings.Contains(systemText(p), "They sorted out"),
				"the summary is in the prompt")
			if tt.want == pack.Dropped && summary.Reason != "its messages are in the prompt whole" {
				t.Errorf("reason %q", summary.Reason)
			}
		})
	}
}

// What recent activity sums up of another conversation of today is in the prompt message by message only from what the
// budget leaves after all other blocks; the active thread's conversations are in the prompt in their place all the
// same.
func TestTranscriptGivesWayToRecentActivity(t *testing.T) {
	t.Parallel()
	const summedUp = "recent_activity has its summary"
	for name, tt := range map[string]struct {
		ago    time.Duration
		budget int
		want   pack.Decision
		reason string
	}{
		"room for it":       {3 * time.Hour, 4000, pack.Included, "all of its 10 messages"},
		"no room":           {3 * time.Hour, 345, pack.Dropped, summedUp},
		"the active thread": {20 * minute, 4000, pack.Included, "all of its 10 messages"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newFixture()
			r, _ := today(w, "program_designer", tt.ago, 10)
			r.Budget = &prompt.Budget{Tokens: tt.budget}
			p := build(t, w.service(now), "u", r)
			if !strings.Contains(systemText(p), "They sorted out the squats.") ||
				!strings.Contains(systemText(p), "Prefers short answers.") {
				t.Errorf("the summary or the seed is missing:\n%s", systemText(p))
			}
			got := itemOf(t, p, "thread_history", "earlier")
			if got.Decision != tt.want || got.Reason != tt.reason {
				t.Errorf("transcript %+v", got)
			}
		})
	}
}

// What was said since the summary is no repetition of it.
func TestTranscriptAfterTheSummaryIsInThePrompt(t *testing.T) {
	t.Parallel()
	w := newFixture()
	r, p := today(w, "program_designer", 3*time.Hour, 20)
	p.sessions[0].Summary.CoveredThrough = 10
	r.Budget = &prompt.Budget{Tokens: 535}
	got := itemOf(t, build(t, w.service(now), "u", r), "thread_history", "earlier")
	if got.Decision != pack.Trimmed || !strings.HasPrefix(got.Reason, "6 of its 20 messages; the others: ") {
		t.Errorf("transcript %+v", got)
	}
}

// On a busy day, the conversations before the newest messages are read too, session by session, and are in the prompt
// in full; what has no summary is named in the manifest.
func TestBusyDay(t *testing.T) {
	t.Parallel()
	w := newFixture()
	p := w.user("u")
	p.converse("unsummed", "coach_conversation", "c", now.Add(-26*time.Hour), says(0, "yesterday"))
	for i := range 3 {
		s := p.converse(fmt.Sprint("morning", i), "coach_conversation", "c", now.Add(-time.Duration(12-i)*time.Hour),
			exchanges(2)...)
		summarize(s, fmt.Sprint("They planned morning ", i, "."))
	}
	p.converse("busy", "coach_conversation", "c", now.Add(-5*time.Hour), exchanges(60)...)
	p.converse("here", "coach_conversation", "c", now)
	got := build(t, w.service(now), "u", prompt.Request{
		Context: "coach_conversation", SessionID: "here", CoachID: "c",
		Message: "next", Budget: &prompt.Budget{Tokens: 9000},
	})
	for session, messages := range map[string]int{"busy": 120, "morning0": 4, "morning1": 4, "morning2": 4} {
		want := fmt.Sprintf("all of its %d messages", messages)
		if item := itemOf(t, got, "thread_history", session); item.Reason != want {
			t.Errorf("%s: %+v", session, item)
		}
	}
	if item := itemOf(t, got, "session_summaries", "unsummed"); item.Decision != pack.Dropped ||
		item.Reason != "it had no summary then" {
		t.Errorf("line %+v", item)
	}
}

// A short history's search answers with all of it: what is far below the best, or has nothing of the message, is
// left to the transcripts; what a transcript has in its place must be clearly better. What another block has already
// sets no measure.
func TestOnlyNearMessagesAreRelevant(t *testing.T) {
	t.Parallel()
	w := newFixture()
	p := w.user("u")
	p.converse("old", "coach_conversation", "c", now.Add(-100*time.Hour),
		says(0, "asked before"), says(minute, "near"), says(2*minute, "near enough"), says(3*minute, "far"), says(4*minute,
			"of no likeness"))
	p.converse("morning", "coach_conversation", "c", now.Add(-3*time.Hour), says(0, "far, of today"),
		answers(minute, "near, of today"))
	p.converse("here", "coach_conversation", "c", now.Add(-minute), says(0, "the same again"))
	for id, score := range map[string]float64{
		"msg_here_1": 3, "msg_old_2": 0.5, "msg_old_3": 0.02, "msg_old_4": 0.007, "msg_morning_1": 0.04,
		"msg_morning_2": 0.06, "msg_old_5": -0.1,
	} {
		hit := recall.Hit{ID: id, Message: p.message(t, id), Score: score, Irrelevant: score < 0.01}
		p.hits = append(p.hits, hit)
	}
	got := build(t, w.service(now), "u",
		prompt.Request{Context: "coach_conversation", SessionID: "here", CoachID: "c", Message: "next"})
	decided := map[string]string{}
	for _, i := range blockOf(t, got, "relevant_messages").Items {
		decided[i.ID] = i.Reason
	}
	want := map[string]string{
		"msg_here_1": "repeats recent_messages", "msg_old_2": "fits whole", "msg_old_3": "fits whole",
		"msg_old_4":     "not relevant enough",
		"msg_morning_1": "not relevant enough", "msg_morning_2": "repeats thread_history", "msg_old_5": "not relevant enough",
	}
	check.Same(t, want, decided, "the result")
	if item := itemOf(t, got, "thread_history", "morning"); item.Reason != "all of its 2 messages" {
		t.Errorf("transcript %+v", item)
	}
}
