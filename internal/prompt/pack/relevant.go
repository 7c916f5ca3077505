package pack

import (
	"cmp"
	"slices"

	"github.com/throughline/throughline/internal/prompt/block"
)

// addRest adds the blocks that are neither required nor protected, in the order of value. Where there is a block of
// what was found, half of what the session's messages leave is kept for it, so that nothing that stands in every prompt
// crowds out what this message asks for.
func (p *packer) addRest(blocks []*Block) {
	if p.Previous.Continues {
		p.packPrefixFirst(blocks)
		return
	}
	isRelevant := func(b *Block) bool { return b.Relevant }
	own := slices.IndexFunc(blocks, func(b *Block) bool { return b.Block == block.Recent }) + 1
	p.addBlocks(blocks[:own])
	rest := blocks[own:]
	p.keep(p.forFound(rest), reservedForRelevant, func() {
		p.addBlocks(filter(rest, func(b *Block) bool { return !b.Relevant }))
	})
	p.addBlocks(filter(rest, isRelevant))
	p.addLeftovers(blocks)
}

func filter(blocks []*Block, keeps func(*Block) bool) []*Block {
	return slices.DeleteFunc(slices.Clone(blocks), func(b *Block) bool { return !keeps(b) })
}

// keep adds blocks while some of the budget is kept for others.
func (p *packer) keep(tokens int, what string, add func()) {
	if tokens == 0 {
		add()
		return
	}
	whole, full := p.limit, p.fullReason
	p.limit.Tokens, p.reserved = p.limit.Tokens-tokens, what
	add()
	p.limit, p.fullReason, p.reserved = whole, full, ""
}

const (
	reservedForRelevant = "what was found for the message"
	reservedForTurns    = "the session's messages and what changes with each turn"
)

// framePerItem is about what a candidate takes besides its text.
const framePerItem = 8

// forFound is what is kept for what was found: about what its candidates take, at most half of what is left.
func (p *packer) forFound(blocks []*Block) int {
	found := expected(filter(blocks, func(b *Block) bool { return b.Relevant }))
	return min(found, (p.limit.Tokens-p.spent.Tokens)/2)
}

// expected is about what the candidates of blocks take that are not decided about.
func expected(blocks []*Block) (tokens int) {
	for _, b := range blocks {
		for i := range b.Items {
			if item := &b.Items[i]; item.Decision == "" && item.Deferred == "" {
				tokens += cmp.Or(item.Tokens, len(item.Text)/4) + framePerItem
			}
		}
	}
	return tokens
}
