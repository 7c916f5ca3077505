package choose

import (
	"cmp"
	"slices"

	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/prompt/query"
	"github.com/throughline/throughline/internal/recall"
	"github.com/throughline/throughline/internal/registry"
	"github.com/throughline/throughline/internal/truncate"
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
		if _, taken := c.claims[factKey(told(c, *h.Memory))]; !taken {
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
	if c.claimCandidate(e, factKey(e.Text), c.slot.Block); e.Left == "" && over == "" {
		c.kept++
		c.perType[h.Memory.Type]++
	}
}

const (
	// unsure is the probability below which the best message that was found may not answer by itself. Then the bestFound
	// best ones are looked at for whom they name.
	unsure, bestFound = 0.5, 3
	// secondLook is the least score of a fact about somebody whom they name, behind what shares words with the question.
	secondLook = 0.01
)

// namedInBest returns the words of the best messages that were found: "What does my sister's husband do?" finds the
// wedding with Tom, and Tom's facts answer.
func namedInBest(c *chooser) (words []string) {
	best := 0
	for _, h := range c.Hits {
		if h.Message == nil {
			continue
		}
		if best++; best > bestFound || h.Rank >= unsure {
			break
		}
		words = append(words, longterm.SubjectWords(truncate.Bytes(h.Message.Content, maxNamingBytes))...)
	}
	return words
}

// maxNamingBytes is how much of a message is looked through for names.
const maxNamingBytes = 2000

// relevantMemories returns the memories that the search found, best first, and after them the live ones that are about
// somebody whom the message or the best of what was found names, or share words with it, and that no block has, because
// in a long history messages can take every place among the hits.
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
	named, second := longterm.SubjectWords(query.Part(c.Message)), namedInBest(c)
	for _, m := range longterm.NewestFirst(c.Snapshot.Memories) {
		share := query.Shared(asked, m.Content)
		about := longterm.SubjectWords(m.About)
		switch {
		case slices.ContainsFunc(about, func(w string) bool { return slices.Contains(named, w) }):
			share = 1
		case len(about) > 0 && slices.Contains(second, about[0]):
			share = max(share, secondLook)
		}
		if share == 0 || known[m.ID] {
			continue
		}
		if _, taken := c.claims[factKey(told(c, m))]; !taken {
			found = append(found, recall.Hit{ID: m.ID, Score: share, Memory: &m})
		}
	}
	slices.SortStableFunc(found[searched:], func(a, b recall.Hit) int { return cmp.Compare(b.Score, a.Score) })
	return found
}
