package pack

import (
	"cmp"
	"slices"
	"time"

	"github.com/throughline/throughline/internal/prompt/block"
)

// A model's server keeps what it computed for the beginning of a prompt and uses it again for a prompt that begins
// alike. This costs a tenth and takes less time. A prompt with a stable prefix therefore has what changes with each
// turn in a volatile suffix, after the session's messages, and keeps what comes before them the same from turn to turn
// (docs/adr/0025):
//
//   - The window of recent_messages moves in steps. What falls out of it is in thread_history.
//   - What came up in the meantime is in the suffix: a new memory until the next day, a new summary until the next
//     sitting.
//   - Nothing in the prefix has an age in minutes, and its items are in the order in which they came up.
//   - While the session continues, the suffix has a share of the budget of its own, so that what it takes does not
//     decide what the prefix has.
//   - While a server may have the prefix in its cache, the suffix is small beside it, though the budget has room for
//     more. A message that asks for something from elsewhere gets that room.

const (
	// cacheReach is how long a server may keep the beginning of a prompt. OpenAI keeps it for half an hour and longer.
	cacheReach = time.Hour
	// minCachedTokens is the length from which a server keeps it.
	minCachedTokens = 1024
)

// The shares of a prompt with a stable prefix whose session continues.
const (
	// budgetSteps is how many steps a budget has. Room for the session's messages is kept in whole steps, sessionSteps of
	// them where nothing is known of a full window.
	budgetSteps, sessionSteps = 12, 3
	// suffixOfPrefix is the part, one in so many, of the stable prefix that the volatile suffix may take. The messages
	// found may take half a step in any case.
	suffixOfPrefix = 5
	// standingParts is how many parts the room of the standing blocks has. One is for what came up in the meantime.
	standingParts = 6
)

// Previous says what came before a prompt that should have a stable prefix.
type Previous struct {
	// Continues is set if a prompt with the same prefix came before in the session.
	Continues bool
	// Cached is set if that may still be in a server's cache.
	Cached bool
	// Asks is set if the message asks for something that was said elsewhere.
	Asks bool
	// FullWindow is about what the session's messages take when their window is full, 0 if nothing is known of that.
	FullWindow int
}

// PreviousTurn says what came before a prompt of this budget whose session's last message is so old.
func PreviousTurn(budget Cost, age time.Duration) Previous {
	continues := budget.Tokens >= minCachedTokens
	return Previous{Continues: continues, Cached: continues && age <= cacheReach}
}

// packPrefixFirst packs the blocks of a session that continues, after the session's messages, in the order of value.
// The blocks of the prefix that are less valuable than what was found get a room that does not depend on what the
// suffix takes, unless that is much, and that the session's messages narrow in steps. The standing blocks keep their
// part of it, whatever the transcripts have. What was found and the rest of the suffix get what is then left: if a
// server may have the prefix in its cache, a share of that at most, unless the message asks for something from
// elsewhere.
func (p *packer) packPrefixFirst(blocks []*Block) {
	i := slices.IndexFunc(blocks, func(b *Block) bool { return b.Volatile && b.FillRest && !b.Fresh })
	standing := expected(filter(blocks, func(b *Block) bool { return b.Standing && !b.Fresh }))
	p.forFresh = p.standingRoom() - min(standing, p.forStable())
	p.addBlocks(blocks[:i])
	suffix, session := tokensOf(blocks, (*Block).isVolatile), tokensOf(blocks, (*Block).isOfSession)
	full := cmp.Or(p.Previous.FullWindow, sessionSteps*p.step())
	forSession := (max(session, full) + p.step() - 1) / p.step() * p.step()
	left := p.limit.Tokens - (p.spent.Tokens - suffix - session) - forSession
	// Half is for what was found, and a step for the rest of the suffix. Where that takes more, half of what the session's
	// messages do not use yet has to be enough for it.
	forSuffix := left/2 + max(p.step(), suffix-(forSession-session)/2)
	p.keep(forSuffix-suffix+forSession-session, reservedForTurns, func() {
		for _, b := range filter(blocks[i:], func(b *Block) bool { return b.isStable() && !b.Required && !b.Protected }) {
			if !b.Standing {
				b.limitTo(p.limit.Tokens - p.spent.Tokens - p.standingLeft(false))
			}
			p.addBlock(b)
		}
		p.addLeftovers(filter(blocks, (*Block).isStable))
	})
	isCacheable := p.spent.Tokens-tokensOf(blocks, (*Block).isVolatile) >= minCachedTokens
	cached := p.Previous.Cached && !p.Previous.Asks && isCacheable
	for _, b := range filter(blocks[i:], (*Block).isVolatile) {
		if b.Capped = cached; cached {
			b.limitTo(max(p.suffixLeft(blocks), p.step()/2-b.Cost.Tokens))
		}
		p.addBlock(b)
	}
	if cached {
		p.limit.Tokens = min(p.limit.Tokens, p.spent.Tokens+p.suffixLeft(blocks))
	}
	p.addLeftovers(filter(blocks, func(b *Block) bool { return b.Volatile || !isCacheable }))
}

func (p *Plan) step() int { return max(p.Budget.Tokens/budgetSteps, 1) }

// forStable is the most that the standing blocks take in the stable prefix of a session that continues.
func (p *Plan) forStable() int { return p.standingRoom() - p.standingRoom()/standingParts }

// standingLeft is what the standing blocks may still take. In a session that continues, what came up in the meantime
// has a room of its own: a part, and what the others do not need. So it does not decide what the stable prefix has.
func (p *packer) standingLeft(fresh bool) int {
	switch {
	case !p.Previous.Continues:
		return p.standingRoom() - p.standing - p.fresh
	case fresh:
		return p.forFresh - p.fresh
	}
	return min(p.forStable(), p.standingRoom()-p.fresh) - p.standing
}

// limitTo limits a block's tokens, besides its own cap.
func (b *Block) limitTo(tokens int) {
	if tokens = max(tokens, 1); b.MaxTokens == 0 || tokens < b.MaxTokens {
		b.MaxTokens = tokens
	}
}

// suffixLeft is what the volatile suffix may take of a budget while a server may have the prefix in its cache, without
// what it takes already. It is negative if that is more.
func (p *packer) suffixLeft(blocks []*Block) int {
	suffix := tokensOf(blocks, (*Block).isVolatile)
	return (p.spent.Tokens-suffix)/suffixOfPrefix - suffix
}

// tokensOf returns what some blocks take.
func tokensOf(blocks []*Block, of func(*Block) bool) int {
	n := 0
	for _, b := range blocks {
		if of(b) {
			n += b.Cost.Tokens
		}
	}
	return n
}

func (b *Block) isVolatile() bool { return b.Volatile }

func (b *Block) isStable() bool { return !b.Volatile }

// isOfSession reports whether a block grows with the session: its messages, and the current one.
func (b *Block) isOfSession() bool { return b.Block == block.Recent || b.Block == block.Current }
