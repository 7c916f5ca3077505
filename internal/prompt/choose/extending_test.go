package choose

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/prompt/block"
	"github.com/throughline/throughline/internal/prompt/gather"
	"github.com/throughline/throughline/internal/testing/check"
)

// The block of docs/extending.md. TestExtending compares the two.

// choosePeople chooses the people that the user has spoken of, newest first, unless another block has the same fact.
func choosePeople(c *chooser, slot *Slot) []*Candidate {
	var candidates []*Candidate
	for _, m := range longterm.NewestFirst(c.Snapshot.Memories) {
		if m.Type == longterm.PeopleMemory {
			candidates = append(candidates, claimMemory(c, m, slot.Block))
		}
	}
	return capItems(candidates, slot)
}

// TestExtending checks that the block of docs/extending.md compiles, and chooses what the page says with nothing else
// changed.
func TestExtending(t *testing.T) {
	const people = "people"
	selectors[people] = choosePeople
	defer delete(selectors, people)
	page, source := readFile(t, filepath.Join("..", "..", "..", "docs", "extending.md")), readFile(t, "extending_test.go")
	_, example, _ := strings.Cut(page, "```go\n// choosePeople ")
	example, _, found := strings.Cut(example, "```")
	if !found || !strings.Contains(source, "// choosePeople "+example) {
		t.Error("docs/extending.md and extending_test.go differ")
	}
	now := time.Date(2026, 2, 5, 18, 30, 0, 0, time.UTC)
	src := &gather.Sources{Zone: time.UTC, Snapshot: longterm.Snapshot{Memories: []longterm.Memory{
		{ID: "m1", Content: "Tom, the boss", Type: longterm.PeopleMemory, CreatedAt: now.AddDate(0, 0, -3)},
		{ID: "m2", Content: "Ida, the sister", Type: longterm.PeopleMemory, CreatedAt: now.AddDate(0, 0, -2), Pinned: true},
		{ID: "m3", Content: "Runs on Mondays", Type: longterm.ProfileMemory, CreatedAt: now.AddDate(0, 0, -1)},
		{ID: "m4", Content: "Eva, the aunt", Type: longterm.PeopleMemory, CreatedAt: now},
		{ID: "m5", Content: "Kim, the cook", Type: longterm.PeopleMemory, CreatedAt: now.AddDate(0, 0, -4)},
	}}}
	blocks := Blocks(src, Plan{Slots: []Slot{{Block: block.Safety}, {Block: people, Items: 2}}})
	var got []string
	for _, c := range blocks[1].Candidates {
		got = append(got, strings.TrimSuffix(c.Text+": "+c.Left, ": "))
	}
	want := []string{
		"Eva, the aunt", "Ida, the sister: repeats safety", "Tom, the boss", "Kim, the cook: " + reasonItems,
	}
	check.Same(t, want, got, "people")
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	text := check.Got(os.ReadFile(path))(t)
	return string(text)
}
