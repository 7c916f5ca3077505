package extraction

import "slices"

// addForgotten adds the contents of the records that the user has deleted.
func (b Batch) addForgotten(forgotten map[string]bool, ids []string) {
	for _, m := range b.Memories.New {
		if slices.Contains(ids, m.ID) {
			forgotten[forgottenKey(memoryKey, m.Content, m.About)] = true
		}
	}
	for _, t := range b.Todos.New {
		if slices.Contains(ids, t.ID) {
			forgotten[forgottenKey(todoKey, t.Content, "")] = true
		}
	}
}

// counts returns what a batch has stored.
func (b Batch) counts() Counts {
	c := Counts{
		NewMemories: len(b.Memories.New), OpenedLoops: len(b.Todos.New), ClosedLoops: len(b.Todos.Changed),
		Forgotten: len(b.Forgotten),
	}
	for _, m := range b.Memories.Changed {
		switch {
		case m.SupersededBy != "":
			c.Superseded++
		case m.EndedReason != "":
			c.Ended++
		}
	}
	return c
}
