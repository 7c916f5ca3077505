package prompt_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/prompt"
	"github.com/throughline/throughline/internal/prompt/pack"
	"github.com/throughline/throughline/internal/testing/check"
)

// checkNoSummary holds that a session without a summary is named in the manifest, with the reason.
func (c historyCase) checkNoSummary(t *testing.T, session string) {
	for _, i := range blockOf(t, c.prompt, "session_summaries").Items {
		if i.SessionID == session {
			if i.Decision != pack.Dropped || i.Reason != "it had no summary then" {
				t.Errorf("item %+v", i)
			}
			return
		}
	}
	t.Errorf("the manifest does not name %s, which has no summary", session)
}

// checkManifest compares the manifest with what the prompt has, and with what it may have.
func (c historyCase) checkManifest(t *testing.T) {
	named := map[string]bool{}
	for _, b := range c.prompt.Manifest.Blocks {
		for _, i := range b.Items {
			named[i.SessionID] = true
			if i.SessionID != "" && i.SessionID != c.request.SessionID &&
				!slices.ContainsFunc(c.visible, func(s conversation.Session) bool { return s.ID == i.SessionID }) {
				t.Errorf("%s names a session that it may not tell of: %+v", b.Name, i)
			}
			if i.Decision == pack.Dropped && strings.Contains(i.Reason, "budget") {
				t.Errorf("%s: the budget is not spent: %+v", b.Name, i)
			}
		}
	}
	if c.recipe.Name == prompt.TieredHistory || c.recipe.Name == prompt.Unified {
		for _, s := range slices.Concat(c.full, newestOf(c.summaries)) {
			if !named[s.session.ID] {
				t.Errorf("the manifest does not name %s", s.session.ID)
			}
		}
	}
	if len(c.prompt.Manifest.Warnings) > 0 {
		t.Errorf("warnings %q", c.prompt.Manifest.Warnings)
	}
	messages, summaries := readShown(c.text)
	c.checkSummaryItems(t, summaries)
	c.checkConversationItems(t, messages)
}

func newestOf(summaries []summaryOf) []sitting {
	all := make([]sitting, len(summaries))
	for i, s := range summaries {
		all[i] = s.newest
	}
	return all
}

// checkSummaryItems compares the summaries that the manifest includes with those that the prompt has.
func (c historyCase) checkSummaryItems(t *testing.T, shown []shownSummary) {
	want, got := []string{}, []string{}
	for _, s := range shown {
		want = append(want, s.id)
	}
	for _, name := range []string{"recent_activity", "session_summary", "session_summaries"} {
		for _, b := range c.prompt.Manifest.Blocks {
			for _, i := range b.Items {
				if b.Name == name && i.Decision != pack.Dropped && !strings.HasPrefix(i.Reason, "its last messages") {
					got = append(got, i.SessionID)
				}
			}
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	checkEqual(t, "summaries in the manifest", want, got)
}

// checkConversationItems compares how many messages of each session the manifest and the prompt tell.
func (c historyCase) checkConversationItems(t *testing.T, shown []shownMessage) {
	want, got := map[string]int{}, map[string]int{}
	quoted := func(session string, _ int) bool { return c.isQuoted(session) } // how many it quotes is not recorded
	for _, m := range shown {
		want[c.byMark[m.id].SessionID]++
	}
	for _, b := range c.prompt.Manifest.Blocks {
		for _, i := range b.Items {
			one := prompt.Block{Items: []prompt.Item{i}}
			switch {
			case b.Name == "current_message":
			case i.Kind == "conversation", i.Kind == "exchange", i.Kind == "message":
				if n := included(one); n > 0 {
					got[i.SessionID] += n
				}
			}
		}
	}
	maps.DeleteFunc(want, quoted)
	maps.DeleteFunc(got, quoted)
	check.Same(t, want, got, "messages of sessions: the prompt (-) and the manifest (+)")
}

// isQuoted reports whether recent activity quotes messages of a session.
func (c historyCase) isQuoted(session string) bool {
	for _, b := range c.prompt.Manifest.Blocks {
		for _, i := range b.Items {
			if i.SessionID == session && strings.HasPrefix(i.Reason, "its last messages") {
				return true
			}
		}
	}
	return false
}
