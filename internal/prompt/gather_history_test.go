package prompt_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/prompt"
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
	for _, later := range []int{550, 499} {
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
		if !strings.Contains(got.System, want) || strings.Contains(got.System, "later") {
			t.Errorf("the prompt lacks %q, or tells what came later:\n%s", want, got.System)
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
		"cut in its block": {prompt.Unified, long, 130, 60_000, 1, 130},
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
		Kind: "summary", ID: "runs", SessionID: "runs", Context: "workout_log", Decision: prompt.Dropped,
		Reason: "it has no summary yet", OccurredAt: conversation.FormatTime(began), Tokens: got.Tokens,
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

// TestReadsEndWhereNothingIsLeft has a session whose first messages are deleted while the prompt is built.
func TestReadsEndWhereNothingIsLeft(t *testing.T) {
	t.Parallel()
	w := newFixture()
	p := w.user("u")
	lines, took := numbered(600, "the long walk in the park today was")
	p.converse("here", "coach_conversation", "c", now.Add(-took), lines...)
	p.messages = p.messages[50:]
	got := build(t, w.service(now), "u", request(prompt.TieredHistory))
	item := itemOf(t, got, "thread_history", "here")
	if item.Reason != "all of its 550 messages" || len(got.Manifest.Warnings) != 0 || w.calls["before"] != 2 {
		t.Errorf("%+v, warnings %q, %d more reads", item, got.Manifest.Warnings, w.calls["before"])
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
		system, told := build(t, w.service(now), "u", r).System, ""
		for _, m := range []string{"A1", "A2", "A3", "A4"} {
			if strings.Contains(system, m) {
				told += m
			}
		}
		if !strings.HasSuffix("A1A2A3A4", told) {
			t.Errorf("%d tokens tell %s", budget, told)
		}
		seen[told] = true
	}
	if len(seen) < 4 {
		t.Errorf("told are only %v", seen)
	}
}

// What the budget leaves goes first to the messages that only their block's cap keeps out, then to those whose summary
// is told.
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
	for budget := 1200; budget < 2400; budget += 50 {
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
			t.Errorf("%d tokens: %d of 30 messages, and %d whose summary is told", budget, here, log)
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
