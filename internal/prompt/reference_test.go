package prompt_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/throughline/throughline/internal/prompt"
	"github.com/throughline/throughline/internal/recall"
)

// referenceCase is a line of testdata/references.txt.
type referenceCase struct {
	set, message string
	refers       bool
}

func referenceCases(t *testing.T) []referenceCase {
	t.Helper()
	file, err := os.ReadFile("testdata/references.txt")
	if err != nil {
		t.Fatal(err)
	}
	var cases []referenceCase
	var set string
	for line := range strings.Lines(string(file)) {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || line[0] == '#' || line[0] == '[':
		case strings.HasPrefix(line, "== "):
			set = line[3:]
		case strings.HasPrefix(line, "+ "), strings.HasPrefix(line, "- "):
			cases = append(cases, referenceCase{set, line[2:], line[0] == '+'})
		default:
			t.Fatalf("references.txt: %q", line)
		}
	}
	return cases
}

// TestRefersBack decides all cases of testdata/references.txt that the examples were chosen by. It holds the precision
// and the recall over those that were held out, and prints them with -v.
func TestRefersBack(t *testing.T) {
	t.Parallel()
	type counts struct{ right, found, referring, cases int }
	var all counts
	sets := map[string]counts{}
	for _, c := range referenceCases(t) {
		got, n := prompt.RefersBack(c.message), sets[c.set]
		if got != c.refers && c.set == "seen" {
			t.Errorf("%q: %v", c.message, got)
		} else if got != c.refers {
			t.Logf("%s: %q: %v", c.set, c.message, got)
		}
		for _, n := range []*counts{&n, &all} {
			n.cases++
			if c.refers {
				n.referring++
			}
			if got {
				n.found++
			}
			if got && c.refers {
				n.right++
			}
		}
		sets[c.set] = n
	}
	for set, n := range sets {
		t.Logf("%s: %d cases, precision %d of %d, recall %d of %d", set, n.cases, n.right, n.found, n.right, n.referring)
		if n.right*100 < n.found*97 || n.right*100 < n.referring*97 {
			t.Errorf("%s: precision or recall below 97%%", set)
		}
	}
	if all.right*100 < all.found*99 || all.right*100 < all.referring*99 {
		t.Errorf("precision %d of %d, recall %d of %d, below 99%%", all.right, all.found, all.right, all.referring)
	}
	if all.referring < 120 || all.cases-all.referring < 120 {
		t.Errorf("%d cases, %d that refer back", all.cases, all.referring)
	}
}

// Upper case, decomposed accents, other punctuation, a greeting and another sentence do not change the decision.
func TestReferenceIgnoresForm(t *testing.T) {
	t.Parallel()
	cases := referenceCases(t)
	decomposed := strings.NewReplacer("é", "e\u0301", "è", "e\u0300", "à", "a\u0300",
		"ü", "u\u0308", "ñ", "n\u0303", "ã", "a\u0303")
	rapid.Check(t, func(t *rapid.T) {
		c := rapid.SampledFrom(cases).Draw(t, "case")
		want := prompt.RefersBack(c.message)
		for name, message := range map[string]string{
			"upper case": strings.ToUpper(c.message),
			"decomposed": decomposed.Replace(c.message),
			"end":        strings.TrimRight(c.message, ".!? ") + rapid.SampledFrom([]string{"", "!", "?!"}).Draw(t, "end"),
			"commas":     strings.ReplaceAll(c.message, ",", " -"),
			"greeting": rapid.SampledFrom([]string{"Hi! ", "Hello Mia, ", "Hallo zusammen, ", "Bonjour, ", "Ciao Mia! "}).
				Draw(t, "greeting") + c.message,
			"before": "It rains here. " + c.message, "behind": c.message + "\nIt rains here.",
		} {
			if got := prompt.RefersBack(message); got != want {
				t.Errorf("%s: %q: %v, want %v", name, message, got, want)
			}
		}
	})
}

