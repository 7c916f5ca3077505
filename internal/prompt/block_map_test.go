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
	"github.com/throughline/throughline/internal/prompt/pack"
	"github.com/throughline/throughline/internal/recall"
	"github.com/throughline/throughline/internal/testing/check"
)

// systemBlock returns the lines of the system message that begins so.
func systemBlock(t *testing.T, p prompt.Prompt, heading string) []string {
	t.Helper()
	for _, m := range p.Messages {
		if rest, found := strings.CutPrefix(m.Content, heading); m.Role == "system" && found {
			return strings.Split(strings.TrimPrefix(rest, "\n"), "\n")
		}
	}
	return nil
}

// mapped is a user with more of everything than prompt-assembly-map has room for.
func mapped(w *fixture) prompt.Request {
	p := w.user("u")
	long := strings.Repeat(strings.Repeat("x", 99)+" ", 20)
	hour := func(n int) time.Time { return now.Add(-time.Duration(n) * time.Hour) }
	for i := range 15 {
		source := longterm.Extracted
		if i >= 13 {
			source = longterm.Seeded // the newest two are seeded, and still come first
		}
		p.snapshot.Memories = append(p.snapshot.Memories, longterm.Memory{
			ID: fmt.Sprint("f", i), Type: longterm.ProfileMemory, Content: fmt.Sprintf("fact %02d",
				i), Source: source, CreatedAt: hour(100 - i),
		})
	}
	for i := range 9 {
		p.snapshot.Todos = append(p.snapshot.Todos,
			longterm.Todo{
				ID: fmt.Sprint("t", i), CoachID: "c", Content: fmt.Sprintf("todo %d", i), Status: longterm.Pending,
				CreatedAt: hour(i),
			},
			longterm.Todo{
				ID: fmt.Sprint("w", i), CoachID: "c", Content: fmt.Sprintf("win %d", i),
				Status: longterm.TodoCompleted, CompletedAt: hour(i * 10),
			})
	}
	p.snapshot.Seed = &longterm.Seed{Content: "s" + long}
	p.snapshot.Spines = map[string]longterm.Spine{"c": {Text: "p" + long}}
	summarize(p.converse("old", "workout_log", "c", hour(60), says(0, "hi")), "l"+long)
	p.converse("here", "coach_conversation", "c", hour(1), says(0, "m"+long))
	kinds := []longterm.MemoryType{longterm.ProfileMemory, longterm.PeopleMemory, longterm.ProjectMemory, "DREAM"}
	add := func(kind longterm.MemoryType, content string) {
		p.hits = append(p.hits, recall.Hit{
			ID: content, Score: 1 / float64(len(p.hits)+1), Memory: &longterm.Memory{ID: content, Type: kind, Content: content},
		})
	}
	add(longterm.ProfileMemory, "  FACT   13 ") // repeats a foundation memory, once normalised
	for _, kind := range kinds {
		for i := range 4 {
			add(kind, fmt.Sprintf("%s %d", kind, i))
		}
	}
	return prompt.Request{
		Recipe: prompt.BlockMap, Context: "coach_conversation", SessionID: "here", CoachID: "c",
		Message: "next",
	}
}

func TestBlockMapCaps(t *testing.T) {
	t.Parallel()
	w := newFixture()
	p := build(t, w.service(now), "u", mapped(w))
	facts := []string{"fact 13", "fact 14"}
	for i := range 10 {
		facts = append(facts, fmt.Sprintf("fact %02d", i))
	}
	for heading, want := range map[string][]string{
		"[FOUNDATION MEMORIES]:": facts,
		"OPEN LOOPS (pending):":  {"todo 0", "todo 1", "todo 2", "todo 3", "todo 4"},
		"Recent wins:":           {"win 0", "win 1", "win 2"},
		// Twelve are looked at: one repeats, then 2 of PROFILE, 3 of PEOPLE, and 3 of PROJECT.
		"[RELEVANT MEMORIES]:": {
			"PROFILE 0", "PROFILE 1", "PEOPLE 0", "PEOPLE 1", "PEOPLE 2", "PROJECT 0", "PROJECT 1",
			"PROJECT 2",
		},
	} {
		check.Same(t, want, systemBlock(t, p, heading), "%s", heading)
	}
	for heading, size := range map[string]int{
		"User context: ": 800, "Conversation summary: ": 1200, "LATEST SESSION SUMMARY: ": 600,
	} {
		if got := systemBlock(t, p, heading); len(got) != 1 || len(got[0]) != size {
			t.Errorf("%s has %d characters", heading, len(strings.Join(got, "")))
		}
	}
	own := p.Messages[len(p.Messages)-2]
	if own.Role != "user" || own.Content[0] != 'm' || len(own.Content) != 800 {
		t.Errorf("the recent message is %d characters of %s", len(own.Content), own.Role)
	}
	if item := blockOf(t, p, "recent_messages").Items[0]; item.Decision != pack.Trimmed ||
		item.Reason != "cut to 800 characters" {
		t.Errorf("its line is %+v", item)
	}
}

