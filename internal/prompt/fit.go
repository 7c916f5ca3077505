package prompt

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/throughline/throughline/internal/fault"
)

// fitter takes entries into a prompt, the most valuable first, until its budget is spent. What is left out when the
// budget is reached is therefore always the least valuable: the lowest blocks whole before any entry of a higher one,
// and within a block the lowest entries first (design 4.4).
type fitter struct {
	page
	limit cost
	// budget is the limit without what goes through besides.
	budget cost
	spent  cost
	// messageApart leaves the current message out of the limit.
	messageApart bool
	// full says which budget kept an entry out, empty until one does; nothing of lower value goes in behind it.
	full string
	// told counts the messages of each session that are in whole.
	told map[string]int
}

// Reasons of the manifest, in plain words.
const (
	whole        = "fits whole"
	cutToBlock   = "cut to what its block may take"
	cutToBudget  = "cut to what the budget leaves"
	leftByBudget = "the budget left room for it"
	toldWhole    = "its messages are told whole"
)

// fit decides about every entry. Blocks come in order of value. Its error is Invalid, naming the budget and the need,
// where what can't be dropped does not fit.
func (f *fitter) fit(blocks []*block) error {
	f.budget, f.told = f.limit, map[string]int{}
	for _, b := range blocks {
		b.limit = blockLimit(b.slot.Cap, f.limit)
		if b.slot.Required {
			f.require(b)
		}
		if b.slot.Block == blockCurrent && f.messageApart {
			f.limit = f.limit.raised(b.cost)
		}
	}
	if !f.spent.within(f.limit) {
		return f.tooSmall()
	}
	for _, b := range blocks {
		if b.slot.Protected {
			f.fill(b)
		}
	}
	for _, b := range blocks {
		if !b.slot.Required && !b.slot.Protected {
			f.fill(b)
		}
	}
	for _, b := range blocks {
		if b.slot.Cap.Fill {
			f.spill(b)
		}
	}
	for _, b := range blocks {
		f.retract(b)
	}
	return nil
}

// retract takes out the summary of a conversation that the last tokens have told whole behind it.
func (f *fitter) retract(b *block) {
	if len(b.entries) == 1 && b.entries[0].in() && f.isTold(b.entries[0]) {
		b.entries[0].out(toldWhole)
		b.opened, b.cost = false, cost{}
	}
}

// isTold reports whether an entry stands for messages that are all told.
func (f *fitter) isTold(e *entry) bool { return e.stands > 0 && f.told[e.sessionID] >= e.stands }

func (f *fitter) tooSmall() error {
	if f.limit.chars > 0 && f.spent.chars > f.limit.chars {
		return fault.InvalidField("message", fmt.Sprintf("does not fit: the budget is %d characters, and the message needs %d with the role and what else is never dropped",
			f.limit.chars, f.spent.chars))
	}
	return fault.InvalidField("message", fmt.Sprintf("does not fit: the budget is %d tokens, and the message needs %d with the role and what else is never dropped",
		f.limit.tokens, f.spent.tokens))
}

// blockLimit is a block's cap in tokens, 0 for none.
func blockLimit(c Cap, budget cost) int {
	limit := c.Tokens
	if share := budget.tokens * c.Percent / 100; c.Percent > 0 && (limit == 0 || share < limit) {
		limit = share
	}
	return limit
}

// require takes a block in whatever it costs.
func (f *fitter) require(b *block) {
	for _, e := range b.entries {
		if e.decision == "" {
			f.compose(b.slot.Style, e)
			f.admit(b, e, f.price(b, e), "never dropped")
		}
	}
}

// fill takes a block's entries in, until its cap or the budget keeps one out.
func (f *fitter) fill(b *block) {
	f.openEmpty(b)
	capped := false
	for _, e := range b.entries {
		switch {
		case e.decision != "":
		case f.full != "":
			e.out(f.full)
		case f.isTold(e):
			e.out(toldWhole)
		case e.spare != "":
			e.overCap = true
			e.out(e.spare)
		case capped:
			e.overCap = true
			e.out(capReason(b))
		default:
			capped = f.offer(b, e)
		}
	}
}

// offer takes one entry in or keeps it out, and reports whether its block's cap is reached.
func (f *fitter) offer(b *block, e *entry) (capped bool) {
	f.compose(b.slot.Style, e)
	if !e.says() {
		e.out("nothing to tell")
		return false
	}
	price := f.price(b, e)
	if b.limit > 0 && b.cost.add(price).tokens > b.limit {
		if !b.slot.Cap.Cut || !f.shorten(b, e, b.limit-b.cost.tokens, cutToBlock) {
			e.overCap = true
			e.out(capReason(b))
		}
		return true
	}
	if !f.spent.add(price).within(f.limit) {
		reason := f.fillUp(price)
		if !b.slot.Cap.Cut || !f.shorten(b, e, f.limit.tokens, cutToBudget) {
			e.out(reason)
		}
		return false
	}
	f.admit(b, e, price, whole)
	return false
}

