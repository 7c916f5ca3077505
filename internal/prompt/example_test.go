package prompt

import (
	"slices"

	"github.com/throughline/throughline/internal/longterm"
)

// The worked example of docs/extending.md. TestExtending compares the two.

var standup = Recipe{
	Name:          "standup",
	Specification: "ours",
	Budget:        cost{tokens: 1000},
	Format:        markdown,
	Scoping:       TokenWindow, // or LastN, or Compaction
	Reads:         Reads{Messages: 50},
	Slots: []Slot{ // the most valuable first; what does not fit is dropped from the end
		{Block: blockRole, Required: true, Style: prose},
		{Block: blockCurrent, Required: true, Style: verbatimMessage},
		{Block: blockGoals, Style: bullet, Heading: "# GOALS", Cap: Cap{Items: 5}},
		{Block: blockRecent, Style: roleMessage, Cap: Cap{Chars: 800}},
		{Block: blockPeople, Style: bullet, Heading: "# PEOPLE", Cap: Cap{Items: 3}},
	},
}

const blockPeople = "people"

// selectPeople selects the people that the user has spoken of, newest first, unless another block has the same fact.
func selectPeople(sel *selection, slot *Slot) []*entry {
	var entries []*entry
	for _, m := range newestFirst(sel.snapshot.Memories) {
		if m.Type == longterm.PeopleMemory {
			entries = append(entries, sel.claimEntry(memoryEntry(m), factKey(m.Content), slot.Block))
		}
	}
	return capItems(entries, slot)
}

// Contribute adds the example to the registries as docs/extending.md says. The returned function removes it again.
func Contribute() (remove func()) {
	before := Recipes
	Recipes = append(slices.Clip(before), standup)
	selectors[blockPeople] = selectPeople
	return func() {
		Recipes = before
		delete(selectors, blockPeople)
	}
}
