package prompt

import (
	"slices"

	"github.com/throughline/throughline/internal/longterm"
)

// What follows is CONTRIBUTING's worked example; TestContributing holds the two to each other.

var standup = Recipe{
	Name:          "standup",
	Specification: "ours",
	Budget:        cost{tokens: 1000},
	Format:        markdown,
	Scoping:       TokenWindow, // or LastN, or Compaction
	Reads:         Reads{Messages: 50},
	Slots: []Slot{ // the most valuable first: dropping starts at the other end
		{Block: blockRole, Required: true, Style: prose},
		{Block: blockCurrent, Required: true, Style: verbatim},
		{Block: blockGoals, Style: bullet, Heading: "# GOALS", Cap: Cap{Items: 5}},
		{Block: blockRecent, Style: turn, Cap: Cap{Chars: 400}},
		{Block: blockPeople, Style: bullet, Heading: "# PEOPLE", Cap: Cap{Items: 3}},
	},
}

const blockPeople = "people"

// choosePeople tells who the user has spoken of, the newest first, unless another block tells the same.
func choosePeople(v *view, s *Slot) []*entry {
	var entries []*entry
	for _, m := range newestFirst(v.snapshot.Memories) {
		if m.Type == longterm.PeopleMemory {
			entries = append(entries, v.once(memoryEntry(m), fact(m.Content), s.Block))
		}
	}
	return capItems(entries, s)
}

// Contribute adds the example to the registries as CONTRIBUTING says, until what it returns is called.
func Contribute() (withdraw func()) {
	before := Recipes
	Recipes = append(slices.Clip(before), standup)
	choosers[blockPeople] = choosePeople
	return func() {
		Recipes = before
		delete(choosers, blockPeople)
	}
}
