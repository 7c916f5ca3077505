package prompt

import (
	"cmp"
	"fmt"
	"unicode/utf8"

	"github.com/throughline/throughline/internal/fault"
)

// packer adds entries to a prompt, the most valuable first, until its budget is spent. What is dropped is therefore
// always the least valuable: every entry of a lower block before any of a higher one, and the lowest entries of a
// block first.
type packer struct {
	renderer
	limit cost
	// budget is the limit that the manifest names: without the current message if that is excluded.
	budget cost
	spent  cost
	// messageExcluded leaves the current message out of the limit.
	messageExcluded bool
	// steady is set if a session goes on whose prompts should begin alike, inCache if the one before may be in a cache.
	steady, inCache bool
	// fullReason says which budget an entry did not fit into. Once it is set, no entry of lower value is added.
	fullReason string
	// wholeMessages counts the messages of each session that are included whole. told has the block of each message of a
	// steady prompt; in other prompts no two blocks have candidates for one message.
	wholeMessages map[string]int
	told          map[dedupeKey]string
}

// Reasons of the manifest, in plain words.
const (
	reasonWhole       = "fits whole"
	reasonCutToBlock  = "cut to what its block may take"
	reasonCutToBudget = "cut to what the budget leaves"
	reasonLeftover    = "the budget left room for it"
	reasonCovered     = "its messages are told whole"
)

// pack decides about every entry of blocks, which are in order of value. Its error is Invalid, with the budget and the
// need, if the required blocks exceed the budget.
func (p *packer) pack(blocks []*block) error {
	p.budget, p.wholeMessages, p.told = p.limit, map[string]int{}, map[dedupeKey]string{}
	for _, b := range blocks {
		b.maxTokens = blockLimit(b.slot.Cap, p.limit)
		if b.slot.Required {
			p.addRequired(b)
		}
		if b.slot.Block == blockCurrent && p.messageExcluded {
			p.limit.tokens += b.cost.tokens
		}
	}
	if !p.spent.within(p.limit) {
		return p.tooSmall()
	}
	for _, b := range blocks {
		if b.slot.Protected {
			p.addBlock(b)
		}
	}
	if p.steady {
		p.packSteadily(blocks, p.inCache)
		return nil
	}
	p.addBlocks(blocks)
	for _, b := range blocks {
		if b.slot.Cap.FillRest {
			p.addLeftovers(b)
		}
	}
	return nil
}

// addBlocks adds the blocks that have no place of their own in the order of packing.
func (p *packer) addBlocks(blocks []*block) {
	for _, b := range blocks {
		if !b.slot.Required && !b.slot.Protected {
			p.addBlock(b)
		}
	}
}

// isCovered reports whether the prompt has all the messages that a summary stands for.
func (p *packer) isCovered(e *entry) bool {
	return e.replaces > 0 && p.wholeMessages[e.sessionID] >= e.replaces
}

func (p *packer) tooSmall() error {
	budget, need := fmt.Sprintf("%d tokens", p.limit.tokens), p.spent.tokens
	if p.limit.chars > 0 && p.spent.chars > p.limit.chars {
		budget, need = fmt.Sprintf("%d characters", p.limit.chars), p.spent.chars
	}
	return fault.InvalidField("message", fmt.Sprintf("does not fit: the budget is %s, "+
		"and the message needs %d with the role and what else is never dropped", budget, need))
}

// blockLimit is a block's cap in tokens, 0 for none.
func blockLimit(c Cap, budget cost) int {
	if c.Percent > 0 {
		return budget.tokens * c.Percent / 100
	}
	return c.Tokens
}

// addRequired adds all entries of a block, whatever they cost.
func (p *packer) addRequired(b *block) {
	for _, e := range b.entries {
		p.prepare(b.slot.Style, e)
		p.include(b, e, p.price(b, e), "never dropped")
	}
}

// addBlock adds a block's entries until one exceeds its cap or the budget.
func (p *packer) addBlock(b *block) {
	p.addPlaceholder(b)
	if b.front != nil && b.maxTokens > 0 && !b.bounded { // the cap is that of both
		b.maxTokens = max(b.maxTokens-b.front.cost.tokens, 1)
	}
	capped := false
	for _, e := range b.entries {
		switch {
		case e.decision != "":
		case p.fullReason != "":
			e.drop(p.fullReason)
		case p.told[e.key()] != "":
			e.drop("repeats " + p.told[e.key()])
		case p.isCovered(e):
			e.drop(reasonCovered)
		case e.deferred != "":
			e.overCap = true
			e.drop(e.deferred)
		case capped:
			e.overCap = true
			e.drop(capReason(b))
		default:
			capped = p.addEntry(b, e)
		}
	}
}

