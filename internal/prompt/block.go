package prompt

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/truncate"
)

// choose asks every slot's chooser, the most valuable block first, so that what two blocks could tell is told by the
// better one.
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
		blocks = append(blocks, b)
	}
	return blocks
}

// field is one named value of an entry that is made of several, such as a profile.
type field struct{ label, value string }

// kindMessage is the kind of entries that are messages.
const kindMessage = "message"

// entry is one candidate for a prompt: what it says, where it comes from, and what became of it.
type entry struct {
	kind, id, sessionID, context string
	at                           time.Time
	score                        float64
	// role is who speaks, where it is a message; agent messages are the assistant's.
	role conversation.Role
	// label tells where and when: "Program Designer - 2 hours ago". It is made of the format's own words.
	label string
	// text is the stored text; tokens its stored count, 0 where it has to be counted. fields, where set, stand
	// instead of text. note is a word behind it, such as a goal's type.
	text   string
	tokens int
	fields []field
	note   string
	// ours marks text that Throughline itself says; it is written as it is.
	trusted bool
	// fixed marks text of ours that is the same in every prompt of a recipe, so that it is counted once.
	constant bool
	// apart marks what the model is given beside the text, such as a tool: it is counted, and not written.
	countOnly bool
	// least is the fewest characters that it may be cut to.
	minChars int
	// place is where it stands in the rendered block, ascending; entries of equal place stand as they are ranked.
	position int
	// group is the conversation that it is told within, nil for most.
	group *group

	// why, where set, is the reason that the manifest gives when it is in.
	includeReason string
	// spare, where set, is why it is told only where the budget leaves room in the end.
	deferred string
	// stands is how many messages it stands for, a summary of a session that is told by a transcript too: where all of
	// them are told there is nothing left to sum up. 0 lets it be told in any case.
	replaces int

	// what the fit made of it
	decision Decision
	reason   string
	// cut says how its text was shortened, empty where it was not.
	trimReason string
	// overCap marks one that its block's cap alone kept out.
	overCap bool
	cost    cost
	// body is the text as it is written: cleaned, folded or guarded.
	rendered string
}

// out marks an entry as dropped.
func (e *entry) drop(reason string) *entry {
	e.decision, e.reason = Dropped, reason
	return e
}

// in reports whether the entry stands in the prompt.
func (e *entry) included() bool { return e.decision == Included || e.decision == Trimmed }

// says reports whether there is anything to tell.
func (e *entry) hasText() bool { return e.countOnly || len(e.fields) > 0 || hasVisibleText(e.text) }

// group is one conversation, or one exchange of it, whose messages stand together.
type group struct {
	kind, id           string
	sessionID, context string
	label              string
	// day is the calendar day in words, date in figures.
	day, date string
	began     time.Time
	tier      tier
	// opened is set once one of its entries is in; cost is what its frame takes.
	started bool
	cost    cost
}

// block is one section of a prompt on its way from candidates to text.
type block struct {
	slot *Slot
	// entries are the candidates, most valuable first.
	entries []*entry
	// off is set where the request leaves the block out.
	omitted bool
	// opened is set once its heading stands; cost is what it takes, heading included.
	started bool
	cost    cost
	// limit is its cap in tokens for this budget, 0 for none.
	maxTokens int
}

// written returns what is written of the block, in the order in which it is.
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

// The names of the blocks (api 4).
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

// chooser picks a block's candidates, most valuable first. What its cap or its rules keep out it returns too, marked
// so with the reason, for the manifest.
type selector func(sel *selection, s *Slot) []*entry

// choosers is the registry of blocks: to add one is to add an entry here, and a slot to the recipes that tell it.
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

// overItems is the reason of an entry that its block's number of items keeps out.
const reasonItems = "over the number of items of its block"

// capItems marks what a block's number of items keeps out, the least valuable.
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

// capChars cuts an entry's text to its block's characters, and notes it.
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
