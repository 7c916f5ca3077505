package prompt_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/prompt"
	"github.com/throughline/throughline/internal/recall"
)

// remembered gives a user memories of one type, an hour apart, the newest last.
func remembered(p *person, n int) {
	for i := range n {
		p.snapshot.Memories = append(p.snapshot.Memories, longterm.Memory{
			ID: fmt.Sprintf("fact%03d", i), Type: longterm.ProfileMemory, Source: longterm.Extracted,
			Content: fmt.Sprintf("Fact number %d of this user.", i), CreatedAt: now.Add(time.Duration(i-n) * time.Hour),
		})
	}
}

// TestMemoriesOfTheMessage builds prompts of a user with more memories than the blocks' numbers: the first ones and all
// that were found for the message are in the prompt, each once, in a first prompt and in a session that continues.
func TestMemoriesOfTheMessage(t *testing.T) {
	t.Parallel()
	for name, earlier := range map[string]int{"first": 0, "continues": 2} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture()
			p := w.user("u")
			remembered(p, 60)
			var lines []line
			for i := range earlier {
				lines = append(lines, says(time.Duration(i)*minute, "and"), answers(time.Duration(i)*minute, "ok"))
			}
			p.converse("here", "coach_conversation", "c", now.Add(-5*minute), lines...)
			for i := range 4 { // four of a type that has two places
				m := p.snapshot.Memories[20+i]
				p.hits = append(p.hits, recall.Hit{ID: m.ID, Score: 0.9, Memory: &m})
			}
			r := prompt.Request{
				Context: "coach_conversation", SessionID: "here", CoachID: "c", Message: "next", SkipSave: true,
			}
			built := build(t, w.service(now), "u", r)
			shown := shownMemories(built)
			slices.Sort(shown)
			if len(shown) != 16 || len(slices.Compact(shown)) != 16 {
				t.Errorf("%d memories of 16, %d once, in %d of %d tokens:\n%s",
					len(shown), len(slices.Compact(shown)), built.Tokens.Total, built.Tokens.Budget, built.System)
			}
			r.Budget = &prompt.Budget{Tokens: 900}
			built = build(t, w.service(now), "u", r)
			if missing := missingHits(built, p.hits); len(missing) > 0 {
				t.Errorf("the prompt has other memories than those for the message: it lacks %q", missing)
			}
		})
	}
}

// missingHits returns the ids of the memories that were found and are not in the prompt.
func missingHits(p prompt.Prompt, hits []recall.Hit) []string {
	shown := shownMemories(p)
	var missing []string
	for _, h := range hits {
		if !slices.Contains(shown, h.ID) {
			missing = append(missing, h.ID)
		}
	}
	return missing
}

// TestQuestionBeforeCache builds the prompts of a chat whose stable prefix a server may have in its cache. What changes
// with each turn is kept small, and the reasons say so; for a message that asks for something from elsewhere the budget
// is used. What the chat itself has just said is not elsewhere.
func TestQuestionBeforeCache(t *testing.T) {
	t.Parallel()
	build := func(best, ofChat float64) (prompt.Prompt, string) {
		w := newFixture()
		p, r := chat(w, 12)
		far := p.converse("far", "coach_conversation", "c", now.Add(-400*time.Hour))
		for i := range 60 {
			p.say(far, now.Add(-400*time.Hour+time.Duration(i)*minute), strings.Repeat(fmt.Sprint("squats ", i, " "), 20))
		}
		for i := range p.messages {
			if m := &p.messages[i]; m.SessionID == "far" {
				p.hits = append(p.hits, recall.Hit{ID: m.ID, Score: 0.05, Message: m})
			}
		}
		p.hits[len(p.hits)-1].Score = best
		own := slices.IndexFunc(p.messages, func(m conversation.Message) bool { return m.SessionID == "here" && m.Seq == 20 })
		p.hits = append(p.hits, recall.Hit{ID: p.messages[own].ID, Score: ofChat, Message: &p.messages[own]})
		built := build(t, w.service(now), "u", r)
		reasons := ""
		for _, b := range built.Manifest.Blocks {
			for _, i := range b.Items {
				reasons += i.Reason + "\n"
			}
		}
		return built, reasons
	}
	small, reasons := build(0.05, 0.9)
	filled, filledReasons := build(0.5, 0)
	if small.Tokens.Total > 3400 || !strings.Contains(reasons, "while a cache may have the stable prefix") ||
		strings.Contains(reasons, "the budget of 4000 tokens was reached") {
		t.Errorf("%d tokens, because:\n%s", small.Tokens.Total, reasons)
	}
	if filled.Tokens.Total < 3800 || strings.Contains(filledReasons, "while a cache may") ||
		!strings.Contains(filledReasons, "the budget of 4000 tokens was reached") {
		t.Errorf("%d tokens, because:\n%s", filled.Tokens.Total, filledReasons)
	}
	if frontOf(small) != frontOf(filled) {
		t.Error("the stable prefix depends on what may follow it")
	}
}

// knows remembers a fact about somebody in the user's life.
func knows(p *person, id, about, content string) {
	p.snapshot.Memories = append(p.snapshot.Memories, longterm.Memory{
		ID: id, Type: longterm.PeopleMemory, Source: longterm.Extracted, About: about, Content: content, CreatedAt: now,
	})
}

