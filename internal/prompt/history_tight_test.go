package prompt_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/prompt/pack"
)

// checkTight holds that tiered-history fills its tiers in order and stops at the first that does not fit: the thread
// keeps its newest messages, and nothing smaller that comes after what is left out is in the prompt.
func checkTight(t *testing.T, c historyCase) {
	messages, summaries := readShown(c.prompt.System, "<conversation ")
	shown, left := ids(messages), []string{}
	for _, m := range messages {
		c.checkTime(t, m)
		c.checkTag(t, attributesOf(m.heading), c.byMark[m.id].Timestamp, m.id)
	}
	for _, m := range c.fillingOrder() {
		switch isShown := slices.Contains(shown, mark(&m)); {
		case !isShown:
			left = append(left, m.Content)
		case len(left) > 0:
			t.Errorf("%s is in the prompt, but %.12q before it is not", mark(&m), left[0])
		}
	}
	for _, s := range c.summaries {
		if s.session.Summary == nil {
			continue
		}
		isShown := slices.ContainsFunc(summaries, func(shown shownSummary) bool { return shown.id == s.session.ID })
		switch {
		case !isShown:
			left = append(left, s.session.Summary.Text)
		case len(left) > 0:
			t.Errorf("the summary of %s is in the prompt, but %.12q before it is not", s.session.ID, left[0])
		}
	}
	total, budget := c.prompt.Tokens.Total, c.prompt.Tokens.Budget
	if total > budget {
		t.Errorf("%d tokens of %d", total, budget)
	}
	if len(left) > 0 && total+tokens.Count(left[0])+60 < budget {
		t.Errorf("%q is left out with %d tokens of %d", left[0], total, budget)
	}
	c.checkLeftOut(t, len(left) > 0)
}

// fillingOrder are the messages of tiers 1 and 2 in the order in which they take the budget: the newest of the thread
// first, then today's other sittings.
func (c historyCase) fillingOrder() []conversation.Message {
	var thread, today []conversation.Message
	for i, s := range c.full {
		if i < c.fullThread {
			thread = append(thread, s.shown()...)
			continue
		}
		newest := s.shown()
		slices.Reverse(newest)
		today = append(today, newest...)
	}
	slices.SortStableFunc(thread, func(a, b conversation.Message) int { return b.Timestamp.Compare(a.Timestamp) })
	return append(thread, today...)
}

// checkLeftOut holds that the manifest names the budget as the reason for what it leaves out, and leaves out nothing
// where everything fits.
func (c historyCase) checkLeftOut(t *testing.T, leavesOut bool) {
	named, byBudget := map[string]bool{}, false
	for _, b := range c.prompt.Manifest.Blocks {
		for _, i := range b.Items {
			named[i.SessionID] = true
			if i.Decision == pack.Included || i.Reason == "it had no summary then" {
				continue
			}
			if !strings.Contains(i.Reason, "budget") {
				t.Errorf("%s: %+v", b.Name, i)
			}
			byBudget = true
		}
	}
	if byBudget != leavesOut {
		t.Errorf("the budget is a reason: %v; something is left out: %v", byBudget, leavesOut)
	}
	// A full budget ends the reads, so that only the first page of sessions has to be known.
	for _, s := range slices.Concat(c.full, newestOf(c.summaries))[:min(len(c.full)+len(c.summaries), 20)] {
		if !named[s.session.ID] {
			t.Errorf("the manifest does not name %s", s.session.ID)
		}
	}
}
