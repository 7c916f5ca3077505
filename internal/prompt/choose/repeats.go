package choose

import (
	"cmp"
	"slices"
	"strings"

	"github.com/throughline/throughline/internal/word"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/prompt/block"
	"github.com/throughline/throughline/internal/quote"
)

// reasonSafety is the reason of what says nothing but a fact that safety has.
const reasonSafety = "repeats " + block.Safety

// reasonReceipt is the reason of what says nothing but that something was received.
const reasonReceipt = "it says only that something was received"

// repeatsSafety reports whether a text says nothing but a fact that safety has. A fact that came up after the sitting
// began is written after the stable prefix: it removes nothing from the prefix, which would have to be cached again.
func (c *chooser) repeatsSafety(text string, isVolatile bool) bool {
	facts := c.settled
	if isVolatile {
		facts = c.safety
	}
	return slices.ContainsFunc(facts, func(fact quote.Statement) bool { return fact.IsRestatedBy(text) })
}

// withoutSafety returns a summary without the sentences that say nothing but a fact that safety has.
func (c *chooser) withoutSafety(text string, isVolatile bool) string {
	if len(c.safety) == 0 {
		return text
	}
	var kept []string
	for _, sentence := range strings.SplitAfter(text, ". ") {
		if !c.repeatsSafety(sentence, isVolatile) {
			kept = append(kept, sentence)
		}
	}
	return strings.TrimSpace(strings.Join(kept, ""))
}

// leaveRepeatsOfSafety leaves out a message of the user that says nothing but a fact that safety has.
func (c *chooser) leaveRepeatsOfSafety(e *Candidate) *Candidate {
	if e.Left == "" && e.Role == conversation.RoleUser && c.repeatsSafety(e.Text, e.Fresh) {
		e.leave(reasonSafety)
	}
	return e
}

// leaveReceipts leaves out the messages of a conversation's frame if those that are not left out yet say nothing but
// that others were received. The reason is that of the others, if there are any.
func leaveReceipts(candidates []*Candidate) {
	reason := ""
	for _, e := range candidates {
		if e.Left == "" && !word.IsReceipt(e.Text) {
			return
		}
		reason = cmp.Or(e.Left, reason)
	}
	for _, e := range candidates {
		if e.Left == "" {
			e.leave(cmp.Or(reason, reasonReceipt))
		}
	}
}