// TestFactsOfNamedPersons brings the facts about somebody whom the message names, also by a short name or by what they
// are to the user, where no fact has a word of the question. A fact that does not name them is told with the name.
func TestFactsOfNamedPersons(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]string{
		"What can Mia eat?": "Mia, the user's daughter: She is fond of sushi.", "A gift for my daughter?": "fond of sushi",
		"Was mag mein Bruder?": "Bruder Karl spielt Cello", "What can I eat?": "",
	} {
		w := newFixture()
		p := w.user("u")
		p.converse("here", "coach_conversation", "c", now.Add(-time.Minute))
		remembered(p, 12) // the places of foundation_memories
		knows(p, "mia", "Mia, the user's daughter", "She is fond of sushi.")
		knows(p, "karl", "Karl, der Bruder des Nutzers", "Bruder Karl spielt Cello.")
		built := build(t, w.service(now), "u", prompt.Request{
			Context: "coach_conversation", SessionID: "here", CoachID: "c", Message: message, SkipSave: true,
		})
		var got []string
		for _, i := range blockOf(t, built, "relevant_memories").Items {
			if i.Decision != "dropped" {
				got = append(got, i.ID)
			}
		}
		if !strings.Contains(systemText(built), want) || (len(got) == 1) != (want != "") {
			t.Errorf("%q brings %q", message, got)
		}
	}
}

// TestSecondLook finds a message that names somebody, and brings the facts about them, unless the message is likely to
// answer by itself.
func TestSecondLook(t *testing.T) {
	t.Parallel()
	for rank, want := range map[float64]bool{0.2: true, 0.8: false} {
		w := newFixture()
		p := w.user("u")
		p.converse("here", "coach_conversation", "c", now.Add(-time.Minute))
		p.converse("wedding", "coach_creator", "c", now.Add(-300*time.Hour), says(0, "Ida married Tom last May, what a day."))
		p.hits = append(p.hits, recall.Hit{ID: "x", Score: 0.5, Rank: rank, Message: &p.messages[len(p.messages)-1]})
		remembered(p, 12) // the places of foundation_memories
		knows(p, "tom", "Tom, the user's brother-in-law", "He is a plumber.")
		knows(p, "mia", "Mia, the user's daughter", "She is fond of sushi.")
		built := build(t, w.service(now), "u", prompt.Request{
			Context: "coach_conversation", SessionID: "here", CoachID: "c", SkipSave: true,
			Message: "What does my sister's husband do for a living?",
		})
		text := systemText(built)
		if strings.Contains(text, "plumber") != want || strings.Contains(text, "sushi") {
			t.Errorf("with a probability of %g the facts about Tom are there: %t\n%s", rank, !want, text)
		}
	}
}

// TestFoundHasHalf asks for what was said long ago where four other conversations of today go on beside this one: in a
// new session, in a chat of many messages, and in one where much is told of the others. What was found has at least
// half of what the rules, safety and the session's last messages leave. Of other conversations the last messages are
// told.
func TestFoundHasHalf(t *testing.T) {
	t.Parallel()
	const news = "long chat with news"
	for name, own := range map[string]int{"new": 0, "chat": 60, news: 66} {
		w := newFixture()
		p := w.user("u")
		words := 12
		if name == news {
			words = 42
		}
		lines, took := numbered(own, "and so on "+strings.Repeat("and on ", words))
		here := p.converse("here", "coach_conversation", "c", now.Add(-took-time.Minute), lines...).ID
		for i := range 4 {
			beside, _ := numbered(20, strings.Repeat("a word beside it ", 5))
			s := p.converse(fmt.Sprint("beside", i), "workout_log", "c", now.Add(-time.Duration(25-i)*minute), beside...)
			if name == news {
				summarize(s, strings.Repeat("They went on at length about what there is to log. ", 12))
			}
		}
		for i := range 90 {
			text := fmt.Sprint("an earlier word ", i, strings.Repeat(" and more of it", 8))
			p.converse(fmt.Sprint("past", i), "coach_creator", "c", now.Add(-time.Duration(300+i)*time.Hour), says(0, text))
			p.hits = append(p.hits, recall.Hit{ID: "x", Score: 0.5, Message: &p.messages[len(p.messages)-1]})
		}
		built := build(t, w.service(now), "u", prompt.Request{
			Context: "coach_conversation", SessionID: here, CoachID: "c", Message: "What was the earlier word?", SkipSave: true,
		})
		left := 4000
		for _, b := range built.Manifest.Blocks {
			if slices.Contains([]string{"role", "instruction", "safety", "recent_messages", "current_message"}, b.Name) {
				left -= b.Tokens
			}
		}
		beside := 0
		for _, i := range blockOf(t, built, "thread_history").Items {
			if i.SessionID != here {
				beside += included(prompt.Block{Items: []prompt.Item{i}})
			}
		}
		found := blockOf(t, built, "relevant_messages")
		if found.Tokens < left/2 || beside > 12 || name == "new" && beside != 12 {
			t.Errorf("%s: what was found has %d tokens of %d; %d messages of conversations beside it", name, found.Tokens, left,
				beside)
		}
	}
}
