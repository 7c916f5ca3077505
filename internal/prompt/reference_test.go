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

// A reference names its day in its own language: "hier" is yesterday in French alone. In a sentence of two languages it
// is the language of the phrase that says more. A day in another sentence is not the reference's.
func TestReferenceNamesADay(t *testing.T) {
	t.Parallel()
	w := newFixture()
	p := w.user("u")
	p.converse("older", "coach_conversation", "c", now.Add(-50*24*time.Hour), says(0, "said older"))
	p.converse("thursday", "coach_conversation", "c", now.Add(-7*24*time.Hour), says(0, "said last thursday"))
	p.converse("lastweek", "coach_conversation", "c", now.Add(-6*24*time.Hour), says(0, "said last week"))
	p.converse("before", "coach_conversation", "c", now.Add(-46*time.Hour), says(0, "said before"))
	p.converse("yesterday", "coach_conversation", "c", now.Add(-20*time.Hour), says(0, "said yesterday"),
		says(18*time.Hour, "said later"))
	p.converse("newest", "coach_conversation", "c", now.Add(-time.Hour), says(0, "said newest"))
	p.converse("here", "coach_conversation", "c", now)
	for message, want := range map[string]string{
		"What did you tell me 2 days ago?":                             "said before",
		"As we agreed seven weeks ago.":                                "",
		"What did we decide three days ago?":                           "",
		"Was haben wir vor zwei Tagen besprochen?":                     "said before",
		"Me dijiste hace dos días que descansara.":                     "said before",
		"As we said yesterday.":                                        "said yesterday",
		"What did we say the day before yesterday?":                    "said before",
		"As we said. Yesterday I slept.":                               "said newest",
		"What did we decide on Tuesday?":                               "said before",
		"As we said last Friday.":                                      "said last week",
		"As we said on Thursday.":                                      "said last thursday",
		"Yesterday we agreed that I run on Friday.":                    "said yesterday",
		"Wie am Dienstag besprochen.":                                  "said before",
		"Me dijiste el martes que descansara.":                         "said before",
		"Tu m'as dit mardi de me reposer.":                             "said before",
		"Você disse na terça que eu devia descansar.":                  "said before",
		"Martedì abbiamo parlato di ciò.":                              "said before",
		"Je zei dinsdag dat ik moest rusten.":                          "said before",
		"Wie gestern besprochen.":                                      "said yesterday",
		"Wie letzte Woche besprochen.":                                 "said last week, said last thursday",
		"Wie besprochen, hier bin ich.":                                "said newest",
		"Wie besprochen.":                                              "said newest",
		"Me dijiste ayer que descansara.":                              "said yesterday",
		"As we talked about on Tuesday, du meintest es.":               "said before",
		"Tu m'as dit hier de me reposer.":                              "said yesterday",
		"Tu m'as dit avant-hier de me reposer.":                        "said before",
		"Você disse ontem que eu devia descansar.":                     "said yesterday",
		"La settimana scorsa abbiamo parlato di ciò.":                  "said last week, said last thursday",
		"Je zei gisteren dat ik moest rusten.":                         "said yesterday",
		"我们星期二说过什么？":                                                   "said before",
		"上週五你說過什麼？":                                                    "said last week",
		"金曜に私が言ったことは？":                                                 "said last week",
		"ماذا قلت لك يوم الثلاثاء؟":                                    "said before",
		"मंगलवार को मैंने क्या कहा था?":                                "said before",
		"วันอังคารเราคุยเรื่องอะไร":                                    "said before",
		"What did I say letzten Dienstag?":                             "said before",
		"Yesterday, " + strings.Repeat("la ", 45) + "as we discussed.": "said yesterday",
	} {
		got := build(t, w.service(now), "u",
			prompt.Request{Context: "coach_conversation", SessionID: "here", CoachID: "c", Message: message})
		check.Equal(t, want, referenced(t, w, got), "%q pulls", message)
	}
}

// TestReferenceBeyondTheNewestMessages names a day, or the last talk, that lies before the newest messages which are
// read: one more read finds it, whatever the length of the history. A workout that a form has saved is no talk. A day
// on which nothing was said brings nothing.
func TestReferenceBeyondTheNewestMessages(t *testing.T) {
	t.Parallel()
	for _, long := range []int{120, 1200} {
		w := newFixture()
		p := w.user("u")
		p.converse("tuesday", "coach_conversation", "c", now.Add(-9*24*time.Hour), says(0, "said on Tuesday"))
		p.converse("sunday", "coach_conversation", "c", now.Add(-4*24*time.Hour), says(0, "said on Sunday"))
		summarize(p.converse("form", "workout_log", "c", now.Add(-3*time.Hour)), "They logged swings.")
		p.sessions[2].CompletedAt = now.Add(-3 * time.Hour)
		others, took := numbered(long, "theirs")
		p.converse("tom", "coach_conversation", "tom", now.Add(-took), others...)
		p.converse("here", "coach_conversation", "c", now)
		for message, want := range map[string]string{
			"What did we decide on Sunday?":                "said on Sunday",
			"What did we decide on Tuesday?":               "",
			"What did we decide nine days ago?":            "",
			"What did we decide last week?":                "said on Sunday, said on Tuesday",
			"What did we decide on Monday?":                "",
			"Let us continue where we left off.":           "said on Sunday",
			"What is a good warm-up on Sunday?":            "",
			"What did we decide the day before yesterday?": "",
		} {
			r := request(prompt.Unified)
			r.Message = message
			w.calls = map[string]int{}
			got := build(t, w.service(now), "u", r)
			check.Equal(t, want, referenced(t, w, got), "%d messages: %q pulls", long, message)
			if reads := w.calls["messages"] + w.calls["before"] + w.calls["tail"]; reads > 5 {
				t.Errorf("%d messages: %q takes %d reads", long, message, reads)
			}
		}
	}
}