// References are found at the beginning and at the end of long messages, in long sentences, and not in quotations.
func TestReferenceInLongMessages(t *testing.T) {
	t.Parallel()
	filler := strings.Repeat("word ", 50_000)
	for message, want := range map[string]bool{
		"Like last time. " + filler:                                 true,
		filler + " like last time":                                  true,
		filler + " like last time " + filler:                        false,
		strings.Repeat("word ", 38) + "like last time":              true,
		strings.Repeat("word ", 100) + "like last time":             true,
		"> as we said\nMy boss wrote this. Nice?":                   false,
		`My boss wrote: "as we said last week".`:                    false,
		"Mein Chef schrieb: „wie besprochen“.":                      false,
		"Mon chef a écrit « comme convenu ».":                       false,
		"As we discussed, I told my wife that I will stop smoking.": true,
		"I told my wife everything. As we discussed, she was calm.": true,
		"As I said to my wife, I will stop.":                        false,
		"As we discovered, I run best at night.":                    false,
		"":                                                          false,
	} {
		if got := prompt.RefersBack(message); got != want {
			t.Errorf("RefersBack(%.50q, %d bytes) = %v", message, len(message), got)
		}
	}
}

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
		"Wie letzte Woche besprochen.":                                 "said last week",
		"Wie besprochen, hier bin ich.":                                "said newest",
		"Wie besprochen.":                                              "said newest",
		"Me dijiste ayer que descansara.":                              "said yesterday",
		"As we talked about on Tuesday, du meintest es.":               "said before",
		"Tu m'as dit hier de me reposer.":                              "said yesterday",
		"Tu m'as dit avant-hier de me reposer.":                        "said before",
		"Você disse ontem que eu devia descansar.":                     "said yesterday",
		"La settimana scorsa abbiamo parlato di ciò.":                  "said last week",
		"Je zei gisteren dat ik moest rusten.":                         "said yesterday",
		"Yesterday, " + strings.Repeat("la ", 45) + "as we discussed.": "said yesterday",
	} {
		got := build(t, w.service(now), "u",
			prompt.Request{Context: "coach_conversation", SessionID: "here", CoachID: "c", Message: message})
		if pulled := referenced(t, w, got); pulled != want {
			t.Errorf("%q pulls %q, want %q", message, pulled, want)
		}
	}
}

// A named day in a session that went on later, or in this one, pulls that day's messages.
func TestReferenceToADayOfALongSession(t *testing.T) {
	t.Parallel()
	w := newFixture()
	p := w.user("u")
	lines := []line{says(0, "said yesterday")}
	for i := range 60 {
		lines = append(lines, says(20*time.Hour+time.Duration(i)*time.Second, fmt.Sprint("x", i)))
	}
	p.converse("other", "coach_conversation", "c", now.Add(-3*24*time.Hour), says(0, "said elsewhere"))
	p.converse("here", "coach_conversation", "c", now.Add(-20*time.Hour), lines...)
	got := build(t, w.service(now.Add(time.Hour)), "u",
		prompt.Request{Context: "coach_conversation", SessionID: "here", CoachID: "c", Message: "As we said yesterday."})
	if pulled := referenced(t, w, got); pulled != "said yesterday" {
		t.Errorf("pulls %q", pulled)
	}
}

// TestReferenceToADayThatWasNotRead names a week with a session that is listed, and whose messages were not read. What
// the search found of it is told.
func TestReferenceToADayThatWasNotRead(t *testing.T) {
	t.Parallel()
	w := newFixture()
	p := w.user("u")
	p.converse("weeks", "coach_conversation", "c", now.Add(-20*24*time.Hour), says(0, "said weeks ago"))
	p.converse("lastweek", "coach_conversation", "c", now.Add(-6*24*time.Hour), says(0, "said last week"))
	others, took := numbered(100, "theirs") // as many as unified reads
	p.converse("tom", "coach_conversation", "tom", now.Add(-took), others...)
	p.converse("here", "coach_conversation", "c", now)
	p.hits = []recall.Hit{
		{ID: "msg_weeks_1", Message: p.message(t, "msg_weeks_1"), Score: 0.9},
		{ID: "msg_lastweek_1", Message: p.message(t, "msg_lastweek_1"), Score: 0.2},
	}
	r := request(prompt.Unified)
	r.Message = "Last week we talked about squats."
	if pulled := referenced(t, w, build(t, w.service(now), "u", r)); pulled != "said last week" {
		t.Errorf("pulls %q", pulled)
	}
}

// The last week is the one from Monday to Sunday before this one, on every day of this one.
func TestReferenceToTheLastWeek(t *testing.T) {
	t.Parallel()
	for days, want := range map[int]string{0: "1 February", 3: "1 February", 4: "8 February"} { // now is a Thursday
		w := newFixture()
		p := w.user("u")
		at := now.Add(time.Duration(days) * 24 * time.Hour)
		for ago := range 14 {
			day := at.Add(-time.Duration(ago+1) * 24 * time.Hour)
			p.converse(fmt.Sprint("day", ago), "coach_conversation", "c", day, says(0, day.Format("2 January")))
		}
		p.converse("here", "coach_conversation", "c", at)
		r := request(prompt.Unified)
		r.Message = "Last week we talked about squats."
		if pulled := referenced(t, w, build(t, w.service(at), "u", r)); pulled != want {
			t.Errorf("%d days later: pulls %q, want %q", days, pulled, want)
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