// fillUp notes which budget something does not fit into, and returns it as a reason.
func (f *fitter) fillUp(price cost) string {
	f.full = fmt.Sprintf("the budget of %d tokens was reached", f.budget.tokens)
	if f.spent.add(price).tokens <= f.limit.tokens {
		f.full = fmt.Sprintf("the budget of %d characters was reached", f.budget.chars)
	}
	return f.full
}

func capReason(b *block) string {
	return fmt.Sprintf("over the %d tokens of its block", b.limit)
}

// price is what taking an entry in adds, with the heading and the conversation's frame where it is the first.
func (f *fitter) price(b *block, e *entry) cost {
	c := e.cost
	if !b.opened && !e.apart {
		c = c.add(f.headingCost(b.slot))
	}
	if e.group != nil && !e.group.opened {
		c = c.add(f.groupCost(e.group))
	}
	return c
}

func (f *fitter) admit(b *block, e *entry, price cost, reason string) {
	b.opened = b.opened || !e.apart
	if e.group != nil && !e.group.opened {
		e.group.opened = true
		e.group.cost = f.groupCost(e.group)
	}
	b.cost = b.cost.add(price)
	f.spent = f.spent.add(price)
	e.decision, e.reason = Included, cmp.Or(e.why, reason)
	if e.cut != "" {
		e.decision, e.reason = Trimmed, e.cut
	}
	if e.kind == kindMessage && e.decision == Included {
		f.told[e.sessionID]++
	}
}

// openEmpty lets a block that has words for having nothing say them.
func (f *fitter) openEmpty(b *block) {
	if b.slot.Empty == "" || b.off || f.full != "" || slices.ContainsFunc(b.entries, func(e *entry) bool { return e.decision == "" }) {
		return
	}
	price := f.headingCost(b.slot).add(f.constant(b.slot.Empty + "\n"))
	if !f.spent.add(price).within(f.limit) {
		f.fillUp(price)
		return
	}
	b.opened = true
	b.cost = b.cost.add(price)
	f.spent = f.spent.add(price)
}

// spill gives a block what the budget leaves: the entries that its cap alone kept out, then those that are spare, until
// one does not fit.
func (f *fitter) spill(b *block) {
	for _, spare := range []bool{false, true} {
		for _, e := range b.entries {
			if f.full != "" || e.overCap && (e.spare != "") == spare && !f.squeeze(b, e) {
				return
			}
		}
	}
}

// squeeze takes an entry in that was kept out, where there is room, and reports whether it did.
func (f *fitter) squeeze(b *block, e *entry) bool {
	f.compose(b.slot.Style, e)
	price := f.price(b, e)
	if !e.says() || !f.spent.add(price).within(f.limit) {
		return false
	}
	f.admit(b, e, price, leftByBudget)
	return true
}

// leastCut is the fewest tokens that a shortened entry is worth telling in.
const leastCut = 24

// shorten cuts an entry to the tokens that are left to it, its heading and frame included, and reports whether it went
// in.
func (f *fitter) shorten(b *block, e *entry, left int, why string) bool {
	frame := f.price(b, e).tokens - e.cost.tokens
	room := min(left, f.limit.tokens-f.spent.tokens) - frame
	if room < leastCut || len(e.fields) > 0 {
		return false
	}
	text, tokens := e.text, e.tokens
	whole := strings.TrimSpace(clean(e.text))
	runes := utf8.RuneCountInString(whole)
	for n := min(runes-1, runes*room/max(e.cost.tokens, 1)); n > max(1, e.least); n = n * 9 / 10 {
		e.text, e.tokens = shortened(whole, n), 0
		f.compose(b.slot.Style, e)
		if price := f.price(b, e); e.cost.tokens <= room && f.spent.add(price).within(f.limit) {
			e.cut = why
			f.admit(b, e, price, "")
			return true
		}
	}
	e.text, e.tokens = text, tokens // the manifest tells of it as it is
	f.compose(b.slot.Style, e)
	return false
}

func sortByPlace(entries []*entry) {
	slices.SortStableFunc(entries, func(a, b *entry) int { return cmp.Compare(a.place, b.place) })
}
