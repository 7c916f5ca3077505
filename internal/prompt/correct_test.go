package prompt_test

import (
	"strings"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/prompt"
	"github.com/throughline/throughline/internal/recall"
	"github.com/throughline/throughline/internal/testing/check"
)

// recalled is a user with messages of long ago, found best first.
func recalled(w *fixture, lines ...line) (*person, prompt.Request) {
	p := w.user("u")
	p.converse("past", "program_designer", "c", now.Add(-900*time.Hour), lines...)
	for i := range p.messages {
		p.hits = append(p.hits, recall.Hit{ID: p.messages[i].ID, Score: 0.9 - float64(i)/100, Message: &p.messages[i]})
	}
	p.converse("here", "coach_conversation", "c", now.Add(-time.Minute))
	return p, prompt.Request{
		Context: "coach_conversation", SessionID: "here", CoachID: "c", Message: "Where do I live?", SkipSave: true,
	}
}

// ended is a memory that ended, with the message that it is from.
func ended(id, by string, reason longterm.EndedReason, at time.Time, message string) longterm.Memory {
	return longterm.Memory{
		ID: id, Type: longterm.ProfileMemory, Source: longterm.Extracted, Content: "The user said " + id + ".",
		SupersededBy: by, EndedReason: reason, ValidUntil: at, MessageIDs: []string{message},
	}
}

// TestCorrectionsTravel marks a found message whose statement was replaced, once or twice, by a message or by the app,
// taken back or is over, with what took its place, at any budget that has the message at all. Messages whose statements
// hold have no mark.
func TestCorrectionsTravel(t *testing.T) {
	t.Parallel()
	w := newFixture()
	p, r := recalled(w, says(0, "I live in Porto."), says(1, "I have a dog."), says(2, "I am a pirate king."),
		says(3, "I work as a nurse."), says(4, "I lived in Rome until I moved. "+strings.Repeat("Rome is loud. ", 60)),
		says(5, "I take 22 units."), answers(6, "Then 22 it is."), says(7, "I weigh 80 kilos."), says(8, "I own a boat."),
		says(9, "I play the harp."), says(10, "I drive a van."), says(11, "I rent a flat."))
	day := now.AddDate(0, 0, -9)
	p.snapshot.Memories = []longterm.Memory{
		ended("porto", "faro", longterm.EndedReplaced, day, "msg_past_1"),
		ended("faro", "lagos", longterm.EndedReplaced, day.AddDate(0, 0, 4), "msg_other"),
		ended("units", "", longterm.EndedFalse, day, "msg_past_6"),
		{ID: "lagos", Type: longterm.ProfileMemory, Source: longterm.Extracted, Content: "The user lives in Lagos."},
		ended("dog", "", longterm.EndedOver, day, "msg_past_2"), ended("king", "", longterm.EndedFalse, day, "msg_past_3"),
		{
			ID: "nurse", Type: longterm.ProfileMemory, Content: "Is a nurse.", MessageIDs: []string{"msg_past_4"},
			EditedAt: day.AddDate(-1, 0, 0), // before the message
		},
		{
			ID: "weight", Type: longterm.ProfileMemory, Content: "The user weighs 81 kilos.", EditedAt: day,
			MessageIDs: []string{"msg_past_8"},
		},
		{
			ID: "boat", Type: longterm.ProfileMemory, Content: "Owns two boats.", EditedAt: day, Status: longterm.Waiting,
			MessageIDs: []string{"msg_past_9"},
		},
		ended("rome", "lagos", longterm.EndedReplaced, day, "msg_past_5"),
		// The app has ended these, and given the time alone, the successor alone, and the last day with a reason.
		ended("harp", "", "", day, "msg_past_10"),
		{ID: "van", Content: "Drives a van.", SupersededBy: "bus", UpdatedAt: day, MessageIDs: []string{"msg_past_11"}},
		{
			ID: "flat", Content: "Rents a flat.", Until: check.Got(longterm.ParseMoment("2026-01-26"))(t),
			EndedReason: longterm.EndedOver, MessageIDs: []string{"msg_past_12"},
		},
	}
	for budget := 256; budget < 4000; budget += 61 {
		r.Budget = &prompt.Budget{Tokens: budget}
		text := systemText(build(t, w.service(now), "u", r))
		for said, mark := range map[string]string{
			"I live in Porto.":    " (since replaced on 31 January 2026: The user lives in Lagos.)",
			"I weigh 80 kilos.":   " (since replaced on 27 January 2026: The user weighs 81 kilos.)",
			"I take 22 units.":    " (not true, the user said on 27 January 2026)",
			"I have a dog.":       " (over since 27 January 2026)",
			"I am a pirate king.": " (not true, the user said on 27 January 2026)",
			"I work as a nurse.":  "\n",
			"I own a boat.":       "\n",
			"I play the harp.":    " (over since 27 January 2026)",
			"I drive a van.":      " (since replaced on 27 January 2026)",
			"I rent a flat.":      " (over since 27 January 2026)",
		} {
			if _, rest, told := strings.Cut(text, "[User] "+said); told && !strings.HasPrefix(rest+"\n", mark) {
				t.Errorf("%d tokens: %q is followed by %.80q", budget, said, rest)
			}
		}
		if strings.Count(text, "Then 22 it is.") != strings.Count(text, "Then 22 it is. (not true, the user said on 27 ") {
			t.Errorf("%d tokens: an answer has no mark:\n%s", budget, text)
		}
		if strings.Contains(text, "Rome is loud") && !strings.Contains(text, "… (since replaced on 27 January 2026: The") {
			t.Errorf("%d tokens: a long message lost its mark:\n%s", budget, text)
		}
		if budget > 3000 && strings.Count(text, "since replaced") != 4 {
			t.Errorf("%d tokens: marks are missing:\n%s", budget, text)
		}
	}
}

