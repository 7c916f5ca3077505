package prompt_test

import (
	_ "embed"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/prompt"
	"github.com/throughline/throughline/internal/prompt/pack"
	"github.com/throughline/throughline/internal/recall"
	"github.com/throughline/throughline/internal/testing/check"
)

//go:embed testdata/spec/context-format.txtar
var contextFormatExamples []byte

const (
	japan    = "What are the best months to visit Japan?"
	blossoms = "User discussed vacation planning to Japan. Interested in cherry blossoms, budget travel, " +
		"April-May timeframe."
	budget = "User mentioned budget constraint of $3000-5000 for 2-week trip. Prefers cultural experiences " +
		"over luxury hotels."
	planning   = "I need help planning a vacation to Japan"
	happyToHlp = "I'd be happy to help! Based on our previous discussions, I know you're interested in visiting " +
		"during cherry blossom season with a budget of $3000-5000. Let me provide some recommendations."
)

// japanTraveller is the user of the specification's examples: remembers says whether there are past conversations.
func japanTraveller(w *fixture, remembers bool, lines ...line) prompt.Request {
	p := w.user("u")
	if remembers {
		day := 24 * time.Hour
		first := summarize(p.converse("trip1", "coach_conversation", "c", now.Add(-3*day), says(0, "Japan?")), blossoms)
		first.Summary.Tags = []string{"japan", "cherry blossoms"}
		second := summarize(p.converse("trip2", "coach_conversation", "c", now.Add(-2*day), says(0, "Money?")), budget)
		p.hits = []recall.Hit{summaryHit(first, 0.8), summaryHit(second, 0.6)}
	}
	p.converse("now", "coach_conversation", "c", now.Add(-minute), lines...)
	return prompt.Request{
		Recipe: prompt.ContextFormat, Context: "coach_conversation", SessionID: "now", CoachID: "c",
		Message: japan,
	}
}

func TestContextFormatExamples(t *testing.T) {
	t.Parallel()
	examples := txtar.Parse(contextFormatExamples).Files
	if len(examples) != 3 {
		t.Fatalf("%d examples", len(examples))
	}
	tests := []struct {
		remembers bool
		message   string
		lines     []line
	}{
		{message: planning},
		{remembers: true, message: japan},
		{remembers: true, message: japan, lines: []line{says(0, planning), answers(minute/2, happyToHlp)}},
	}
	for i, tt := range tests {
		t.Run(examples[i].Name, func(t *testing.T) {
			w := newFixture()
			r := japanTraveller(w, tt.remembers, tt.lines...)
			r.Message = tt.message
			p := build(t, w.service(now), "u", r)
			if diff := cmp.Diff(strings.TrimSuffix(string(examples[i].Data), "\n"), p.Text); diff != "" {
				t.Errorf("-specification +text:\n%s", diff)
			}
			if p.System != "" || len(p.Messages) != 1 || p.Messages[0].Content != tt.message {
				t.Errorf("system %q, messages %q", p.System, p.Messages)
			}
			if real := tokens.Count(p.Text); p.Tokens.Total < real || p.Tokens.Total > real+1 {
				t.Errorf("%d tokens accounted, %d real", p.Tokens.Total, tokens.Count(p.Text))
			}
		})
	}
}

// The caps of the specification's token budget: 300 for previous context, 200 for recent conversation, 700 in all but
// the current query, which is never cut.
func TestContextFormatBudgets(t *testing.T) {
	t.Parallel()
	w := newFixture()
	long := strings.Repeat("We talked about cherry blossoms along the river and the cost of trains. ", 30)
	r := japanTraveller(w, true, says(0, long), answers(minute/4, long), says(minute/3, long), answers(minute/2, long))
	for i := range w.user("u").hits {
		w.user("u").hits[i].Summary.Text = long
	}
	r.Message = strings.Repeat("What about the trains? ", 400)
	p := build(t, w.service(now), "u", r)
	if got := blockOf(t, p, "session_summaries"); got.Tokens > 300 || got.Tokens < 200 ||
		got.Items[0].Decision != pack.Trimmed {
		t.Errorf("previous context: %+v", got)
	}
	if got := blockOf(t, p, "recent_messages"); got.Tokens > 200 || got.Tokens < 100 {
		t.Errorf("recent conversation: %+v", got)
	}
	message := blockOf(t, p, "current_message").Tokens
	if !strings.Contains(p.Text, strings.TrimSpace(r.Message)) || p.Tokens.Total-message > 700 {
		t.Errorf("%d tokens, %d of them the message", p.Tokens.Total, message)
	}
}

