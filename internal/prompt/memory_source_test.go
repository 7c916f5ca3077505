package prompt_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/prompt"
	"github.com/throughline/throughline/internal/prompt/pack"
	"github.com/throughline/throughline/internal/recall"
	"github.com/throughline/throughline/internal/testing/check"
)

// drawn is a user with memories that were extracted from sessions in several contexts, most of them long ago.
func drawn(w *fixture) (prompt.Request, *person) {
	p := w.user("u")
	p.converse("designer", "program_designer", "c", now.Add(-900*time.Hour), says(0, "one"), says(minute, "two"))
	p.converse("coach", "coach_conversation", "c", now.Add(-800*time.Hour), says(0, "one"))
	for i := range 22 {
		p.converse(fmt.Sprint("log", i), "workout_log", "c", now.Add(-time.Duration(700-i)*time.Hour),
			slices.Repeat([]line{says(0, "set")}, 10)...)
	}
	p.converse("here", "coach_conversation", "c", now.Add(-minute), says(0, "own"))
	memory := func(content string, from ...string) longterm.Memory {
		return longterm.Memory{
			ID: content, Content: content, Type: longterm.ProfileMemory, Source: longterm.Extracted,
			MessageIDs: from,
		}
	}
	p.snapshot.Memories = []longterm.Memory{
		memory("of the designer", "msg_designer_1", "msg_designer_2"), memory("of the coach", "msg_coach_1"),
		memory("of both", "msg_coach_1", "msg_designer_1"), memory("of here", "msg_here_1"), memory("of nowhere"),
		memory("of the deleted", "msg_gone_1"),
		memory("pinned of the designer", "msg_designer_1"), memory("pinned of nowhere"),
		memory("pinned of both", "msg_designer_1", "msg_coach_1"),
		{ID: "seeded", Content: "seeded", Type: longterm.ProfileMemory, Source: longterm.Seeded},
	}
	for i := range p.snapshot.Memories {
		p.snapshot.Memories[i].Pinned = strings.HasPrefix(p.snapshot.Memories[i].ID, "pinned")
	}
	found := memory("found in the designer", "msg_designer_2")
	p.hits = []recall.Hit{{ID: "found", Memory: &found, Score: 1}}
	return prompt.Request{
		Recipe: prompt.BlockMap, Context: "coach_conversation", SessionID: "here", CoachID: "c",
		Message: "next",
	}, p
}

// shownMemories are the memories that a prompt has.
func shownMemories(p prompt.Prompt) []string {
	var shown []string
	for _, b := range p.Manifest.Blocks {
		for _, i := range b.Items {
			if i.Kind == "memory" && i.Decision != pack.Dropped {
				shown = append(shown, i.ID)
			}
		}
	}
	slices.Sort(shown)
	return shown
}

// A memory that was extracted is in the prompt where the prompt may have every session that it was drawn from, and a
// pinned one where it may have one of them. It costs one read, only for users who keep contexts apart.
func TestMemoriesFollowTheirSessions(t *testing.T) {
	t.Parallel()
	all := []string{
		"found in the designer", "of both", "of here", "of nowhere", "of the coach", "of the deleted",
		"of the designer", "pinned of both", "pinned of nowhere", "pinned of the designer", "seeded",
	}
	for name, tt := range map[string]struct {
		set   func(*longterm.Preferences)
		want  []string
		reads int
	}{
		"all on": {func(*longterm.Preferences) {}, all, 0},
		"memory off": {
			func(p *longterm.Preferences) { p.Memory, p.CrossContext = false, false },
			[]string{"seeded"},
			0,
		},
		"crossContext off": {
			func(p *longterm.Preferences) { p.CrossContext = false },
			[]string{"of here", "pinned of nowhere", "seeded"},
			1,
		},
		"designer not shared": {
			unshare("program_designer"),
			[]string{"of here", "of the coach", "pinned of both", "pinned of nowhere", "seeded"},
			1,
		},
		"coach not shared": {
			unshare("coach_conversation"),
			[]string{"of here", "of the coach", "pinned of both", "pinned of nowhere", "seeded"},
			1,
		},
		"log not shared": {
			unshare("workout_log"),
			[]string{
				"found in the designer", "of both", "of here", "of the coach", "of the designer", "pinned of both",
				"pinned of nowhere", "pinned of the designer", "seeded",
			},
			1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newFixture()
			r, p := drawn(w)
			tt.set(&p.access.Preferences)
			got := shownMemories(build(t, w.service(now), "u", r))
			if diff := cmp.Diff(tt.want, got); diff != "" || w.calls["resolve"] != tt.reads {
				t.Errorf("%d reads, -want +got:\n%s", w.calls["resolve"], diff)
			}
		})
	}
}

