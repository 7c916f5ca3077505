package choose

import (
	"cmp"
	"slices"

	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/prompt/query"
	"github.com/throughline/throughline/internal/recall"
	"github.com/throughline/throughline/internal/registry"
)

// rawMemories is how many memories without a claim are considered, unless the block fills the budget.
const rawMemories = 12

// chooseRelevantMemories chooses the memories closest to the message that no other block has, by type
// (prompt-assembly-map, "Block Map Table": caps 2, 3, 3, and 8 in all). If the block fills the budget, it defers what
// the caps leave out.
func chooseRelevantMemories(c *chooser, slot *Slot) []*Candidate {
	m := memoryChooser{chooser: c, slot: slot, perType: map[longterm.MemoryType]int{}}
	raw := 0
	for _, h := range relevantMemories(c) {
		if _, taken := c.claims[factKey(h.Memory.Content)]; !taken {
			raw++
		}
		if raw > rawMemories && !slot.FillRest {
			break
		}
		m.add(h)
	}
	return m.candidates
}

// memoryChooser collects the candidates of relevant_memories.
type memoryChooser struct {
	*chooser
	slot       *Slot
	candidates []*Candidate
	// kept is how many candidates are within the caps, perType how many of each type.
	kept    int
	perType map[longterm.MemoryType]int
}

// add adds a memory that may matter for the message.
func (c *memoryChooser) add(h recall.Hit) {
	e := c.memoryCandidate(*h.Memory)
	e.Score = h.Score
	c.candidates = append(c.candidates, e)
	limit := registry.Live().MemoryType(string(h.Memory.Type)).InPrompt
	over := ""
	switch {
	case limit == 0:
		over = "of a type that no prompt has"
	case c.perType[h.Memory.Type] >= limit:
		over = "over the number of its type"
	case c.slot.Items > 0 && c.kept >= c.slot.Items:
		over = reasonItems
	}
	if over != "" && !c.slot.FillRest {
		e.leave(over)
		return
	}
	e.Deferred = over
	if c.claimCandidate(e, factKey(h.Memory.Content), c.slot.Block); e.Left == "" && over == "" {
		c.kept++
		c.perType[h.Memory.Type]++
	}
}

// relevantMemories returns the memories that the search found, best first, and after them the live ones that are about
// somebody whom the message names, or share words with it, and that no block has, because in a long history messages
// can take every place among the hits.
func relevantMemories(c *chooser) []recall.Hit {
	var found []recall.Hit
	known := map[string]bool{}
	for _, h := range c.Hits {
		if h.Memory != nil {
			found = append(found, h)
			known[h.Memory.ID] = true
		}
	}
	asked, searched := query.Keywords(c.Message), len(found)
	named := longterm.SubjectWords(query.Part(c.Message))
	for _, m := range longterm.NewestFirst(c.Snapshot.Memories) {
		_, taken := c.claims[factKey(m.Content)]
		share := query.Shared(asked, m.Content)
		if slices.ContainsFunc(longterm.SubjectWords(m.About), func(w string) bool { return slices.Contains(named, w) }) {
			share = 1
		}
		if share > 0 && !taken && !known[m.ID] {
			found = append(found, recall.Hit{ID: m.ID, Score: share, Memory: &m})
		}
	}
	slices.SortStableFunc(found[searched:], func(a, b recall.Hit) int { return cmp.Compare(b.Score, a.Score) })
	return found
}
