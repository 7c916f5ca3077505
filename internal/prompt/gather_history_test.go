package prompt_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/prompt"
	"github.com/throughline/throughline/internal/prompt/pack"
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

// The session's last sitting is read whole even if it is older than the newest messages of all sessions.
func TestOldSittingIsReadWhole(t *testing.T) {
	t.Parallel()
	w := newFixture()
	p := w.user("u")
	lines, _ := numbered(300, "mine")
	p.converse("here", "coach_conversation", "c", now.Add(-9*24*time.Hour), lines...)
	others, took := numbered(500, "theirs")
	p.converse("tom", "workout_log", "tom", now.Add(-took), others...)
	got := build(t, w.service(now), "u", request(prompt.TieredHistory))
	if item := itemOf(t, got, "thread_history", "here"); item.Reason != "all of its 300 messages" {
		t.Errorf("the sitting: %+v", item)
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
		"cut in its block": {prompt.Unified, long, 130, 64_000, 1, 130},
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

// A session without a summary whose earlier messages were not read is named by the day on which it began. One that
// began before the tiers' days is not named.
func TestUnreadSessionIsNamedByItsBeginning(t *testing.T) {
	t.Parallel()
	w := newFixture()
	p := w.user("u")
	began := on(2, 8, 0)
	p.converse("runs", "workout_log", "c", began, says(0, "Ran 3 km."), says(3*24*time.Hour, "Ran 5 km."))
	p.converse("rows", "workout_log", "c", on(20, 8, 0), says(0, "Rowed."), says(16*24*time.Hour, "Rowed."))
	lines, took := numbered(530, "for tom")
	p.converse("tom", "workout_log", "tom", on(5, 8, 0).Add(-took), lines...)
	p.converse("here", "coach_conversation", "c", now)
	block := blockOf(t, build(t, w.service(now), "u", request(prompt.TieredHistory)), "session_summaries")
	got := block.Items[0]
	want := prompt.Item{
		Kind: "summary", ID: "runs", SessionID: "runs", Context: "workout_log", Decision: pack.Dropped,
		Reason: "it had no summary then", OccurredAt: conversation.FormatTime(began), Tokens: got.Tokens,
	}
	if diff := cmp.Diff(want, got); diff != "" || len(block.Items) != 1 {
		t.Errorf("%d items, (-want +got):\n%s", len(block.Items), diff)
	}
}

// TestUnreadMessageHalfAnHourBefore has an old sitting whose first message is as old as the oldest message of the first
// page, and exactly 30 minutes before its second one.
func TestUnreadMessageHalfAnHourBefore(t *testing.T) {
	t.Parallel()
	w := newFixture()
	p := w.user("u")
	began := now.Add(-9 * 24 * time.Hour)
	lines, _ := numbered(60, "mine")
	for i := range lines[1:] {
		lines[i+1].after += 29 * minute
	}
	p.converse("here", "coach_conversation", "c", began, lines...)
	others, _ := numbered(441, "theirs") // the first page has 500 messages
	p.converse("tom", "workout_log", "tom", began, others...)
	got := build(t, w.service(now), "u", request(prompt.TieredHistory))
	if item := itemOf(t, got, "thread_history", "here"); item.Reason != "all of its 60 messages" {
		t.Errorf("the sitting: %+v", item)
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

// What the budget leaves goes first to the messages that only their block's cap keeps out, then to those whose summary
// is in the prompt.
func TestLeftoversOfTheCapComeFirst(t *testing.T) {
	t.Parallel()
	w := newFixture()
	p := w.user("u")
	fill := strings.Repeat("and so on ", 8)
	thread, took := numbered(40, fill)
	p.converse("here", "coach_conversation", "c", now.Add(-took), thread...)
	logged, _ := numbered(10, fill)
	summarize(p.converse("log", "workout_log", "c", on(5, 9, 0), logged...), "They logged swings.")
	partly, both := 0, 0
	for budget := 1800; budget < 6000; budget += 150 {
		r := request(prompt.Unified)
		r.Budget = &prompt.Budget{Tokens: budget}
		block := blockOf(t, build(t, w.service(now), "u", r), "thread_history")
		here, log := 0, 0
		for _, i := range block.Items {
			if n := included(prompt.Block{Items: []prompt.Item{i}}); i.SessionID == "here" {
				here = n
			} else {
				log = n
			}
		}
		switch {
		case here < 30 && log > 0: // the other 10 are the recent messages
			t.Errorf("%d tokens: %d of 30 messages, and %d whose summary is in the prompt", budget, here, log)
		case here < 30:
			partly++
		case log > 0:
			both++
		}
	}
	if partly < 3 || both < 3 {
		t.Errorf("%d budgets have room for a part of the thread, %d for all of it and more", partly, both)
	}
}

// TestThreadIsNotDeferred has a thread that goes on from another context, whose summary is in the prompt. Its messages
// come before what is worth less, as those of the thread do.
func TestThreadIsNotDeferred(t *testing.T) {
	t.Parallel()
	w := newFixture()
	p := w.user("u")
	p.converse("here", "coach_conversation", "c", now.Add(-5*minute), says(0, "Hello."))
	lines, _ := numbered(4, "and so on")
	summarize(p.converse("log", "workout_log", "c", now.Add(-20*minute), lines...), "They logged swings.")
	p.snapshot.Seed = &longterm.Seed{Content: "Likes short answers."}
	seeded := 0
	for budget := 320; budget < 600; budget += 4 {
		r := request(prompt.Unified)
		r.Budget = &prompt.Budget{Tokens: budget}
		got := build(t, w.service(now), "u", r)
		if strings.Contains(systemText(got), "Likes short answers.") {
			seeded++
			if in := included(blockOf(t, got, "thread_history")); in != 4 {
				t.Errorf("%d tokens: %d of 4 messages of the thread, and the seed", budget, in)
			}
		}
	}
	if seeded == 0 {
		t.Error("no budget has room for the seed")
	}
}

// TestUnreadMessagesAreOfTheFirstDay has a sitting from before midnight that the budget has no room for. Only the part
// of its first day lacks messages that were not read.
func TestUnreadMessagesAreOfTheFirstDay(t *testing.T) {
	t.Parallel()
	w := newFixture()
	morning := on(5, 5, 0)
	lines, took := numbered(600, "the long walk in the park today was")
	w.user("u").converse("here", "coach_conversation", "c", morning.Add(-took), lines...)
	r := request(prompt.TieredHistory)
	r.Budget = &prompt.Budget{Tokens: 1000}
	block := blockOf(t, build(t, w.service(morning), "u", r), "thread_history")
	for i, want := range []bool{false, true} { // the newest day first
		if got := strings.Contains(block.Items[i].Reason, "not read"); got != want && i == 0 {
			t.Errorf("%+v", block.Items[i])
		}
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
		if !strings.Contains(everything(got), "They spoke of walks.") {
			t.Errorf("%s does not tell the earlier part:\n%s", recipe, everything(got))
		}
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
