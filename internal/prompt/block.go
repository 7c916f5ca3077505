package prompt

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/recall/rank"
	"github.com/throughline/throughline/internal/truncate"
)

// selectBlocks calls the selector of each slot, the most valuable block first, so that the more valuable block claims
// what two blocks could include.
func selectBlocks(sel *selection) []*block {
	blocks := make([]*block, 0, len(sel.recipe.Slots))
	for i := range sel.recipe.Slots {
		slot := &sel.recipe.Slots[i]
		b := &block{slot: slot, omitted: slot.When != nil && !slot.When(sel)}
		if !b.omitted {
			choose := slot.Select
			if choose == nil {
				choose = selectors[slot.Block]
			}
			b.entries = choose(sel, slot)
		}
		b.late = sel.recipe.isLate(slot.Block)
		blocks = append(blocks, b)
		if later := b.splitLate(); later != nil {
			blocks = append(blocks, later)
		}
	}
	return blocks
}

// splitLate moves the late entries of a block that stands in front into a block of their own, which it returns, or nil
// if there are none.
func (b *block) splitLate() *block {
	isLate := func(e *entry) bool { return e.late && e.decision == "" }
	if b.late || !slices.ContainsFunc(b.entries, isLate) {
		return nil
	}
	later := &block{slot: b.slot, late: true, front: b}
	var front []*entry
	for _, e := range b.entries {
		if isLate(e) {
			later.entries = append(later.entries, e)
		} else {
			front = append(front, e)
		}
	}
	b.entries = front
	return later
}

// field is one named value of an entry that consists of several, such as a profile.
type field struct {
	label, value string
	// stored is true if the label is stored text, too.
	stored bool
}

// kindMessage is the kind of entries that are messages.
const kindMessage = "message"

// entry is one candidate for a prompt: its text, where that comes from, and what became of it.
type entry struct {
	kind, id, sessionID, context string
	at                           time.Time
	score                        float64
	// features are the parts of the score of a message that the search found.
	features rank.Contributions
	// irrelevant marks a hit that is not worth its place.
	irrelevant bool
	// role is the speaker, if the entry is a message.
	role conversation.Role
	// label says where and when: "Program Designer - 2 hours ago". It consists of the format's own words.
	label string
	// text is the stored text, tokens its stored count, or 0 if it has to be counted. fields, if set, replace text.
	// note is written behind it, such as a goal's type.
	text   string
	tokens int
	fields []field
	note   string
	// tags are the topics that are stored with a summary.
	tags []string
	// trusted marks text of Throughline's own and text that only the app can write. It is written verbatim.
	trusted bool
	// constant marks trusted text that is the same in every prompt of a recipe, so that it is counted once.
	constant bool
	// countOnly marks what the model is sent beside the text, such as a tool. It is counted and not written.
	countOnly bool
	// minChars is the fewest characters to which the text may be cut.
	minChars int
	// position is where the entry is written in its block, ascending. Entries of equal position keep their rank.
	position int
	// group is the conversation that the entry is written in, nil for most entries.
	group *group
	// late marks an entry of a block that stands in front which is written behind the session's messages all the same,
	// because it came up after the sitting began.
	late bool

	// includeReason, if set, is the manifest's reason if the entry is included.
	includeReason string
	// deferred, if set, says why the entry is added only in the last pass, from what the budget leaves.
	deferred string
	// replaces is how many messages a summary stands for, if a transcript may have them too. If all of them are in the
	// prompt, the summary is dropped. 0 keeps it in any case.
	replaces int

	// The packer and the renderer set the following fields.
	decision Decision
	reason   string
	// trimReason says how the text was cut; it is empty if it was not.
	trimReason string
	// overCap marks an entry that only its block's cap keeps out.
	overCap bool
	cost    cost
	// rendered is the text as it is written: cleaned, folded or guarded.
	rendered string
}

// drop marks an entry as dropped.
func (e *entry) drop(reason string) *entry {
	e.decision, e.reason = Dropped, reason
	return e
}

// included reports whether the entry is in the prompt, whole or cut.
func (e *entry) included() bool { return e.decision == Included || e.decision == Trimmed }

// hasText reports whether the entry says anything.
func (e *entry) hasText() bool { return e.countOnly || len(e.fields) > 0 || hasVisibleText(e.text) }

