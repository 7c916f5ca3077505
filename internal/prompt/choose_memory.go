package prompt

import (
	"cmp"
	"slices"

	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/recall"
)

func memoryEntry(m longterm.Memory) *entry {
	return &entry{kind: "memory", id: m.ID, at: m.CreatedAt, text: m.Content, tokens: m.Tokens}
}

// fact is the key under which a content is told once.
func fact(content string) telling { return telling{"fact", longterm.Normalize(content)} }

// once marks an entry as dropped where a block of higher value tells the same.
func (v *view) once(e *entry, key telling, block string) *entry {
	if by, first := v.use(key, block); !first {
		e.out("repeats " + by)
	}
	return e
}

// chooseSafety tells the pinned memories, all of them: injuries, allergies. The newest are the last to go.
func chooseSafety(v *view, s *Slot) []*entry {
	var entries []*entry
	for _, m := range newestFirst(v.snapshot.Memories) {
		if m.Pinned {
			entries = append(entries, v.once(memoryEntry(m), fact(m.Content), s.Block))
		}
	}
	return capItems(entries, s)
}

// chooseFoundation tells the lasting facts, seeded ones first, then the oldest
// (prompt-assembly-map, "Smallest 3 Improvements", 1).
func chooseFoundation(v *view, s *Slot) []*entry {
	memories := slices.Clone(v.snapshot.Memories)
	slices.SortFunc(memories, func(a, b longterm.Memory) int {
		return cmp.Or(seededFirst(a)-seededFirst(b), a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
	var entries []*entry
	for _, m := range memories {
		if m.Pinned && v.recipe.has(blockSafety) {
			continue
		}
		if s.Cap.Items > 0 && countOpen(entries) >= s.Cap.Items {
			entries = append(entries, memoryEntry(m).out(overItems))
			continue
		}
		entries = append(entries, v.once(memoryEntry(m), fact(m.Content), s.Block))
	}
	return entries
}

func seededFirst(m longterm.Memory) int {
	if m.Source == longterm.Seeded {
		return 0
	}
	return 1
}

func newestFirst(memories []longterm.Memory) []longterm.Memory {
	sorted := slices.Clone(memories)
	slices.SortFunc(sorted, func(a, b longterm.Memory) int {
		return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
	return sorted
}

// countOpen counts the entries that nothing keeps out yet.
func countOpen(entries []*entry) int {
	n := 0
	for _, e := range entries {
		if e.decision == "" {
			n++
		}
	}
	return n
}

// memoryCaps are how many memories of each type are told as relevant, and rawMemories how many of the search's are
// looked at that no other block tells (prompt-assembly-map, selectRelevantMemories).
var memoryCaps = map[longterm.MemoryType]int{
	longterm.ProfileMemory: 2, longterm.PeopleMemory: 3, longterm.ProjectMemory: 3,
}

const rawMemories = 12

// chooseRelevantMemories tells the memories nearest to the message that no other block tells, by type
// (prompt-assembly-map, "Block Map Table": caps 2, 3, 3, and 8 in all).
func chooseRelevantMemories(v *view, s *Slot) []*entry {
	var entries []*entry
	perType, raw := map[longterm.MemoryType]int{}, 0
	for _, h := range v.relevantMemories() {
		if _, told := v.used[fact(h.Memory.Content)]; !told {
			raw++
		}
		if raw > rawMemories {
			break
		}
		e := memoryEntry(*h.Memory)
		e.score = h.Score
		limit, known := memoryCaps[h.Memory.Type]
		switch {
		case !known:
			e.out("of no type that is told")
		case perType[h.Memory.Type] >= limit:
			e.out("over the number of its type")
		case s.Cap.Items > 0 && countOpen(entries) >= s.Cap.Items:
			e.out(overItems)
		default:
			if v.once(e, fact(h.Memory.Content), s.Block); e.decision == "" {
				perType[h.Memory.Type]++
			}
		}
		entries = append(entries, e)
	}
	return entries
}

// relevantMemories are the memories that the search found, best first, and behind them the live ones that share words
// with the message and that nothing tells yet: in a long history, messages can take every place in the search's answer.
func (v *view) relevantMemories() []recall.Hit {
	var found []recall.Hit
	known := map[string]bool{}
	for _, h := range v.hits {
		if h.Memory != nil {
			found = append(found, h)
			known[h.Memory.ID] = true
		}
	}
	asked, searched := keywords(v.Message), len(found)
	for _, m := range newestFirst(v.snapshot.Memories) {
		_, told := v.used[fact(m.Content)]
		if share := sharedWords(asked, m.Content); share > 0 && !told && !known[m.ID] {
			found = append(found, recall.Hit{ID: m.ID, Score: share, Memory: &m})
		}
	}
	slices.SortStableFunc(found[searched:], func(a, b recall.Hit) int { return cmp.Compare(b.Score, a.Score) })
	return found
}