// Twelve of the search's memories are looked at, and no more (prompt-assembly-map, "top 12 raw").
func TestTwelveRawMemories(t *testing.T) {
	t.Parallel()
	w := newFixture()
	r := mapped(w)
	p := w.user("u")
	p.hits = nil
	for i := range 13 {
		m := longterm.Memory{ID: fmt.Sprintf("m%02d", i), Type: longterm.ProfileMemory, Content: fmt.Sprint("relevant ", i)}
		if i > 10 {
			m.Type = longterm.PeopleMemory
		}
		p.hits = append(p.hits, recall.Hit{ID: m.ID, Score: 1 - float64(i)/100, Memory: &m})
	}
	got := systemBlock(t, build(t, w.service(now), "u", r), "[RELEVANT MEMORIES]:")
	check.Same(t, []string{"relevant 0", "relevant 1", "relevant 11"}, got, "the result")
}

// A long history's messages can take every place in the search's answer; memories that share words with the message are
// in the prompt all the same, those that share most first.
func TestMessagesCrowdNoMemoryOut(t *testing.T) {
	t.Parallel()
	w := newFixture()
	r := mapped(w)
	r.Message = "How is my deadlift grip coming along?"
	p := w.user("u")
	p.hits = nil
	p.snapshot.Memories = nil
	for i := range 12 { // the foundation's places are taken
		p.snapshot.Memories = append(p.snapshot.Memories, longterm.Memory{
			ID: fmt.Sprint("f", i), Type: longterm.PeopleMemory, Content: fmt.Sprint("seeded ", i), Source: longterm.Seeded,
		})
	}
	old := now.AddDate(-1, 0, 0)
	p.snapshot.Memories = append(p.snapshot.Memories,
		longterm.Memory{
			ID: "one", Type: longterm.ProjectMemory, Content: "Likes a mixed grip", Source: longterm.Extracted,
			CreatedAt: old,
		},
		longterm.Memory{
			ID: "two", Type: longterm.ProjectMemory, Content: "Works on the deadlift with a hook grip",
			Source: longterm.Extracted, CreatedAt: old,
		},
		longterm.Memory{
			ID: "none", Type: longterm.ProjectMemory, Content: "Plays the cello", Source: longterm.Extracted,
			CreatedAt: old,
		},
	)
	got := systemBlock(t, build(t, w.service(now), "u", r), "[RELEVANT MEMORIES]:")
	check.Same(t, []string{"Works on the deadlift with a hook grip", "Likes a mixed grip"}, got, "the result")
}

// The session's state is bounded, in fields and in what each says, and names no time.
func TestSessionStateIsBounded(t *testing.T) {
	t.Parallel()
	w := newFixture()
	r := mapped(w)
	s := &w.user("u").sessions[1]
	s.Status, s.Title, s.Attributes = conversation.Completed, "A title", map[string]any{"object": map[string]any{"a": 1}}
	for i := range 20 {
		s.Attributes[fmt.Sprintf("field %02d", i)] = strings.Repeat("y", 500)
	}
	got := systemBlock(t, build(t, w.service(now), "u", r), "Screen: ")
	if len(got) != 12 || !slices.Equal(got[:4], []string{"Coach", "Title: A title", "Mode: chat", "Status: completed"}) {
		t.Errorf("%d fields: %q", len(got), got)
	}
	if last := got[11]; !strings.HasPrefix(last, "field 07: yyy") || len([]rune(last)) != len("field 07: ")+120 {
		t.Errorf("the last field is %q", last)
	}
}