// group is one conversation, or one exchange of it, whose messages are written together.
type group struct {
	kind, id           string
	sessionID, context string
	label              string
	// day is the calendar day in words, date in figures. from and to are the local times of its first and last message.
	day, date, from, to string
	// unread, if set, says why messages before its first one were not read.
	unread string
	began  time.Time
	// started is set when the first of its entries is included. cost is what its frame takes.
	started bool
	cost    cost
}

// block is one section of a prompt, from its candidates to its text.
type block struct {
	slot *Slot
	// entries are the candidates, most valuable first.
	entries []*entry
	// omitted is set if the slot's When leaves the block out.
	omitted bool
	// late is set if the block is written behind the session's messages. front is the block whose late entries it has, nil
	// if the recipe writes the whole block there.
	late  bool
	front *block
	// started is set when its heading is in the prompt. cost is what the block takes, heading included.
	started bool
	cost    cost
	// maxTokens is the block's cap in tokens for this budget, 0 for none. bounded is set if what the budget leaves is not
	// added to it.
	maxTokens int
	bounded   bool
}

// entriesInOrder returns the entries that are written, in the order in which they are.
func (b *block) entriesInOrder() []*entry {
	in := make([]*entry, 0, len(b.entries))
	for _, e := range b.entries {
		if e.included() && !e.countOnly {
			in = append(in, e)
		}
	}
	sortByPosition(in)
	return in
}

// The names of the blocks.
const (
	blockRole             = "role"
	blockCurrent          = "current_message"
	blockRecent           = "recent_messages"
	blockSafety           = "safety"
	blockNow              = "now"
	blockFoundation       = "foundation_memories"
	blockActivity         = "recent_activity"
	blockLoops            = "open_loops"
	blockGoals            = "goals"
	blockRelevantMemories = "relevant_memories"
	blockMessages         = "relevant_messages"
	blockThread           = "thread_history"
	blockProfile          = "profile"
	blockEngagement       = "engagement"
	blockUserSummary      = "user_summary"
	blockWins             = "wins"
	blockSpine            = "spine"
	blockLatest           = "session_summary"
	blockSeed             = "seed"
	blockState            = "session_state"
	blockSessions         = "session_summaries"
	blockExpertise        = "expertise"
	blockInstruction      = "instruction"
)

// A selector returns a block's candidates, most valuable first. It also returns the ones that its cap or its rules
// drop, marked with the reason, for the manifest.
type selector func(sel *selection, s *Slot) []*entry

// selectors is the registry of blocks. To add one, add an entry here and a slot to the recipes that use it.
var selectors = map[string]selector{
	blockRole:             selectRole,
	blockCurrent:          selectCurrent,
	blockRecent:           selectRecent,
	blockSafety:           selectSafety,
	blockNow:              selectNow,
	blockFoundation:       selectFoundation,
	blockActivity:         selectActivity,
	blockLoops:            selectLoops,
	blockGoals:            selectGoals,
	blockRelevantMemories: selectRelevantMemories,
	blockMessages:         selectMessages,
	blockThread:           selectThread,
	blockProfile:          selectProfile,
	blockEngagement:       selectEngagement,
	blockUserSummary:      selectUserSummary,
	blockWins:             selectWins,
	blockSpine:            selectSpine,
	blockLatest:           selectLatest,
	blockSeed:             selectSeed,
	blockState:            selectState,
	blockSessions:         selectSessions,
	blockExpertise:        selectExpertise,
	blockInstruction:      selectInstruction,
}

// reasonItems is the reason of an entry that its block's number of items drops.
const reasonItems = "over the number of items of its block"

// capItems drops what exceeds the block's number of items, the least valuable entries.
func capItems(entries []*entry, slot *Slot) []*entry {
	kept := 0
	for _, e := range entries {
		if e.decision != "" {
			continue
		}
		if kept++; slot.Cap.Items > 0 && kept > slot.Cap.Items {
			e.drop(reasonItems)
		}
	}
	return entries
}

func sortByPosition(entries []*entry) {
	slices.SortStableFunc(entries, func(a, b *entry) int { return cmp.Compare(a.position, b.position) })
}

// capChars cuts an entry's text to its block's number of characters, and notes it.
func capChars(e *entry, c Cap) *entry {
	if c.Chars == 0 {
		return e
	}
	cut := truncate.Runes(e.text, c.Chars)
	if len(cut) == len(e.text) {
		return e
	}
	if !c.NoEllipsis {
		cut = shortened(e.text, c.Chars)
	}
	e.text, e.tokens = cut, 0
	e.trimReason = fmt.Sprintf("cut to %d characters", c.Chars)
	return e
}