// TestSuccessorOfAnotherContext marks a message whose successor the user keeps apart, and whose statement was also made
// there, without a word of it.
func TestSuccessorOfAnotherContext(t *testing.T) {
	t.Parallel()
	w := newFixture()
	p, r := recalled(w, says(0, "I live in Porto."))
	p.converse("apart", "workout_log", "c", now.Add(-99*time.Hour), says(0, "secret-home"))
	p.access.Preferences.Unshared = map[string]bool{"workout_log": true}
	porto := ended("secret-porto", "faro", longterm.EndedReplaced, now.AddDate(0, 0, -9), "msg_past_1")
	porto.MessageIDs = append(porto.MessageIDs, "msg_apart_1")
	p.snapshot.Memories = []longterm.Memory{
		porto,
		{
			ID: "faro", Type: longterm.ProfileMemory, Source: longterm.Extracted, Content: "secret-home",
			MessageIDs: []string{"msg_apart_1"},
		},
	}
	text := systemText(build(t, w.service(now), "u", r))
	if !strings.Contains(text, "in Porto. (since replaced on 27 January 2026)") || strings.Contains(text, "secret") {
		t.Error(text)
	}
}

// TestAnswersGoWithTheirQuestions tells a short answer of the assistant with what it answers, also where that alone is
// not relevant, and no answer that says only that something was received.
func TestAnswersGoWithTheirQuestions(t *testing.T) {
	t.Parallel()
	w := newFixture()
	p, r := recalled(w, says(0, "How often should I stretch?"), answers(1, "Twice a week."), says(2, "I moved the mat."),
		answers(3, "Noted."), says(4, "Unrelated words."))
	p.hits[0].Irrelevant, p.hits[0].Score = true, 0.001
	p.hits[4].Irrelevant, p.hits[4].Score = true, 0.001
	text := systemText(build(t, w.service(now), "u", r))
	if !strings.Contains(text, "[User] How often should I stretch?\n[Assistant] Twice a week.") ||
		strings.Contains(text, "Noted.") || strings.Contains(text, "Unrelated") {
		t.Error(text)
	}
}

// TestShortAnswersStayBehindTheirQuestions leaves a short answer out of a transcript if another block has its question:
// it would follow another message there. A longer one is told, also where it is cut.
func TestShortAnswersStayBehindTheirQuestions(t *testing.T) {
	t.Parallel()
	w := newFixture()
	p := w.user("u")
	p.converse("there", "program_designer", "c", now.Add(-3*time.Hour), says(0, "I drank again."),
		says(minute, "I went to the meeting."), answers(2*minute, "Very good."), says(3*minute, "It rains here."),
		answers(4*minute, "Then stay in."), says(5*minute, "I skipped it."),
		answers(6*minute, "Tell me more. "+strings.Repeat("Well. ", 30)), says(7*minute, "I went home."),
		answers(8*minute, "Rest well. "+strings.Repeat("Sleep. ", 300)))
	summarize(&p.sessions[0], "They talked.")
	for _, i := range []int{1, 5, 7} {
		p.hits = append(p.hits, recall.Hit{ID: p.messages[i].ID, Score: 0.9, Message: &p.messages[i]})
	}
	p.converse("here", "coach_conversation", "c", now.Add(-minute))
	text := systemText(build(t, w.service(now), "u", prompt.Request{
		Context: "coach_conversation", SessionID: "here", CoachID: "c", Message: "Which meeting was it?", SkipSave: true,
	}))
	for _, told := range []string{
		"I drank again.", "I went to the meeting.", "It rains here.", "Then stay in.", "Tell me more.", "Rest well.",
	} {
		check.Contains(t, text, told, "the prompt")
	}
	check.Lacks(t, text, "Very good.", "the prompt")
}

