// Package pack is the third step of a prompt: it decides what of the candidates is in a prompt within its budget, and
// which of it is in the stable prefix and which in the volatile suffix. It knows no format: a Measurer says what a
// candidate takes.
//
// The drop order is the order of value: the slots of the recipe, and in each the order of its candidates, the most
// valuable first. The budget is spent in that order, so what is dropped is always the least valuable.
package pack

import (
	"slices"

	"github.com/throughline/throughline/internal/prompt/block"
	"github.com/throughline/throughline/internal/prompt/choose"
)

// Cost is what text takes of a budget. In a limit, zero Chars means that characters do not count.
type Cost struct{ Tokens, Chars int }

// Add returns the sum of two costs.
func (c Cost) Add(d Cost) Cost { return Cost{c.Tokens + d.Tokens, c.Chars + d.Chars} }

// within reports whether a cost is within a limit.
func (c Cost) within(limit Cost) bool {
	return c.Tokens <= limit.Tokens && (limit.Chars == 0 || c.Chars <= limit.Chars)
}

// Measurer says what text takes of a prompt in its format.
type Measurer interface {
	// Body returns the body of a candidate of a block as the format writes it, and its cost without that of the block's
	// heading and the conversation's frame. text is the candidate's text or its beginning, tokens its stored count, or 0
	// if it has to be counted.
	Body(block string, c *choose.Candidate, text string, tokens int) (body string, cost Cost)
	// Heading is the cost of a block's heading and end, of the first line of it alone where the block is written again.
	// Empty is that of its text for having no candidates, 0 for none.
	Heading(block string, again bool) (heading, empty Cost)
	// Frame is the cost of a conversation's frame.
	Frame(g *choose.Group) Cost
}

// Slot says how much one block may take.
type Slot struct {
	// Block names the block.
	Block string
	// Required blocks are never dropped or cut. A budget that does not hold them is refused.
	Required bool
	// Protected blocks are packed directly after the required ones, before more valuable blocks.
	Protected bool
	// Tokens limits the tokens of the block, Percent, if set, its share of the budget instead; 0 does not limit.
	Tokens, Percent int
	// Standing blocks are what a prompt has whatever the message asks. Together they take the plan's Standing percent of
	// the budget at most.
	Standing bool
	// Relevant marks the block that has what was found for the message. It is kept half of what the required and protected
	// blocks and the session's messages leave, if its candidates are worth that.
	Relevant bool
	// FillRest gives the block what the budget leaves in the end, beyond Tokens and Percent.
	FillRest bool
	// Shorten cuts the text of the first candidate that does not fit, if there are tokens for a part of it. Of a protected
	// block it cuts each to a quarter of the budget at most.
	Shorten bool
}

// Plan says within what a prompt is packed, and in what order it is written.
type Plan struct {
	// Slots are the blocks, the most valuable first.
	Slots []Slot
	// Order names the blocks in the order in which they are written; nil means the order of value.
	Order  []string
	Budget Cost
	// Standing is the percentage of the budget that the standing blocks may take together.
	Standing int
	// MessageExcluded leaves the current message out of the budget in tokens.
	MessageExcluded bool
	// Previous says what came before the prompt, for its stable prefix.
	Previous Previous
}

// IsVolatile reports whether a block is written in the volatile suffix: between the session's messages and the current
// one.
func (p Plan) IsVolatile(name string) bool {
	place := slices.Index(p.Order, name)
	recent := slices.Index(p.Order, block.Recent)
	return 0 <= recent && recent < place && place < slices.Index(p.Order, block.Current)
}

// Decision is what became of one candidate.
type Decision string

// A candidate is included whole, included cut, or dropped.
const (
	Included Decision = "included"
	Trimmed  Decision = "trimmed"
	Dropped  Decision = "dropped"
)

// Item is a candidate and what became of it.
type Item struct {
	*choose.Candidate
	Decision Decision
	// Reason says why, in plain words.
	Reason string
	// Body is the text as the format writes it, Cost what it takes.
	Body string
	Cost Cost
	// cut says how the text was cut; it is empty if it was not.
	cut string
	// overCap marks an item that only its block's cap keeps out.
	overCap bool
}

// In reports whether the item is in the prompt, whole or cut.
func (i *Item) In() bool { return i.Decision == Included || i.Decision == Trimmed }

