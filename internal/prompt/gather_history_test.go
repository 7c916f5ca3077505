package prompt_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/prompt"
	"github.com/throughline/throughline/internal/testing/check"
)

// numbered returns n lines, a minute apart, that end the given time before now.
func numbered(n int, text string) (lines []line, took time.Duration) {
	for i := range n {
		lines = append(lines, says(time.Duration(i)*minute, fmt.Sprint(text, " ", i+1)))
	}
	return lines, time.Duration(n) * minute
}

// The message that a prompt is built for may be an old one. The sitting that led to it is read, however much was said
// after it, and also where the first page of messages begins with that message.
func TestSittingBeforeAnOldMessage(t *testing.T) {
	t.Parallel()
	for _, later := range []int{1200, 550, 499} {
		w := newFixture()
		lines, _ := numbered(later, "later")
		for i := range lines {
			lines[i].after += 3 * minute
		}
		lines = append([]line{says(0, "my knee"), answers(minute, "rest it"), says(2*minute, "how long?")}, lines...)
		w.user("u").converse("here", "coach_conversation", "c", on(27, 8, 0), lines...)
		r := request(prompt.TieredHistory)
		r.MessageID, r.Message = "msg_here_3", "how long?"
		got := build(t, w.service(now), "u", r)
		const want = "[human 08:00] my knee\n[you 08:01] rest it\n</conversation>"
		if !strings.Contains(systemText(got), want) || strings.Contains(systemText(got), "later") {
			t.Errorf("the prompt lacks %q, or has what came later:\n%s", want, systemText(got))
		}
		summarize(&w.user("u").sessions[0], "They spoke of what came later.")
		for _, r.Recipe = range []string{prompt.Unified, prompt.BlockMap} {
			got := everything(build(t, w.service(now), "u", r))
			if !strings.Contains(got, "my knee") || strings.Contains(got, "later") {
				t.Errorf("%s lacks what came before, or has what came later:\n%s", r.Recipe, got)
			}
		}
	}
}

// A thread is read until it fills the budget, and no further. A message counts as much as its block may tell of it.
func TestReadsEndWhereTheBudgetIsFull(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("word ", 800)
	for name, tt := range map[string]struct {
		recipe, text      string
		messages, budget  int
		wantReads, wantIn int
	}{
		"full at once":     {prompt.TieredHistory, "the long walk in the park today was", 600, 1000, 0, 0},
		"with room":        {prompt.TieredHistory, "the long walk in the park today was", 600, 30_000, 2, 600},
		"cut in its block": {prompt.Unified, long, 130, 72_000, 1, 130},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture()
			lines, took := numbered(tt.messages, tt.text)
			w.user("u").converse("here", "coach_conversation", "c", now.Add(-took), lines...)
			r := request(tt.recipe)
			r.Budget = &prompt.Budget{Tokens: tt.budget}
			got := build(t, w.service(now), "u", r)
			in := 0
			for _, b := range []string{"recent_messages", "thread_history"} {
				for _, block := range got.Manifest.Blocks {
					if block.Name == b {
						in += included(block)
					}
				}
			}
			if w.calls["before"] != tt.wantReads || tt.wantIn > 0 && in != tt.wantIn {
				t.Errorf("%d more reads, %d messages; want %d and %d", w.calls["before"], in, tt.wantReads, tt.wantIn)
			}
		})
	}
}

// TestReadsEndWhereNothingIsLeft has sessions whose first 50 messages are deleted.
func TestReadsEndWhereNothingIsLeft(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		messages  int
		isKnown   bool // the session's record says what is deleted
		wantReads int
	}{
		"deleted before":                    {600, true, 1},
		"deleted while the prompt is built": {600, false, 2},
		"all read at once":                  {500, false, 0},
	} {
		w := newFixture()
		p := w.user("u")
		lines, took := numbered(tt.messages, "the long walk in the park today was")
		s := p.converse("here", "coach_conversation", "c", now.Add(-took), lines...)
		if tt.isKnown {
			s.Deleted = conversation.SeqSet{{First: 1, Last: 50}}
		}
		p.messages = p.messages[50:]
		got := build(t, w.service(now), "u", request(prompt.TieredHistory))
		item := itemOf(t, got, "thread_history", "here")
		if want := fmt.Sprintf("all of its %d messages", tt.messages-50); item.Reason != want ||
			len(got.Manifest.Warnings) != 0 || w.calls["before"] != tt.wantReads {
			t.Errorf("%s: %+v, warnings %q, %d more reads", name, item, got.Manifest.Warnings, w.calls["before"])
		}
		if left := blockOf(t, got, "session_summaries").Items; len(left) != 0 {
			t.Errorf("%s: not in the prompt in full: %+v", name, left)
		}
	}
}