const (
	summarized   = "The user weighs 92 kilos these days."
	replacedMark = " (since replaced on 5 February 2026: The user weighs 81 kilos)"
)

// weighed is a user whose weight in the summary of one session was replaced. The summary of another session has the
// same words about somebody else. The message is the evidence of the memory.
func weighed(w *fixture, message string) {
	p := w.user("u")
	summarize(p.converse("brother", "workout_log", "c", now.Add(-26*time.Hour), says(0, "My brother is here.")),
		"His brother told the user that he weighs 92 kilos. They ran.")
	said := now.Add(-20 * time.Hour)
	summarize(p.converse("past", "program_designer", "c", said, says(0, "I weigh 92 kilos."), answers(1, "Noted.")),
		"They ran 10 km. "+summarized+" They like tea. "+strings.Repeat("They walk a lot. ", 9))
	p.converse("here", "coach_conversation", "c", now.Add(-time.Minute), says(0, "Hello there, coach"))
	p.hits = []recall.Hit{summaryHit(&p.sessions[1], 0.9), summaryHit(&p.sessions[0], 0.8)}
	m := ended("old", "new", longterm.EndedReplaced, now.Add(-time.Hour), message)
	m.Content, m.SaidAt = "The user weighs 92 kilos", said
	p.snapshot.Memories = []longterm.Memory{m, {
		ID: "new", Type: longterm.ProfileMemory, Source: longterm.Extracted, Content: "The user weighs 81 kilos",
	}}
}

// TestSummariesAreCorrected marks the sentence of a session's summary that says what was replaced since, in each recipe
// that tells it and at any budget, also where the message that said it is not read. Nothing else has a mark.
func TestSummariesAreCorrected(t *testing.T) {
	t.Parallel()
	for _, recipe := range recipeNames() {
		for _, evidence := range []string{"msg_past_1", "msg_unread"} {
			w := newFixture()
			weighed(w, evidence)
			r := prompt.Request{
				Recipe: recipe, Context: "coach_conversation", SessionID: "here", CoachID: "c",
				Message: "How much do I weigh in kilos?", SkipSave: true,
			}
			told := false
			for budget := 200; budget < 1700; budget += 7 {
				r.Budget = &prompt.Budget{Tokens: budget}
				got, err := w.service(now).Build(t.Context(), "u", r)
				if err != nil {
					continue // it has no room for what the recipe must have
				}
				text := everything(got)
				_, rest, found := strings.Cut(text, summarized[:len(summarized)-1])
				told = told || found
				if found && !strings.HasPrefix(rest, "."+replacedMark) ||
					strings.Count(text, "since replaced") != strings.Count(text, summarized) {
					t.Fatalf("%s, %d tokens:\n%s", recipe, budget, text)
				}
			}
			if isOwn := recipe == prompt.WorkingContext; told == isOwn {
				t.Errorf("%s tells the summary: %v", recipe, told)
			}
		}
	}
}

// TestQuotesAreCorrected marks each message that is quoted because no summary has it yet: one whose words the memory
// has, one in other words, and one of which the app has changed what was noted. No budget has one without its mark.
func TestQuotesAreCorrected(t *testing.T) {
	t.Parallel()
	long := strings.Repeat(" And on and on.", 16)
	w := newFixture()
	p := w.user("u")
	p.converse("there", "program_designer", "c", now.Add(-3*time.Hour),
		says(0, "The user said home."+long), says(minute, "Am 20."), says(2*minute, "Lea may have peanuts."))
	day := now.Add(-time.Hour)
	age := ended("age", "", longterm.EndedFalse, day, "msg_there_2")
	age.Content = "Twenty years old."
	p.snapshot.Memories = []longterm.Memory{
		ended("home", "", longterm.EndedOver, day, "msg_there_1"), age,
		{
			ID: "lea", Type: longterm.ProfileMemory, Content: "Lea may have cashews.", EditedAt: day,
			MessageIDs: []string{"msg_there_3"},
		},
	}
	p.converse("here", "coach_conversation", "c", now.Add(-minute), says(0, "hi"))
	r := prompt.Request{Context: "coach_conversation", SessionID: "here", CoachID: "c", Message: "next"}
	for tokens := 256; tokens < 600; tokens++ {
		r.Budget = &prompt.Budget{Tokens: tokens}
		_, told, isTold := strings.Cut(systemText(build(t, w.service(now), "u", r))+"\n", "hours ago]: ")
		if isTold || tokens > 500 {
			check.Contains(t, told, `home.`+long+`" (over since 5 February 2026) User: "Am 20." (not true, the user said on 5 `+
				`February 2026) User: "Lea may have peanuts." (since replaced on 5 February 2026: Lea may have cashews.)`+"\n",
				"%d tokens", tokens)
		}
	}
}