func (i *Item) drop(reason string) { i.Decision, i.Reason = Dropped, reason }

// Packing is what became of all candidates of a prompt. Nothing changes it once Pack has returned it.
type Packing struct {
	// Blocks are in the order in which they are written: the stable prefix before the volatile suffix.
	Blocks []*Block
	// Frames has what the frames of the conversations take that have an item in the prompt.
	Frames map[*choose.Group]Cost
}

// Block is what became of one block. The fresh candidates of a block in the stable prefix are a block of their own in
// the volatile suffix, with the same slot.
type Block struct {
	*Slot
	// Items are the candidates, the most valuable first.
	Items []Item
	// Volatile is set if the block is written in the volatile suffix. Fresh is set if it has the fresh candidates of a
	// block in the stable prefix.
	Volatile, Fresh bool
	// Started is set if the block is in the prompt. Cost is what it takes, heading included.
	Started bool
	Cost    Cost
	// MaxTokens is the block's cap for this budget, 0 for none. Capped is set if it does not get what the budget leaves.
	MaxTokens int
	Capped    bool

	omitted bool
	// stable is the block whose fresh candidates it has.
	stable *Block
}

// IsAgain reports whether the block has the fresh candidates of one that is written, too. Of a heading of several lines
// it needs the first one only.
func (b *Block) IsAgain() bool { return b.Fresh && b.stable.Started }

// Written returns the items that are written, in the order in which they are.
func (b *Block) Written() []*Item {
	in := make([]*Item, 0, len(b.Items))
	for i := range b.Items {
		if b.Items[i].In() && !b.Items[i].CountOnly {
			in = append(in, &b.Items[i])
		}
	}
	slices.SortStableFunc(in, func(a, b *Item) int { return a.Position - b.Position })
	return in
}

// newBlocks prepares the blocks to be packed, in the order of value.
func (p *Plan) newBlocks(chosen []choose.Block) []*Block {
	blocks := make([]*Block, 0, len(chosen))
	for i := range chosen {
		b := &Block{
			Slot: &p.Slots[i], Volatile: p.IsVolatile(chosen[i].Name), omitted: chosen[i].Omitted,
			Items: make([]Item, 0, len(chosen[i].Candidates)),
		}
		blocks = append(blocks, b)
		for _, c := range chosen[i].Candidates {
			to := b
			if b.isLate(c) {
				if to = blocks[len(blocks)-1]; to == b {
					to = &Block{Slot: b.Slot, Volatile: true, Fresh: true, stable: b}
					blocks = append(blocks, to)
				}
			}
			to.Items = append(to.Items, newItem(c))
		}
	}
	return blocks
}

// isLate reports whether a candidate of a block in the stable prefix is written in the volatile suffix.
func (b *Block) isLate(c *choose.Candidate) bool { return !b.Volatile && c.Fresh && c.Left == "" }

func newItem(c *choose.Candidate) Item {
	item := Item{Candidate: c, cut: c.Cut}
	if c.Left != "" {
		item.drop(c.Left)
	}
	return item
}

// inOrder returns the blocks in the order in which they are written. The fresh candidates of a block follow the first
// volatile block.
func (p *Plan) inOrder(blocks []*Block) []*Block {
	if p.Order == nil {
		return blocks
	}
	firstVolatile := slices.IndexFunc(p.Order, p.IsVolatile)
	place := func(b *Block) int { // twice the place, so that there is one between two
		if b.Fresh {
			return 2*firstVolatile + 1
		}
		return 2 * slices.Index(p.Order, b.Block)
	}
	sorted := slices.Clone(blocks)
	slices.SortStableFunc(sorted, func(a, b *Block) int {
		if d := place(a) - place(b); d != 0 {
			return d
		}
		return slices.Index(p.Order, a.Block) - slices.Index(p.Order, b.Block)
	})
	return sorted
}

// longShare is which part of the budget a single item may have before it is long: a quarter. A long message or summary
// is cut to it where its block is cut and has no cap, and so is a protected item that does not fit. What else is long
// and does not fit is left out, and what is less valuable still comes.
const longShare = 4

// isLong reports whether something is long. A budget in characters fills up in order, whatever the length.
func (p *packer) isLong(c Cost) bool {
	return p.Budget.Chars == 0 && c.Tokens > p.Budget.Tokens/longShare
}