// A role longer than its share stays whole and is named.
func TestContextFormatRoleIsNeverCut(t *testing.T) {
	t.Parallel()
	w := newFixture()
	r := japanTraveller(w, false)
	r.SystemRole = strings.TrimSpace(strings.Repeat("You are a very careful travel agent. ", 12))
	p := build(t, w.service(now), "u", r)
	if !strings.Contains(p.Text, r.SystemRole) || len(p.Manifest.Warnings) != 1 ||
		!strings.Contains(p.Manifest.Warnings[0], "role") {
		t.Errorf("warnings %q, text %s", p.Manifest.Warnings, p.Text)
	}
	r.SystemRole = strings.Repeat("You are a very careful travel agent. ", 200)
	check.Fault(t, check.ErrorOf(w.service(now).Build(t.Context(), "u", r)), fault.Invalid,
		"a role that no budget holds")
}

// At most three exchanges, the newest; and without a search, the summaries that share words with the query.
func TestContextFormatWithoutSearch(t *testing.T) {
	t.Parallel()
	w := newFixture()
	r := japanTraveller(w, true,
		says(0, "one"), answers(1*time.Second, "1"), says(2*time.Second, "two"), answers(3*time.Second, "2"),
		says(4*time.Second, "three"), answers(5*time.Second, "3"), says(6*time.Second, "four"), answers(7*time.Second, "4"))
	w.user("u").hits = nil
	p := build(t, w.service(now), "u", r)
	if strings.Contains(p.Text, "User: one") ||
		!strings.Contains(p.Text, "User: two\nAssistant: 2\n\nUser: three\nAssistant: 3\n\nUser: four\nAssistant: 4\n") {
		t.Errorf("exchanges: %s", p.Text)
	}
	if !strings.Contains(p.Text, blossoms) || strings.Contains(p.Text, budget) {
		t.Errorf("previous context by words: %s", p.Text)
	}
}

// Two summaries are in the prompt, and a third where it is not far less relevant than the best; what has nothing of the
// message is not in the prompt at all; and what a section has no room for is cut, but not to a stump
// (maas-context-format, "only if relevant memories exist", "Max tokens").
func TestContextFormatPrevious(t *testing.T) {
	t.Parallel()
	w := newFixture()
	r := japanTraveller(w, true)
	p := w.user("u")
	third := *p.hits[1].Summary
	third.SessionID, third.Text = "third", "User has a cat."
	p.hits = append(p.hits, recall.Hit{ID: third.ID(), Summary: &third})
	hits := p.hits
	for scores, shown := range map[[2]float64]int{{0.39, 0.3}: 2, {0.45, 0.41}: 3, {0.01, 0.005}: 1} {
		hits[1].Score, hits[2].Score = hits[0].Score*scores[0], hits[0].Score*scores[1]
		text := build(t, w.service(now), "u", r).Text
		if !strings.Contains(text, blossoms) || strings.Contains(text, budget) != (shown > 1) ||
			strings.Contains(text, third.Text) != (shown > 2) {
			t.Errorf("%v: want %d summaries: %s", scores, shown, text)
		}
	}
	p.hits, hits[1].Score = hits[:2], hits[0].Score*0.41
	for words, want := range map[int]pack.Decision{200: pack.Included, 285: pack.Dropped} {
		hits[0].Summary.Text = strings.Repeat("word ", words)
		items := blockOf(t, build(t, w.service(now), "u", r), "session_summaries").Items
		if len(items) != 2 || items[0].Decision != pack.Included || items[1].Decision != want {
			t.Errorf("%d words before it: %+v", words, items)
		}
	}
}

