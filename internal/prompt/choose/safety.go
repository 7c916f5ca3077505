package choose

import (
	"slices"

	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/prompt/block"
	"github.com/throughline/throughline/internal/quote"
	"github.com/throughline/throughline/internal/registry"
)

// chooseSafety chooses the pinned memories, such as injuries and allergies.
func chooseSafety(c *chooser, slot *Slot) []*Candidate {
	memories := slices.Concat(c.Snapshot.Memories, c.Lapsed)
	candidates := standingFacts(c, slot, memories, func(m longterm.Memory) bool { return m.Pinned && !c.isManner(m) })
	for _, e := range candidates {
		if e.Left == "" {
			fact := quote.NewStatement(e.Text)
			if c.safety = append(c.safety, fact); !e.Fresh {
				c.settled = append(c.settled, fact)
			}
		}
	}
	return candidates
}

// chooseManner chooses how the user wants to be answered.
func chooseManner(c *chooser, slot *Slot) []*Candidate {
	return standingFacts(c, slot, c.Snapshot.Memories, c.isManner)
}

// isManner reports whether a memory says how the user wants to be answered, and the prompt has a block for that.
func (c *chooser) isManner(m longterm.Memory) bool {
	return registry.Live().MemoryType(string(m.Type)).Manner && c.has(block.Manner)
}

// standingFacts chooses memories that every prompt has. What holds today is the most valuable, and of that the newest;
// what is to come tells nothing of today. They are written in the order in which they came up.
func standingFacts(
	c *chooser, slot *Slot, memories []longterm.Memory, stands func(longterm.Memory) bool,
) []*Candidate {
	newest := longterm.NewestFirst(memories)
	var candidates []*Candidate
	for _, isAhead := range []bool{false, true} {
		for i, m := range newest {
			if stands(m) && m.From.IsAhead(c.Now.In(c.Zone)) == isAhead {
				e := claimMemory(c, m, slot.Block)
				e.Position = -i
				candidates = append(candidates, capChars(e, slot))
			}
		}
	}
	return markFresh(c, capItems(candidates, slot))
}