// TestReferenceToThisSession names the day on which this session began. What was said elsewhere then is meant, because
// its own messages are in the prompt.
func TestReferenceToThisSession(t *testing.T) {
	t.Parallel()
	w := newFixture()
	p := w.user("u")
	p.converse("there", "coach_conversation", "c", now.Add(-26*time.Hour), says(0, "We keep the taper."))
	p.converse("here", "coach_conversation", "c", now.Add(-25*time.Hour), says(0, "What about rowing?"))
	r := request(prompt.Unified)
	r.SessionID, r.Message = "here", "What did we say about kettlebells yesterday?"
	check.Equal(t, "We keep the taper.", referenced(t, w, build(t, w.service(now), "u", r)), "pulls")
}

// TestReferenceToAWeek asks without a topic for a week of several conversations. A small prompt has the end of each, a
// larger one the last six messages of each. Thanks are not among them.
func TestReferenceToAWeek(t *testing.T) {
	t.Parallel()
	w := newFixture()
	p := w.user("u")
	for day := 5; day <= 8; day++ {
		lines, _ := numbered(8, fmt.Sprintf("%d days ago we spoke of the plan at length, and of what is next: ", day))
		lines = append(lines, says(minute*20, "Thanks!"))
		p.converse(fmt.Sprint("day", day), "coach_conversation", "c", now.Add(-time.Duration(day)*24*time.Hour), lines...)
	}
	p.converse("here", "coach_conversation", "c", now)
	for budget, each := range map[int]int{500: 1, 4000: 6} {
		r := request(prompt.Unified)
		r.Message, r.Budget = "¿De qué hablamos la semana pasada?", &prompt.Budget{Tokens: budget}
		got := referenced(t, w, build(t, w.service(now), "u", r))
		for day := 5; day <= 8; day++ {
			if n := strings.Count(got, fmt.Sprint(day, " days ago")); n < each || strings.Contains(got, "Thanks") {
				t.Errorf("%d tokens: %d messages of %d days ago: %s", budget, n, day, got)
			}
		}
	}
}

// referenced returns the text that a prompt has because the message refers back.
func referenced(t *testing.T, w *fixture, p prompt.Prompt) string {
	t.Helper()
	var texts []string
	for _, i := range blockOf(t, p, "relevant_messages").Items {
		if i.Reason == "the message refers back to this conversation" {
			texts = append(texts, w.user("u").message(t, i.ID).Content)
		}
	}
	return strings.Join(texts, ", ")
}

// Of a session that is referred to the last six messages are in the prompt, in the order in which they were said. One
// that the search finds less than half as near as another is not meant, however near this session's own messages are.
// Of those that are at least half as near, the newest is meant.
func TestReferenceIsBounded(t *testing.T) {
	t.Parallel()
	w := newFixture()
	p := w.user("u")
	var lines []line
	for i := range 9 {
		lines = append(lines, says(time.Duration(i)*minute, fmt.Sprintf("taper %d", i)))
	}
	p.converse("far", "training_program", "c", now.Add(-6*24*time.Hour), lines...)
	p.converse("newer", "training_program", "c", now.Add(-5*24*time.Hour), says(0, "Something else entirely."))
	p.converse("here", "coach_conversation", "c", now.Add(-minute), says(0, "The taper?"))
	p.hits = []recall.Hit{
		{ID: "0", Score: 2, Message: p.message(t, "msg_here_1")},
		{ID: "1", Score: 0.8, Message: p.message(t, "msg_far_9")},
		{ID: "2", Score: 0.3, Message: p.message(t, "msg_newer_1")},
	}
	r := prompt.Request{
		Context: "coach_conversation", SessionID: "here", CoachID: "c", Message: "Keep the taper as we said.",
	}
	got := build(t, w.service(now), "u", r)
	var shown []string
	for line := range strings.SplitSeq(sectionOf(systemText(got), "# EARLIER MESSAGES THAT MAY MATTER NOW\n"), "\n") {
		if text, begins := behindLabel(line); begins {
			shown = append(shown, text)
		}
	}
	want := []string{"taper 3", "taper 4", "taper 5", "taper 6", "taper 7", "taper 8", "Something else entirely."}
	check.Same(t, want, shown, "the result")
	p.hits[2].Score = 0.4
	check.Equal(t, "Something else entirely.", referenced(t, w, build(t, w.service(now), "u", r)), "half as near: pulls")
}
