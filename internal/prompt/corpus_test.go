package prompt_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/prompt"
	"github.com/throughline/throughline/internal/prompt/query"
	"github.com/throughline/throughline/internal/recall"
	"github.com/throughline/throughline/internal/testing/check"
)

// corpusCase is a message of testdata/references/corpus.txt, with the talk that it refers to and the history.
type corpusCase struct {
	language, message, want string
	talks                   *[]corpusTalk
}

// corpusTalk is a talk of the history.
type corpusTalk struct {
	name string
	days int
	text string
}

func readCorpus(t *testing.T) []corpusCase {
	t.Helper()
	file := check.Got(os.ReadFile("testdata/references/corpus.txt"))(t)
	var cases []corpusCase
	var language string
	histories := map[string]*[]corpusTalk{}
	for line := range strings.Lines(string(file)) {
		line = strings.TrimSpace(line)
		name, rest, _ := strings.Cut(line, " ")
		switch {
		case line == "" || name == "#":
		case line[0] == '[':
			language = strings.Trim(line, "[]")
			if code, _, again := strings.Cut(language, " "); again {
				histories[language] = histories[code]
			} else {
				histories[language] = &[]corpusTalk{}
			}
		case name == "=":
			parts := strings.SplitN(rest, " ", 3)
			days := check.Got(strconv.Atoi(parts[1]))(t)
			talks := histories[language]
			*talks = append(*talks, corpusTalk{parts[0], days, parts[2]})
		default:
			cases = append(cases, corpusCase{language, rest, strings.TrimSuffix(name, ":"), histories[language]})
		}
	}
	return cases
}

// pulled returns the talk that a prompt for the case's message has because the message refers back, or "none". The
// search finds the talks that share a word with the message.
func (c corpusCase) pulled(t *testing.T) string {
	w := newFixture()
	p := w.user("u")
	for _, talk := range *c.talks {
		p.converse(talk.name, "coach_conversation", "c", now.AddDate(0, 0, -talk.days), says(0, talk.text))
	}
	summarize(p.converse("form", "workout_log", "c", now.Add(-3*time.Hour)), "They logged swings.")
	others, took := numbered(150, "theirs")
	p.converse("tom", "coach_conversation", "tom", now.Add(-took), others...)
	p.converse("here", "coach_conversation", "c", now)
	for i := range p.messages {
		if m := &p.messages[i]; m.CoachID == "c" && query.Shares(query.Topic(c.message), m.Content) {
			p.hits = append(p.hits, recall.Hit{ID: m.ID, Score: 0.9, Message: m})
		}
	}
	r := request(prompt.Unified)
	r.Message = c.message
	for _, i := range blockOf(t, build(t, w.service(now), "u", r), "relevant_messages").Items {
		if i.Reason == "the message refers back to this conversation" {
			return i.SessionID
		}
	}
	return "none"
}

// TestWhatMessagesReferTo holds the precision and the recall of references over long histories, and prints them with
// -v: a reference counts as found only if the prompt has the talk that is meant.
func TestWhatMessagesReferTo(t *testing.T) {
	t.Parallel()
	type counts struct{ right, pulled, referring, cases int }
	var all, heldOut counts
	languages := map[string]counts{}
	for _, c := range readCorpus(t) {
		got := c.pulled(t)
		if got != c.want {
			t.Logf("%s: %q pulls %s, want %s", c.language, c.message, got, c.want)
		}
		of := languages[c.language]
		sets := []*counts{&of, &all}
		if strings.HasSuffix(c.language, "held out") {
			sets = append(sets, &heldOut)
		}
		for _, n := range sets {
			n.cases++
			if c.want != "none" {
				n.referring++
			}
			if got != "none" {
				n.pulled++
				if got == c.want {
					n.right++
				}
			}
		}
		languages[c.language] = of
	}
	for language, n := range languages {
		t.Logf("%s: %d messages, precision %d of %d, recall %d of %d", language, n.cases, n.right, n.pulled, n.right,
			n.referring)
	}
	for set, n := range map[string]counts{"all": all, "held out": heldOut} {
		t.Logf("%s: %d messages, precision %d of %d, recall %d of %d", set, n.cases, n.right, n.pulled, n.right, n.referring)
	}
	var table strings.Builder
	for _, language := range []string{"en", "de", "es", "fr", "pt", "it", "nl"} {
		n, held := languages[language], languages[language+" held out"]
		fmt.Fprintf(&table, "| %s | %d | %d of %d | %d of %d | %d | %d of %d | %d of %d |\n", language, n.cases, n.right,
			n.pulled, n.right, n.referring, held.cases, held.right, held.pulled, held.right, held.referring)
	}
	page, err := os.ReadFile("../../docs/languages.md")
	if err != nil || !strings.Contains(string(page), table.String()) {
		t.Errorf("docs/languages.md (%v) lacks what is measured:\n%s", err, &table)
	}
	if all.cases < 200 || len(languages) < 7 {
		t.Errorf("%d messages in %d languages", all.cases, len(languages))
	}
	if all.right*100 < all.pulled*98 || all.right*100 < all.referring*98 {
		t.Errorf("precision %d of %d, recall %d of %d", all.right, all.pulled, all.right, all.referring)
	}
}
