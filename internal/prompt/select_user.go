package prompt

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/recall"
)

func memoryEntry(m longterm.Memory) *entry {
	return &entry{kind: "memory", id: m.ID, at: m.CreatedAt, text: m.Content, tokens: m.Tokens}
}

// lateIfNew marks the entries that came up today, after the session began.
func lateIfNew(sel *selection, entries []*entry) []*entry {
	for _, e := range entries {
		e.late = isOfToday(sel, e.at)
	}
	return entries
}

// selectSafety selects the pinned memories, such as injuries and allergies. The newest is the most valuable; they are
// written in the order in which they came up.
func selectSafety(sel *selection, slot *Slot) []*entry {
	var entries []*entry
	for i, m := range newestFirst(sel.snapshot.Memories) {
		if m.Pinned {
			e := sel.claimEntry(memoryEntry(m), factKey(m.Content), slot.Block)
			e.position = -i
			entries = append(entries, e)
		}
	}
	return lateIfNew(sel, capItems(entries, slot))
}

// selectFoundation selects lasting facts: seeded ones, then the oldest (prompt-assembly-map, "Smallest 3
// Improvements", 1).
func selectFoundation(sel *selection, slot *Slot) []*entry {
	memories := slices.Clone(sel.snapshot.Memories)
	slices.SortFunc(memories, func(a, b longterm.Memory) int {
		return cmp.Or(seededRank(a)-seededRank(b), a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
	var entries []*entry
	for _, m := range memories {
		if m.Pinned && sel.recipe.has(blockSafety) {
			continue
		}
		if slot.Cap.Items > 0 && countUndropped(entries) >= slot.Cap.Items {
			entries = append(entries, memoryEntry(m).drop(reasonItems))
			continue
		}
		entries = append(entries, sel.claimEntry(memoryEntry(m), factKey(m.Content), slot.Block))
	}
	return lateIfNew(sel, entries)
}

func seededRank(m longterm.Memory) int {
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

// countUndropped counts the entries that are not dropped yet.
func countUndropped(entries []*entry) int {
	n := 0
	for _, e := range entries {
		if e.decision == "" {
			n++
		}
	}
	return n
}

// memoryCaps are the numbers of relevant memories of each type (prompt-assembly-map, selectRelevantMemories).
var memoryCaps = map[longterm.MemoryType]int{
	longterm.ProfileMemory: 2, longterm.PeopleMemory: 3, longterm.ProjectMemory: 3,
}

// rawMemories is how many memories without a claim are considered.
const rawMemories = 12

// selectRelevantMemories selects the memories closest to the message that no other block has, by type
// (prompt-assembly-map, "Block Map Table": caps 2, 3, 3, and 8 in all).
func selectRelevantMemories(sel *selection, slot *Slot) []*entry {
	var entries []*entry
	perType, raw := map[longterm.MemoryType]int{}, 0
	for _, h := range relevantMemories(sel) {
		if _, told := sel.claims[factKey(h.Memory.Content)]; !told {
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
			e.drop("of no type that is told")
		case perType[h.Memory.Type] >= limit:
			e.drop("over the number of its type")
		case slot.Cap.Items > 0 && countUndropped(entries) >= slot.Cap.Items:
			e.drop(reasonItems)
		default:
			if sel.claimEntry(e, factKey(h.Memory.Content), slot.Block); e.decision == "" {
				perType[h.Memory.Type]++
			}
		}
		entries = append(entries, e)
	}
	return entries
}

// relevantMemories returns the memories that the search found, best first. Behind them are the live ones that share
// words with the message and that no block has, because in a long history messages can take every place among the
// hits.
func relevantMemories(sel *selection) []recall.Hit {
	var found []recall.Hit
	known := map[string]bool{}
	for _, h := range sel.hits {
		if h.Memory != nil {
			found = append(found, h)
			known[h.Memory.ID] = true
		}
	}
	asked, searched := keywords(sel.Message), len(found)
	for _, m := range newestFirst(sel.snapshot.Memories) {
		_, told := sel.claims[factKey(m.Content)]
		if share := sharedWords(asked, m.Content); share > 0 && !told && !known[m.ID] {
			found = append(found, recall.Hit{ID: m.ID, Score: share, Memory: &m})
		}
	}
	slices.SortStableFunc(found[searched:], func(a, b recall.Hit) int { return cmp.Compare(b.Score, a.Score) })
	return found
}

// selectProfile selects the user's profile (working-context-builder, finding F1). A user without a profile gets no
// block.
func selectProfile(sel *selection, _ *Slot) []*entry {
	p := sel.snapshot.Profile
	if p == nil {
		return nil
	}
	var fields []field
	fields = addField(fields, "Name", p.Name)
	if sel.recipe.IncludeEmail {
		fields = addField(fields, "Email", p.Email)
	}
	if !p.CreatedAt.IsZero() {
		fields = addField(fields, "Member since", date(p.CreatedAt, sel.zone))
	}
	fields = addField(fields, "About", p.About)
	return fieldsEntry(&entry{kind: "profile", id: "profile"}, fields)
}

func addField(fields []field, label, value string) []field {
	if !hasVisibleText(value) {
		return fields
	}
	return append(fields, field{label: label, value: value})
}

func fieldsEntry(e *entry, fields []field) []*entry {
	if len(fields) == 0 {
		return nil
	}
	e.fields = fields
	return []*entry{e}
}

// EngagementThreshold is how many days after a check-in a user still counts as engaged, so that a long weekend is no
// absence (working-context-builder, ENGAGEMENT_THRESHOLD_DAYS, finding F6).
const EngagementThreshold = 3

// Engagement is how regularly the user checks in (working-context-builder, EngagementContext).
type Engagement struct {
	// Status is new, engaged or returning.
	Status string
	// Days is how many whole days ago the last check-in was, nil without one.
	Days *int
	// LastCheckInAt is zero without one.
	LastCheckInAt time.Time
}

// EngagementOf derives a user's engagement from the latest check-in (working-context-builder, AC 6 to 8).
func EngagementOf(latest *longterm.CheckIn, now time.Time) Engagement {
	if latest == nil {
		return Engagement{Status: "new"}
	}
	days := max(int(now.Sub(latest.Timestamp)/(24*time.Hour)), 0)
	e := Engagement{Status: "returning", Days: &days, LastCheckInAt: latest.Timestamp}
	if days <= EngagementThreshold {
		e.Status = "engaged"
	}
	return e
}

// newUser is the specification's text for a user who has never checked in (working-context-builder,
// buildContextInjection).
const newUser = "new user (first conversation)"

// selectEngagement selects the user's engagement. A user who has talked before without a check-in is not called new,
// because other blocks would contradict it.
func selectEngagement(sel *selection, _ *Slot) []*entry {
	if len(sel.ownMessages) > 0 || len(sel.sessions) > 0 {
		return engagementEntries(sel, "no check-ins yet")
	}
	return engagementEntries(sel, newUser)
}

// selectSpecifiedEngagement is selectEngagement in the specification's own words.
func selectSpecifiedEngagement(sel *selection, _ *Slot) []*entry {
	return engagementEntries(sel, newUser)
}

func engagementEntries(sel *selection, without string) []*entry {
	if !sel.hasLongTerm {
		return nil
	}
	e := EngagementOf(sel.snapshot.LatestCheckIn, sel.now)
	if e.Days == nil {
		return []*entry{{kind: "engagement", id: "engagement", fields: []field{{label: "Status", value: without}}}}
	}
	return []*entry{{
		kind: "engagement", id: sel.snapshot.LatestCheckIn.ID, at: e.LastCheckInAt,
		fields: []field{
			{label: "Status", value: e.Status}, {label: "Days since last check-in", value: fmt.Sprint(*e.Days)},
		},
	}}
}

// selectUserSummary selects patterns, wins and struggles: those that the app has stored, and the remarks of the spines
// that may be told here, of all coaches.
func selectUserSummary(sel *selection, _ *Slot) []*entry {
	var s longterm.UserSummary
	if app := sel.snapshot.UserSummary; app != nil {
		s = *app
	}
	var spines []longterm.Spine
	for _, spine := range sel.snapshot.Spines {
		if spine.WithheldIn(sel.Context, sel.prefs) == "" {
			spines = append(spines, spine)
		}
	}
	s = s.With(spines)
	var fields []field
	fields = addField(fields, "Patterns", joined(s.Patterns))
	fields = addField(fields, "Past wins", joined(s.Wins))
	fields = addField(fields, "Challenges", joined(s.Struggles))
	return fieldsEntry(&entry{kind: "user_summary", id: "user_summary", at: s.LastUpdated}, fields)
}

// joined joins the texts of a list that have visible text.
func joined(list []string) string {
	return strings.Join(slices.DeleteFunc(slices.Clone(list), func(text string) bool { return !hasVisibleText(text) }),
		"; ")
}

// selectGoals selects the active goals. The newest is the most valuable; they are written in the order in which they
// were set.
func selectGoals(sel *selection, slot *Slot) []*entry {
	goals := slices.Clone(sel.snapshot.Goals)
	slices.SortFunc(goals, func(a, b longterm.Goal) int {
		return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
	var entries []*entry
	for i, g := range goals {
		e := &entry{kind: "goal", id: g.ID, at: g.CreatedAt, text: g.Title, note: string(g.GoalType), position: -i}
		switch {
		case g.Status != longterm.GoalActive:
			continue
		case !slices.Contains([]longterm.GoalType{longterm.Habit, longterm.Target, longterm.Project}, g.GoalType):
			e.drop("of no known type")
		}
		entries = append(entries, e)
	}
	return lateIfNew(sel, capItems(entries, slot))
}

// selectLoops selects this coach's pending todos, newest first, each content once (prompt-assembly-map,
// dedupeOpenLoops).
func selectLoops(sel *selection, slot *Slot) []*entry {
	return todoEntries(sel, slot, longterm.Pending, func(t longterm.Todo) time.Time { return t.CreatedAt })
}

// selectWins selects the todos completed in the last 48 hours, newest first.
func selectWins(sel *selection, slot *Slot) []*entry {
	return todoEntries(sel, slot, longterm.TodoCompleted, func(t longterm.Todo) time.Time { return t.CompletedAt })
}

// allowsTodo reports whether a todo may be used. One that was extracted from messages is used where a memory of the
// same messages would be.
func (sel *selection) allowsTodo(t longterm.Todo) bool {
	return len(t.MessageIDs) == 0 ||
		sel.allowsMemory(longterm.Memory{Source: longterm.Extracted, MessageIDs: t.MessageIDs})
}

func todoEntries(sel *selection, slot *Slot, status longterm.TodoStatus, at func(longterm.Todo) time.Time) []*entry {
	var mine []longterm.Todo
	for _, t := range sel.snapshot.Todos {
		lapsed := status == longterm.TodoCompleted && sel.now.Sub(at(t)) > longterm.WinWindow
		if t.Status == status && t.CoachID == sel.CoachID && !lapsed && sel.allowsTodo(t) {
			mine = append(mine, t)
		}
	}
	slices.SortFunc(mine, func(a, b longterm.Todo) int {
		return cmp.Or(at(b).Compare(at(a)), cmp.Compare(a.ID, b.ID))
	})
	var entries []*entry
	for i, t := range mine {
		e := &entry{kind: "todo", id: t.ID, at: at(t), text: t.Content, tokens: t.Tokens, position: i}
		entries = append(entries, sel.claimEntry(e, dedupeKey{slot.Block, longterm.Normalize(t.Content)}, slot.Block))
	}
	return capItems(entries, slot)
}

func selectSeed(sel *selection, slot *Slot) []*entry {
	if sel.snapshot.Seed == nil || strings.TrimSpace(sel.snapshot.Seed.Content) == "" {
		return nil
	}
	return []*entry{capChars(&entry{kind: "seed", id: "seed", text: sel.snapshot.Seed.Content}, slot.Cap)}
}

// selectSpine selects the running summary of everything with this coach. It is dropped if one of the contexts that it
// is drawn from may not be told here.
func selectSpine(sel *selection, slot *Slot) []*entry {
	spine, ok := sel.snapshot.Spines[sel.CoachID]
	if !ok || strings.TrimSpace(spine.Text) == "" {
		return nil
	}
	e := &entry{kind: "spine", id: sel.CoachID, at: spine.UpdatedAt, text: spine.Text, tokens: spine.Tokens}
	if why := spine.WithheldIn(sel.Context, sel.prefs); why != "" {
		return []*entry{e.drop(why)}
	}
	return []*entry{capChars(e, slot.Cap)}
}
