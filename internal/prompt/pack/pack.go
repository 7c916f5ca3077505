package pack

import (
	"cmp"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/prompt/block"
	"github.com/throughline/throughline/internal/prompt/choose"
	"github.com/throughline/throughline/internal/truncate"
)

// Pack decides about every candidate of the plan's blocks. Its error is Invalid, with the budget and the need, if the
// required blocks exceed the budget.
func Pack(chosen []choose.Block, plan Plan, m Measurer) (Packing, error) {
	blocks := plan.newBlocks(chosen)
	p := packer{
		Measurer: m, Plan: &plan, limit: plan.Budget, wholeMessages: map[string]int{}, packed: map[itemKey]string{},
		frames: map[*choose.Group]Cost{},
	}
	if err := p.pack(blocks); err != nil {
		return Packing{}, err
	}
	return Packing{Blocks: plan.inOrder(blocks), Frames: p.frames}, nil
}

// packer adds items to a prompt, the most valuable first, until its budget is spent. What is dropped is therefore
// always the least valuable: every item of a lower block before any of a higher one, and the lowest items of a block
// first.
type packer struct {
	Measurer
	*Plan
	// limit is the budget, with the current message if that is excluded from the plan's.
	limit Cost
	spent Cost
	// standing is what the standing blocks have taken, and fresh what those of them have that came up in the meantime.
	// forFresh is what these may take in a session that continues.
	standing, fresh, forFresh int
	// fullReason says which limit an item did not fit into. Once it is set, no item of lower value is added. reserved says
	// for what the rest of the budget is kept while the limit is below it.
	fullReason, reserved string
	// wholeMessages counts the messages of each session that are included whole. packed has the block of each item that
	// two blocks have candidates for: memories, and messages of a session that continues.
	wholeMessages map[string]int
	packed        map[itemKey]string
	// frames has what the frames of the conversations take that have an item in the prompt.
	frames map[*choose.Group]Cost
}

// Reasons of the manifest, in plain words.
const (
	reasonWhole       = "fits whole"
	reasonCutToBlock  = "cut to what its block may take"
	reasonCutToBudget = "cut to what the budget leaves"
	reasonCutToShare  = "cut to a quarter of the budget"
	reasonLeftover    = "the budget left room for it"
	reasonCovered     = "its messages are in the prompt whole"
)

// pack decides about every item of blocks, which are in order of value.
func (p *packer) pack(blocks []*Block) error {
	for _, b := range blocks {
		if b.MaxTokens = b.Tokens; b.Percent > 0 {
			b.MaxTokens = p.Budget.Tokens * b.Percent / 100
		}
		if b.Required {
			p.addRequired(b)
		}
		if b.Block == block.Current && p.MessageExcluded {
			p.limit.Tokens += b.Cost.Tokens
		}
	}
	if !p.spent.within(p.limit) {
		return p.tooSmall()
	}
	for _, b := range blocks {
		if b.Protected {
			p.addBlock(b)
		}
	}
	p.addRest(blocks)
	return nil
}

// addBlocks adds the blocks that are neither required nor protected.
func (p *packer) addBlocks(blocks []*Block) {
	for _, b := range blocks {
		if !b.Required && !b.Protected {
			p.addBlock(b)
		}
	}
}

// isCovered reports whether the prompt has all the messages that a summary replaces.
func (p *packer) isCovered(i *Item) bool {
	return i.Replaces > 0 && p.wholeMessages[i.SessionID] >= i.Replaces
}

func (p *packer) tooSmall() error {
	budget, need := fmt.Sprintf("%d tokens", p.limit.Tokens), p.spent.Tokens
	if p.limit.Chars > 0 && p.spent.Chars > p.limit.Chars {
		budget, need = fmt.Sprintf("%d characters", p.limit.Chars), p.spent.Chars
	}
	return fault.InvalidField("message", fmt.Sprintf("does not fit: the budget is %s, "+
		"and the message needs %d with the role and what else is never dropped", budget, need))
}

// addRequired adds all items of a block, whatever they cost.
func (p *packer) addRequired(b *Block) {
	for i := range b.Items {
		item := &b.Items[i]
		p.measure(b, item)
		p.include(b, item, p.price(b, item), "never dropped")
	}
}

// measure sets the body and the cost of an item that is not cut.
func (p *packer) measure(b *Block, i *Item) {
	i.Body, i.Cost = p.Body(b.Block, i.Candidate, i.Text, i.Tokens)
}

