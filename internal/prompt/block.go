package prompt

import (
	"time"

	"github.com/throughline/throughline/internal/conversation"
)

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
	ours bool
	// fixed marks text of ours that is the same in every prompt of a recipe, so that it is counted once.
	fixed bool
	// apart marks what the model is given beside the text, such as a tool: it is counted, and not written.
	apart bool
	// least is the fewest characters that it may be cut to.
	least int
	// place is where it stands in the rendered block, ascending; entries of equal place stand as they are ranked.
	place int
	// group is the conversation that it is told within, nil for most.
	group *group

	// why, where set, is the reason that the manifest gives when it is in.
	why string
	// spare, where set, is why it is told only where the budget leaves room in the end.
	spare string
	// stands is how many messages it stands for, a summary of a session that is told by a transcript too: where all of
	// them are told there is nothing left to sum up. 0 lets it be told in any case.
	stands int

	// what the fit made of it
	decision Decision
	reason   string
	// cut says how its text was shortened, empty where it was not.
	cut string
	// overCap marks one that its block's cap alone kept out.
	overCap bool
	cost    cost
	// loose marks a cost that may be a little too high for the end of the text.
	loose bool
	// body is the text as it is written: cleaned, folded or guarded.
	body string
}

// out marks an entry as dropped.
func (e *entry) out(reason string) *entry {
	e.decision, e.reason = Dropped, reason
	return e
}

// in reports whether the entry stands in the prompt.
func (e *entry) in() bool { return e.decision == Included || e.decision == Trimmed }

// says reports whether there is anything to tell.
func (e *entry) says() bool { return e.apart || len(e.fields) > 0 || says(e.text) }

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
	opened bool
	cost   cost
}

// block is one section of a prompt on its way from candidates to text.
type block struct {
	slot *Slot
	// entries are the candidates, most valuable first.
	entries []*entry
	// off is set where the request leaves the block out.
	off bool
	// opened is set once its heading stands; cost is what it takes, heading included.
	opened bool
	cost   cost
	// limit is its cap in tokens for this budget, 0 for none.
	limit int
}

// written returns what is written of the block, in the order in which it is.
func (b *block) written() []*entry {
	in := make([]*entry, 0, len(b.entries))
	for _, e := range b.entries {
		if e.in() && !e.apart {
			in = append(in, e)
		}
	}
	sortByPlace(in)
	return in
}