// addEntry adds or drops one entry, and reports whether its block's cap is reached.
func (p *packer) addEntry(b *block, e *entry) (capped bool) {
	p.prepare(b.slot.Style, e)
	if !e.hasText() {
		e.drop("nothing to tell")
		return false
	}
	price := p.price(b, e)
	if b.maxTokens > 0 && b.cost.add(price).tokens > b.maxTokens {
		if !b.slot.Cap.Shorten || !p.shrink(b, e, b.maxTokens-b.cost.tokens, reasonCutToBlock) {
			e.overCap = true
			e.drop(capReason(b))
		}
		return true
	}
	if !p.spent.add(price).within(p.limit) {
		reason := p.markFull(price)
		if !b.slot.Cap.Shorten || !p.shrink(b, e, p.limit.tokens, reasonCutToBudget) {
			e.drop(reason)
		}
		return false
	}
	p.include(b, e, price, reasonWhole)
	return false
}

// markFull records which budget something of this cost exceeds, and returns that as a reason.
func (p *packer) markFull(price cost) string {
	p.fullReason = fmt.Sprintf("the budget of %d tokens was reached", p.budget.tokens)
	if p.spent.add(price).tokens <= p.limit.tokens {
		p.fullReason = fmt.Sprintf("the budget of %d characters was reached", p.budget.chars)
	}
	return p.fullReason
}

func capReason(b *block) string {
	return fmt.Sprintf("over the %d tokens of its block", b.maxTokens)
}

// price is what adding an entry costs, with its block's heading and its conversation's frame if they are not there
// yet.
func (p *packer) price(b *block, e *entry) cost {
	c := e.cost
	if !b.started && !e.countOnly {
		c = c.add(p.headingCost(b.slot))
	}
	if e.group != nil && !e.group.started {
		c = c.add(p.groupCost(e.group))
	}
	return c
}

// include adds an entry to its block.
func (p *packer) include(b *block, e *entry, price cost, reason string) {
	b.started = b.started || !e.countOnly
	if e.group != nil && !e.group.started {
		e.group.started = true
		e.group.cost = p.groupCost(e.group)
	}
	b.cost = b.cost.add(price)
	p.spent = p.spent.add(price)
	e.decision, e.reason = Included, cmp.Or(e.includeReason, reason)
	if e.trimReason != "" {
		e.decision, e.reason = Trimmed, e.trimReason
	}
	if e.kind != kindMessage {
		return
	}
	if p.steady {
		p.told[e.key()] = b.slot.Block
	}
	if e.decision == Included {
		p.wholeMessages[e.sessionID]++
	}
}

// addPlaceholder adds the text of a block for having no entries, if it has such a text and no entry.
func (p *packer) addPlaceholder(b *block) {
	if b.slot.Empty == "" || b.omitted || p.fullReason != "" || countUndropped(b.entries) > 0 {
		return
	}
	price := p.headingCost(b.slot).add(p.constant(b.slot.Empty + "\n"))
	if !p.spent.add(price).within(p.limit) {
		p.markFull(price)
		return
	}
	b.started = true
	b.cost = b.cost.add(price)
	p.spent = p.spent.add(price)
}

// addLeftovers gives a block what the budget leaves: the entries that only its cap dropped, then the deferred ones,
// until one does not fit. An entry without text is passed over.
func (p *packer) addLeftovers(b *block) {
	for _, deferred := range []bool{false, true} {
		for _, e := range b.entries {
			if p.fullReason != "" || e.overCap && (e.deferred != "") == deferred && !p.addIfRoom(b, e) {
				return
			}
		}
	}
}

// addIfRoom adds a dropped entry that has a text, and reports whether there was room for it.
func (p *packer) addIfRoom(b *block, e *entry) bool {
	p.prepare(b.slot.Style, e)
	if !e.hasText() {
		return true
	}
	price := p.price(b, e)
	if !p.spent.add(price).within(p.limit) {
		return false
	}
	e.overCap = false
	p.include(b, e, price, reasonLeftover)
	return true
}

// minCutTokens is the fewest tokens of a cut entry.
const minCutTokens = 24

// shrink adds an entry cut to the tokens that are left for it, its heading and frame included, if it can. It reports
// whether it did.
func (p *packer) shrink(b *block, e *entry, left int, why string) bool {
	frame := p.price(b, e).tokens - e.cost.tokens
	room := min(left, p.limit.tokens-p.spent.tokens) - frame
	if room < minCutTokens {
		return false
	}
	text, tokens := e.text, e.tokens
	// The cost is more than the room, or the entry would fit.
	for n := utf8.RuneCountInString(text) * room / e.cost.tokens; n > max(1, e.minChars); n = n * 9 / 10 {
		e.text, e.tokens = shortened(text, n), 0
		p.prepare(b.slot.Style, e)
		if e.cost.tokens <= room {
			e.trimReason = why
			p.include(b, e, p.price(b, e), "")
			return true
		}
	}
	e.text, e.tokens = text, tokens // the manifest has its whole size
	p.prepare(b.slot.Style, e)
	return false
}
