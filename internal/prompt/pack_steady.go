package prompt

import "slices"

// The shares of a steady prompt in which a session goes on.
const (
	// budgetSteps is how many steps a budget has. Room for what changes is kept in whole steps.
	budgetSteps = 12
	// lateSteps and sessionSteps are the least that is kept for the late blocks and for the session's messages.
	lateSteps, sessionSteps = 2, 3
	// lateOfFront is the part, one in so many, of what stands in front that the late blocks may take. The messages found
	// may take half a step in any case.
	lateOfFront = 5
)

// packSteadily packs the blocks of a session that goes on, in the order of value. The blocks in front that are less
// valuable than the messages found get a room that does not depend on what the late blocks take, and that the session's
// messages narrow in steps. The messages found and the late blocks of less value get what is then left. If a server may
// have what stands in front in its cache, they get a share of that at most.
func (p *packer) packSteadily(blocks []*block, inCache bool) {
	i := slices.IndexFunc(blocks, func(b *block) bool { return b.late && b.slot.Cap.FillRest })
	p.addBlocks(blocks[:i])
	p.packFront(blocks, blocks[i:])
	isCacheable := p.spent.tokens-tokensOf(blocks, (*block).isLate) >= minCachedTokens
	inCache = inCache && isCacheable
	for _, b := range blocks[i:] {
		if b.late {
			b.maxTokens, b.bounded = p.lateRoom(blocks, b, inCache), inCache
			p.addBlock(b)
		}
	}
	for _, b := range blocks {
		if b.slot.Cap.FillRest && !inCache && (b.late || !isCacheable) {
			p.addLeftovers(b)
		}
	}
}

// packFront packs the rest of the blocks that stand in front. Once the budget is full, it drops them.
func (p *packer) packFront(blocks, rest []*block) {
	whole, full := p.limit, p.fullReason
	late, session := tokensOf(blocks, (*block).isLate), tokensOf(blocks, (*block).isOfSession)
	p.limit.tokens -= p.stepUp(late+p.step()/2, lateSteps) - late
	p.limit.tokens -= p.stepUp(session, sessionSteps) - session
	front := slices.DeleteFunc(slices.Clone(rest), (*block).isLate)
	p.addBlocks(front)
	for _, b := range front {
		if b.slot.Cap.FillRest {
			p.addLeftovers(b)
		}
	}
	p.limit, p.fullReason = whole, full
}

func (p *packer) step() int { return max(p.budget.tokens/budgetSteps, 1) }

// stepUp rounds tokens up to whole steps, to so many at least.
func (p *packer) stepUp(tokens, least int) int {
	return max((tokens+p.step()-1)/p.step(), least) * p.step()
}

// lateRoom is how many tokens a late block may take.
func (p *packer) lateRoom(blocks []*block, b *block, inCache bool) int {
	if !inCache {
		return b.maxTokens
	}
	late := tokensOf(blocks, (*block).isLate)
	room := max((p.spent.tokens-late)/lateOfFront-late, p.step()/2-b.cost.tokens, 1)
	if b.maxTokens > 0 {
		room = min(room, b.maxTokens)
	}
	return room
}

// tokensOf returns what some blocks take.
func tokensOf(blocks []*block, of func(*block) bool) int {
	n := 0
	for _, b := range blocks {
		if of(b) {
			n += b.cost.tokens
		}
	}
	return n
}

func (b *block) isLate() bool { return b.late }

// isOfSession reports whether a block grows with the session: its messages, and the current one.
func (b *block) isOfSession() bool {
	return b.slot.Block == blockRecent || b.slot.Block == blockCurrent
}