// A summary that is older than a week says its day, and comes before a newer one that the search found less relevant.
func TestContextFormatSaysWhen(t *testing.T) {
	t.Parallel()
	w := newFixture()
	r := japanTraveller(w, true)
	p := w.user("u")
	old := *p.hits[0].Summary
	old.SessionID, old.Text = "doses", "Takes warfarin 5 mg."
	old.OccurredAt = now.Add(-400 * 24 * time.Hour)
	p.hits = []recall.Hit{{ID: old.ID(), Summary: &old, Score: 0.9}, p.hits[1]}
	text := build(t, w.service(now), "u", r).Text
	check.Contains(t, text, "memory):\n1 January 2025: Takes warfarin 5 mg.\n\n"+budget, "text")
}

// The session itself takes no place among the earlier ones that are read. What is told is in order of time.
func TestContextFormatReadsOtherSessions(t *testing.T) {
	t.Parallel()
	w := newFixture()
	p := w.user("u")
	for i := range 20 {
		s := p.converse(fmt.Sprint("s", i), "coach_conversation", "c", now.Add(-time.Duration(i+1)*time.Hour), says(0, "x"))
		summarize(s, fmt.Sprint("number", i))
	}
	p.converse("here", "coach_conversation", "c", now.Add(-minute), says(0, "x"))
	r := request(prompt.ContextFormat)
	r.Message = "Tell me about number19 and number18."
	check.Contains(t, build(t, w.service(now), "u", r).Text, "memory):\nnumber19\n\nnumber18\n", "text")
}

// The part of this session that the recent conversation lacks is covered by the session's summary, the most valuable
// of the summaries and the last in time. A session that is in the prompt whole needs none.
func TestContextFormatHasItsEarlierPart(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]bool{6: false, 7: true, 40: true} {
		for _, recipe := range []string{prompt.ContextFormat, prompt.ContextFormat05} {
			w := newFixture()
			r := japanTraveller(w, true)
			r.SessionID, r.Recipe, r.Message = "s", recipe, japan
			talkative(w, n, "coach")
			for i := range w.user("u").sessions {
				if s := &w.user("u").sessions[i]; s.ID == "s" {
					summarize(s, "User compared two rail passes.")
				}
			}
			p := build(t, w.service(now), "u", r)
			shown := strings.Contains(p.Text, "\n\nUser compared two rail passes.\n\n")
			if shown != want {
				t.Errorf("%s, %d messages: shown %v:\n%s", recipe, n, shown, p.Text)
			}
			items := blockOf(t, p, "session_summaries").Items
			if want && (len(items) != 3 || items[0].Reason != "it covers the earlier part of this conversation") {
				t.Errorf("items %+v", items)
			}
		}
	}
	w := newFixture() // few messages that are too long to be in the prompt whole
	r := japanTraveller(w, false, says(0, planning), answers(minute/2, strings.Repeat(happyToHlp, 9)))
	summarize(&w.user("u").sessions[0], "User compared two rail passes.")
	if p := build(t, w.service(now), "u", r); !strings.Contains(p.Text, "memory):\nUser compared two rail passes.\n\n") {
		t.Errorf("text: %s", p.Text)
	}
}

// v0.5: tags, profile, and sections by what is asked.
func TestContextFormat05Sections(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ past, profile bool }{
		"hi there!":                               {false, true},
		"What is a cherry blossom?":               {true, false},
		"What did I say about my budget?":         {true, true},
		"Plan my trip around the blossoms please": {true, true},
	}
	for message, want := range tests {
		t.Run(message, func(t *testing.T) {
			w := newFixture()
			r := japanTraveller(w, true)
			w.user("u").snapshot.Profile = &longterm.Profile{Name: "Ken"}
			r.Recipe, r.Message = prompt.ContextFormat05, message
			text := build(t, w.service(now), "u", r).Text
			past := "2 February 2026: [japan, cherry blossoms] " + blossoms + "\n\n3 February 2026: " + budget
			if got := strings.Contains(text, past); got != want.past {
				t.Errorf("tagged past: %v\n%s", got, text)
			}
			if got := strings.Contains(text, "USER PROFILE:\nName: Ken"); got != want.profile {
				t.Errorf("profile: %v\n%s", got, text)
			}
		})
	}
}