// addBlock adds a block's items until one exceeds its cap or the budget.
func (p *packer) addBlock(b *Block) {
	p.addPlaceholder(b)
	if b.Fresh && b.MaxTokens > 0 && !b.Capped { // the cap is that of both
		b.MaxTokens = max(b.MaxTokens-b.stable.Cost.Tokens, 1)
	}
	capped := false
	for i := range b.Items {
		item := &b.Items[i]
		switch {
		case item.Decision != "":
		case p.repeats(item) != "":
			item.drop("repeats " + p.repeats(item))
		case p.fullReason != "":
			item.drop(p.fullReason)
		case p.isCovered(item):
			item.drop(reasonCovered)
		case item.Deferred != "":
			item.overCap = true
			item.drop(item.Deferred)
		case capped:
			item.overCap = true
			item.drop(capReason(b))
		default:
			capped = p.addItem(b, item)
		}
	}
}

// itemKey identifies an item.
type itemKey struct{ kind, id string }

// repeats returns the block that has an item already, or "".
func (p *packer) repeats(i *Item) string { return p.packed[itemKey{i.Kind, i.ID}] }

// addItem adds or drops one item, and reports whether its block's cap is reached.
func (p *packer) addItem(b *Block, i *Item) (capped bool) {
	p.measure(b, i)
	if !i.HasText() {
		i.drop("nothing to tell")
		return false
	}
	price := p.price(b, i)
	if left := p.standingLeft(b.Fresh); b.Standing && price.Tokens > left {
		if !b.Shorten || !p.shrink(b, i, left, reasonCutToBlock) {
			i.drop(fmt.Sprintf("over the %d tokens that standing blocks share", p.standingRoom()))
		}
		return false // a shorter one may fit
	}
	isLong := p.isLong(i.Cost)
	mayCut := b.Shorten && b.MaxTokens == 0 && (i.Kind == choose.KindMessage || i.Kind == choose.KindSummary)
	if isLong && mayCut && p.shrink(b, i, p.Budget.Tokens/longShare, reasonCutToShare) {
		return false
	}
	if b.MaxTokens > 0 && b.Cost.Add(price).Tokens > b.MaxTokens {
		if !b.Shorten || !p.shrink(b, i, b.MaxTokens-b.Cost.Tokens, reasonCutToBlock) {
			i.overCap = true
			i.drop(capReason(b))
		}
		return true
	}
	if !p.spent.Add(price).within(p.limit) {
		switch reason := p.exceeded(price); {
		case b.Protected && b.Shorten && p.shrink(b, i, p.Budget.Tokens/longShare, reasonCutToShare):
			// the others may still fit
		case b.Shorten && p.shrink(b, i, p.limit.Tokens, reasonCutToBudget):
			p.fullReason = reason
		case isLong || b.Protected:
			i.drop(fmt.Sprintf("longer than what the budget of %d tokens leaves", p.Budget.Tokens))
		default:
			p.fullReason = reason
			i.drop(reason)
		}
		return false
	}
	p.include(b, i, price, reasonWhole)
	return false
}

// exceeded says which limit something of this cost exceeds.
func (p *packer) exceeded(price Cost) string {
	switch {
	case p.spent.Add(price).Tokens <= p.limit.Tokens:
		return fmt.Sprintf("the budget of %d characters was reached", p.Budget.Chars)
	case p.reserved != "":
		return fmt.Sprintf("%d of the budget's %d tokens were reached; the others are kept for %s", p.limit.Tokens,
			p.Budget.Tokens, p.reserved)
	}
	return fmt.Sprintf("the budget of %d tokens was reached", p.Budget.Tokens)
}

// standingRoom is how many tokens the standing blocks may take together.
func (p *Plan) standingRoom() int { return p.Budget.Tokens * p.Standing / 100 }

func capReason(b *Block) string {
	if b.Capped {
		return fmt.Sprintf("over the %d tokens of its block while a cache may have the stable prefix", b.MaxTokens)
	}
	return fmt.Sprintf("over the %d tokens of its block", b.MaxTokens)
}

// price is what adding an item costs, with its block's heading and its conversation's frame if they are not there yet.
func (p *packer) price(b *Block, i *Item) Cost {
	c := i.Cost
	if !b.Started && !i.CountOnly {
		heading, _ := p.Heading(b.Block, b.IsAgain())
		c = c.Add(heading)
	}
	if _, framed := p.frames[i.Group]; i.Group != nil && !framed {
		c = c.Add(p.Frame(i.Group))
	}
	return c
}