// A todo that was extracted is in the prompt where its messages may be, as such a memory is. The app's own todos always
// are.
func TestTodosFollowTheirSessions(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		set  func(*longterm.Preferences)
		want []string
	}{
		"all on":              {func(*longterm.Preferences) {}, []string{"extracted", "own"}},
		"designer not shared": {unshare("program_designer"), []string{"own"}},
		"memory off":          {func(p *longterm.Preferences) { p.Memory = false }, []string{"own"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newFixture()
			r, p := drawn(w)
			p.snapshot.Memories, p.hits = nil, nil
			p.snapshot.Todos = []longterm.Todo{
				{ID: "own", CoachID: "c", Content: "call", Status: longterm.Pending},
				{
					ID: "extracted", CoachID: "c", Content: "write", Status: longterm.Pending,
					MessageIDs: []string{"msg_designer_1"},
				},
			}
			tt.set(&p.access.Preferences)
			var shown []string
			for _, b := range build(t, w.service(now), "u", r).Manifest.Blocks {
				for _, i := range b.Items {
					if i.Kind == "todo" && i.Decision != pack.Dropped {
						shown = append(shown, i.ID)
					}
				}
			}
			slices.Sort(shown)
			check.Same(t, tt.want, shown, "the result")
		})
	}
}

func unshare(context string) func(*longterm.Preferences) {
	return func(p *longterm.Preferences) { p.Unshared = map[string]bool{context: true} }
}

// Where the origins can't be read, what they are needed for is left out, and the manifest says so.
func TestOriginsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	w := newFixture()
	r, p := drawn(w)
	unshare("workout_log")(&p.access.Preferences)
	w.fail["resolve"] = errors.New("timeout")
	got := build(t, w.service(now), "u", r)
	check.Same(t, []string{"of here", "pinned of nowhere", "seeded"}, shownMemories(got), "the result")
	if !slices.ContainsFunc(got.Manifest.Degraded, func(d recall.Degradation) bool {
		return d.Source == "memory_origins" && strings.Contains(d.Reason, "not available")
	}) {
		t.Errorf("degraded %+v", got.Manifest.Degraded)
	}
}

// Of 200 origins that are looked up, none is lost to a message that is named again, nor to a memory that needs none.
func TestOriginsAreLookedUpOnce(t *testing.T) {
	t.Parallel()
	w := newFixture()
	r, p := drawn(w)
	unshare("workout_log")(&p.access.Preferences)
	p.hits = nil
	of := func(id string) longterm.Memory {
		return p.snapshot.Memories[slices.IndexFunc(p.snapshot.Memories, func(m longterm.Memory) bool { return m.ID == id })]
	}
	seeded, again, old := of("seeded"), of("of the coach"), of("of the designer")
	for i := range 200 {
		seeded.MessageIDs = append(seeded.MessageIDs, fmt.Sprint("msg_seed_", i))
		again.MessageIDs = append(again.MessageIDs, "msg_coach_1")
	}
	seeded.CreatedAt, again.CreatedAt, old.CreatedAt = now, now.Add(-minute), now.Add(-time.Hour)
	p.snapshot.Memories = []longterm.Memory{seeded, again, old}
	got := shownMemories(build(t, w.service(now), "u", r))
	check.Same(t, []string{"of the coach", "of the designer", "seeded"}, got, "the result")
}