// TestMarkSaysWhatEnded marks a message that said several things with each that ended, and names it: the others hold. A
// statement whose last day has passed has a mark, too, and none one that holds again.
func TestMarkSaysWhatEnded(t *testing.T) {
	t.Parallel()
	w := newFixture()
	p, r := recalled(w, says(0, "My mother is allergic to penicillin, my aunt to iodine, my father to nuts."),
		says(1, "My wrist is broken, and I live in Porto."), says(2, "I take pills."),
		says(3, "The EpiPen is in the drawer."), says(4, "I take 22 units, and I live in Porto."),
		answers(5, "22 units, I see."), says(6, "I take 33 units, and I live in Rome."), answers(7, "Rome is loud."))
	day := now.AddDate(0, 0, -9)
	aunt := ended("aunt", "other", longterm.EndedReplaced, day.AddDate(0, 0, 1), "msg_past_1")
	p.snapshot.Memories = []longterm.Memory{
		ended("mother", "", longterm.EndedFalse, day, "msg_past_1"), aunt,
		{ID: "other", Type: longterm.ProfileMemory, Source: longterm.Extracted, Content: "The aunt may have iodine."},
		ended("wrist", "", longterm.EndedOver, day, "msg_past_2"),
		{ID: "porto", Type: longterm.ProfileMemory, Content: "Lives in Porto.", MessageIDs: []string{"msg_past_2"}},
		{
			ID: "pills", Type: longterm.ProfileMemory, Source: longterm.Extracted, Content: "The user takes pills.",
			Pinned: true, Until: longterm.Moment{Day: "2026-01-30"}, MessageIDs: []string{"msg_past_3", "msg_other"},
		},
		ended("drawer", "box", longterm.EndedReplaced, day, "msg_past_4"),
		ended("box", "", longterm.EndedFalse, day, "msg_elsewhere"), // so that the drawer holds again
		ended("22", "", longterm.EndedOver, day, "msg_past_5"), ended("home", "", longterm.EndedOver, day, "msg_past_5"),
		ended("33", "", longterm.EndedOver, day, "msg_past_7"), ended("land", "", longterm.EndedOver, day, "msg_past_7"),
		{ID: "again", Type: longterm.ProfileMemory, Content: "the user said Drawer"},
	}
	text := systemText(build(t, w.service(now), "u", r))
	for _, want := range []string{
		`my father to nuts. ("The user said aunt.": since replaced on 28 January 2026: The aunt may have iodine.) ` +
			`("The user said mother.": not true, the user said on 27 January 2026)` + "\n",
		`I live in Porto. ("The user said wrist.": over since 27 January 2026)` + "\n",
		`I take pills. ("The user takes pills.": over since 31 January 2026)` + "\n", "in the drawer.\n",
		`22 units, I see. ("The user said 22.": over since 27 January 2026)` + "\n", "Rome is loud.\n",
	} {
		if !strings.Contains(text+"\n", want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// TestTranscriptsAreCorrected marks the messages of another sitting that said what has ended, in each recipe that has
// transcripts: the end may have been said at the same time on another screen.
func TestTranscriptsAreCorrected(t *testing.T) {
	t.Parallel()
	for _, recipe := range []string{prompt.Unified, prompt.TieredHistory} {
		w := newFixture()
		p := w.user("u")
		p.converse("there", "program_designer", "c", now.Add(-3*time.Hour),
			says(0, "I live in Porto."), says(minute, "I take 22 units."), says(3*minute, "I have a dog."))
		p.converse("here", "coach_conversation", "c", now.Add(-3*minute), says(0, "hi"))
		summarize(&p.sessions[0], "They talked.")
		p.snapshot.Memories = []longterm.Memory{
			ended("home", "", longterm.EndedOver, now.Add(-time.Hour), "msg_there_1"),
			ended("units", "", longterm.EndedFalse, now.Add(-3*time.Hour+2*minute), "msg_there_2"),
		}
		text := everything(build(t, w.service(now), "u", prompt.Request{
			Recipe: recipe, Context: "coach_conversation", SessionID: "here", CoachID: "c", Message: "next",
		}))
		for _, line := range []string{
			"I live in Porto. (over since 5 February 2026)\n", "I have a dog.\n",
			"I take 22 units. (not true, the user said on 5 February 2026)\n",
		} {
			check.Contains(t, text, line, "%s", recipe)
		}
	}
}