// include adds an item to its block.
func (p *packer) include(b *Block, i *Item, price Cost, reason string) {
	b.Started = b.Started || !i.CountOnly
	if _, framed := p.frames[i.Group]; i.Group != nil && !framed {
		p.frames[i.Group] = p.Frame(i.Group)
	}
	b.Cost = b.Cost.Add(price)
	p.spent = p.spent.Add(price)
	switch {
	case b.Standing && b.Fresh:
		p.fresh += price.Tokens
	case b.Standing:
		p.standing += price.Tokens
	}
	i.Decision, i.Reason = Included, cmp.Or(i.Why, reason)
	if i.cut != "" {
		i.Decision, i.Reason = Trimmed, i.cut
	}
	isMessage := i.Kind == choose.KindMessage
	if i.Kind == choose.KindMemory || isMessage && p.Previous.Continues {
		p.packed[itemKey{i.Kind, i.ID}] = b.Block
	}
	if isMessage && i.Decision == Included {
		p.wholeMessages[i.SessionID]++
	}
}

// addPlaceholder adds the text of a block for having no items, if it has such a text and no item.
func (p *packer) addPlaceholder(b *Block) {
	heading, empty := p.Heading(b.Block, b.IsAgain())
	isUndecided := func(i Item) bool { return i.Decision == "" }
	if empty == (Cost{}) || b.omitted || p.fullReason != "" || slices.ContainsFunc(b.Items, isUndecided) {
		return
	}
	price := heading.Add(empty)
	if !p.spent.Add(price).within(p.limit) {
		p.fullReason = p.exceeded(price)
		return
	}
	b.Started = true
	b.Cost = b.Cost.Add(price)
	p.spent = p.spent.Add(price)
}

// addLeftovers gives the blocks with FillRest what the budget leaves, in the order of value.
func (p *packer) addLeftovers(blocks []*Block) {
	for _, b := range blocks {
		if b.FillRest {
			p.addOverCap(b)
		}
	}
}

// addOverCap adds a block's items that only its cap dropped, then the deferred ones, until one does not fit. The others
// are dropped by the limit that this one exceeds, but for deferred ones and those over a share of the suffix.
func (p *packer) addOverCap(b *Block) {
	full := p.fullReason
	for _, deferred := range []bool{false, true} {
		for i := range b.Items {
			item := &b.Items[i]
			if !item.overCap || (item.Deferred != "") != deferred {
				continue
			}
			if full == "" {
				full = p.addIfRoom(b, item)
			}
			if full != "" && !deferred && !b.Capped {
				item.drop(full)
			}
		}
	}
}

// addIfRoom adds a dropped item, unless it has no text or another block has it. If there is no room for it, it returns
// why.
func (p *packer) addIfRoom(b *Block, i *Item) (full string) {
	if by := p.repeats(i); by != "" {
		i.drop("repeats " + by)
		return ""
	}
	p.measure(b, i)
	if !i.HasText() {
		return ""
	}
	price := p.price(b, i)
	if !p.spent.Add(price).within(p.limit) {
		return p.exceeded(price)
	}
	i.overCap = false
	p.include(b, i, price, reasonLeftover)
	return ""
}

// minCutTokens is the fewest tokens of a cut text.
const minCutTokens = 24

// shrink adds an item cut to the tokens that are left for it, its heading and frame included, if it can. It reports
// whether it did. If it did not, the item has its whole size, for the manifest.
func (p *packer) shrink(b *Block, i *Item, left int, why string) bool {
	price := p.price(b, i)
	frame := Cost{Tokens: price.Tokens - i.Cost.Tokens, Chars: price.Chars - i.Cost.Chars}
	room := min(left, p.limit.Tokens-p.spent.Tokens) - frame.Tokens
	if room < minCutTokens {
		return false
	}
	// The cost is more than the room, or than the budget's characters, or the item would fit.
	for n := utf8.RuneCountInString(i.Text) * room / i.Cost.Tokens; n > max(1, i.MinChars); n = n * 9 / 10 {
		body, cost := p.Body(b.Block, i.Candidate, truncate.Ellipsis(i.Text, n), 0)
		if cost.Tokens <= room && p.spent.Add(frame).Add(cost).within(p.limit) {
			i.Body, i.Cost, i.cut = body, cost, why
			p.include(b, i, p.price(b, i), "")
			return true
		}
	}
	return false
}