// TestReadsEndBeforeToday has sessions with messages of today and of the days before. The messages of the days before
// are not read, because no block has them in full.
func TestReadsEndBeforeToday(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		others    time.Time // the beginning of 499 messages with another coach
		wantReads int
	}{
		"all of today are in the first page": {on(4, 20, 0), 0},
		"some of today may not be":           {on(5, 9, 0), 1},
	} {
		w := newFixture()
		p := w.user("u")
		lines, _ := numbered(300, "earlier")
		lines = append(lines, says(3*24*time.Hour+9*60*minute, "today"), says(3*24*time.Hour+10*60*minute, "today"))
		p.converse("log", "workout_log", "c", on(2, 8, 0), lines...)
		others, _ := numbered(499, "theirs")
		p.converse("tom", "workout_log", "tom", tt.others, others...)
		p.converse("here", "coach_conversation", "c", now)
		got := build(t, w.service(now), "u", request(prompt.TieredHistory))
		if n := strings.Count(systemText(got), "] today"); n != 2 || w.calls["before"] != tt.wantReads {
			t.Errorf("%s: %d more reads, %d messages of today", name, w.calls["before"], n)
		}
	}
}

// Of sittings that overlap, the budget takes the newest messages, whichever session they are of.
func TestNewestMessagesOfOverlappingSittings(t *testing.T) {
	t.Parallel()
	w := newFixture()
	p := w.user("u")
	fill := strings.Repeat("and so on ", 12)
	p.converse("here", "coach_conversation", "c", now.Add(-20*minute), says(0, "A1 "+fill), says(10*minute, "A3 "+fill))
	p.converse("log", "workout_log", "c", now.Add(-15*minute), says(0, "A2 "+fill), says(10*minute, "A4 "+fill))
	seen := map[string]bool{}
	for budget := 300; budget < 700; budget += 10 {
		r := request(prompt.TieredHistory)
		r.Budget = &prompt.Budget{Tokens: budget}
		system, shown := systemText(build(t, w.service(now), "u", r)), ""
		for _, m := range []string{"A1", "A2", "A3", "A4"} {
			if strings.Contains(system, m) {
				shown += m
			}
		}
		if !strings.HasSuffix("A1A2A3A4", shown) {
			t.Errorf("%d tokens hold %s", budget, shown)
		}
		seen[shown] = true
	}
	if len(seen) < 4 {
		t.Errorf("only these are in the prompt: %v", seen)
	}
}

// TestEarlierPartThatWasNotRead has a session of which only the messages that a prompt has are read. Its summary
// covers the earlier part, under a label of its own.
func TestEarlierPartThatWasNotRead(t *testing.T) {
	t.Parallel()
	for _, recipe := range []string{prompt.Unified, prompt.BlockMap} {
		w := newFixture()
		p := w.user("u")
		s := summarize(p.converse("here", "coach_conversation", "c", on(25, 8, 0), says(0, "early")), "They spoke of walks.")
		mine, _ := numbered(60, "mine")
		for _, l := range append(mine, says(9*24*time.Hour, "next")) {
			p.say(s, on(27, 8, 0).Add(l.after), l.text)
		}
		others, took := numbered(200, "theirs")
		p.converse("tom", "workout_log", "tom", s.LastMessageAt.Add(-took), others...)
		r := request(recipe)
		r.MessageID = "msg_here_62"
		got := build(t, w.service(now), "u", r)
		check.Contains(t, everything(got), "They spoke of walks.", "%s does not tell the earlier part", recipe)
		for _, label := range []string{
			"[Earlier in this conversation]: They", "## Earlier in this conversation - 27 January",
		} {
			if recipe == prompt.Unified && !strings.Contains(systemText(got), label) {
				t.Errorf("the prompt lacks %q:\n%s", label, systemText(got))
			}
		}
	}
}

// TestNothingIsReadTwice has sessions of which all that a prompt has is read with the newest messages or with the
// session's last ones.
func TestNothingIsReadTwice(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		recipe    string
		mine      int
		began     time.Time
		wantTails int
	}{
		"an older part, for which there is a summary": {prompt.Unified, 90, now.Add(-90 * minute), 0},
		"older than the newest messages":              {prompt.TieredHistory, 30, on(27, 8, 0), 1},
	} {
		w := newFixture()
		p := w.user("u")
		earlier, _ := numbered(30, "earlier")
		p.converse("here", "coach_conversation", "c", tt.began.Add(-48*60*minute), earlier...)
		mine, _ := numbered(tt.mine, "mine")
		for _, l := range mine {
			p.say(&p.sessions[0], tt.began.Add(l.after), l.text)
		}
		summarize(&p.sessions[0], "They spoke of walks.")
		others, took := numbered(510, "theirs")
		p.converse("tom", "workout_log", "tom", now.Add(-took-20*60*minute), others...)
		build(t, w.service(now), "u", request(tt.recipe))
		if w.calls["before"] != 0 || w.calls["tail"] != tt.wantTails {
			t.Errorf("%s: calls %v", name, w.calls)
		}
	}
}
