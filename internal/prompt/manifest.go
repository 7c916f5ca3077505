package prompt

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/recall"
	"github.com/throughline/throughline/internal/recall/rank"
)

// allDegraded adds what the selection lacks to what the sources reported.
func allDegraded(sel *selection, got gathered) []recall.Degradation {
	out := slices.Clone(got.degraded)
	if sel.hasLongTerm && sel.snapshot.Profile == nil && sel.recipe.has(blockProfile) {
		out = append(out, recall.Degradation{Source: "profile", Reason: "profile missing"})
	}
	if got.access.NotMigrated || sel.session.Placement == conversation.Embedded {
		out = append(out, recall.NotMigrated)
	}
	return out
}

// Decision is what became of one item.
type Decision string

// An item is included whole, included cut, or dropped.
const (
	Included Decision = "included"
	Trimmed  Decision = "trimmed"
	Dropped  Decision = "dropped"
)

// Item is the manifest's line for one item: ids and decisions, never its text.
type Item struct {
	Kind       string  `json:"kind"`
	ID         string  `json:"id"`
	SessionID  string  `json:"sessionId,omitempty"`
	Context    string  `json:"context,omitempty"`
	OccurredAt string  `json:"occurredAt,omitempty"`
	Tokens     int     `json:"tokens"`
	Score      float64 `json:"score,omitempty"`
	// Features are the parts of a score of recall. With the intercept they add up to the logarithm of its odds.
	Features rank.Contributions `json:"features,omitempty"`
	Decision Decision           `json:"decision"`
	// Reason says why, in plain words.
	Reason string `json:"reason"`
}

// Block is the manifest's record of one block. Tokens and Chars are what it takes of the prompt, its heading included.
// Cap says its limits in words; it is empty if there are none.
type Block struct {
	Name   string `json:"name"`
	Tokens int    `json:"tokens"`
	Chars  int    `json:"chars"`
	Cap    string `json:"cap"`
	// Cacheable is true for a block in front of all that changes with each turn: a prompt of the session's next turn may
	// begin with the same text. Of such a block, what came up after the sitting began may stand behind the session's
	// messages.
	Cacheable bool   `json:"cacheable"`
	Items     []Item `json:"items"`
}

// Manifest is the record of one prompt: every block and item and its decision, the sources that were missing,
// warnings, and how many milliseconds each source took.
type Manifest struct {
	Blocks   []Block              `json:"blocks"`
	Degraded []recall.Degradation `json:"degraded"`
	Warnings []string             `json:"warnings"`
	Timings  map[string]float64   `json:"timings"`
}

// warnShare is the percentage of the budget above which the system blocks cause a warning (prompt-assembly-map,
// "Smallest 3 Improvements", 3).
const warnShare = 80

// newManifest describes a prompt: every block in the recipe's order, every item and its decision. steady is the
// recipe's.
func newManifest(blocks []*block, limit cost, got gathered, degraded []recall.Degradation, steady bool) Manifest {
	m := Manifest{
		Blocks: make([]Block, 0, len(blocks)), Degraded: append([]recall.Degradation{}, degraded...),
		Warnings: append([]string{}, got.warnings...), Timings: map[string]float64{},
	}
	system, front := 0, true
	for _, b := range blocks {
		if front = front && !b.changesEachTurn(steady); b.front == nil {
			m.Blocks = append(m.Blocks, b.manifestBlock(front))
		} else {
			m.addLate(b)
		}
		if b.slot.Style.Message || b.slot.Block == blockCurrent {
			continue
		}
		system += b.cost.tokens
		if b.slot.Required && b.maxTokens > 0 && b.cost.tokens > b.maxTokens {
			m.Warnings = append(m.Warnings,
				fmt.Sprintf("%s takes %d tokens; its share is %d", b.slot.Block, b.cost.tokens, b.maxTokens))
		}
		if left := b.droppedCount(); b.slot.Protected && left > 0 {
			m.Warnings = append(m.Warnings, fmt.Sprintf("%d of %d in %s are left out", left, len(b.entries), b.slot.Block))
		}
	}
	if system*100 > limit.tokens*warnShare {
		m.Warnings = append(m.Warnings, fmt.Sprintf("the system blocks take %d of %d tokens, more than %d%% of the budget",
			system, limit.tokens, warnShare))
	}
	for source, took := range got.timings {
		m.Timings[source] = math.Round(float64(took)/float64(10*time.Microsecond)) / 100
	}
	return m
}

// addLate adds the late entries of a block to what the manifest has of it.
func (m *Manifest) addLate(b *block) {
	late := b.manifestBlock(false)
	i := slices.IndexFunc(m.Blocks, func(of Block) bool { return of.Name == late.Name })
	of := &m.Blocks[i]
	of.Tokens, of.Chars, of.Items = of.Tokens+late.Tokens, of.Chars+late.Chars, append(of.Items, late.Items...)
}

// changesEachTurn reports whether a block's text depends on the current message or on the time.
func (b *block) changesEachTurn(steady bool) bool {
	switch b.slot.Block {
	case blockNow, blockActivity, blockRelevantMemories, blockMessages, blockCurrent:
		return true
	case blockThread, blockSessions:
		return !steady
	}
	return b.late
}

// droppedCount returns how many entries of the block are not in the prompt.
func (b *block) droppedCount() int {
	n := 0
	for _, e := range b.entries {
		if !e.included() {
			n++
		}
	}
	return n
}

func (b *block) manifestBlock(cacheable bool) Block {
	out := Block{
		Name: b.slot.Block, Tokens: b.cost.tokens, Chars: b.cost.chars, Cap: b.capText(), Cacheable: cacheable,
		Items: []Item{},
	}
	told := map[*group]bool{}
	for _, e := range b.entries {
		switch {
		case e.group == nil:
			out.Items = append(out.Items, e.manifestItem())
		case !told[e.group]:
			told[e.group] = true
			out.Items = append(out.Items, b.manifestGroup(e.group))
		}
	}
	return out
}

func (e *entry) manifestItem() Item {
	item := Item{
		Kind: e.kind, ID: e.id, SessionID: e.sessionID, Context: e.context, Tokens: e.cost.tokens,
		Score: math.Round(e.score*1e4) / 1e4, Decision: e.decision, Reason: e.reason,
	}
	if e.features != nil && e.decision != Dropped {
		item.Score, item.Features = math.Round(e.score*1e6)/1e6, e.features
	}
	if item.Tokens == 0 {
		item.Tokens = cmp.Or(e.tokens, (len(e.text)+3)/4) // what is out and was never counted is estimated
	}
	if !e.at.IsZero() {
		item.OccurredAt = conversation.FormatTime(e.at)
	}
	return item
}

// manifestGroup is one line for a conversation: how many of its messages are in the prompt, and why the others are
// not.
func (b *block) manifestGroup(g *group) Item {
	item := Item{
		Kind: g.kind, ID: g.id, SessionID: g.sessionID, Context: g.context, Decision: Dropped,
		OccurredAt: conversation.FormatTime(g.began), Tokens: g.cost.tokens,
	}
	total, in, out := 0, 0, ""
	for _, e := range b.entries {
		if e.group != g {
			continue
		}
		total++
		if e.included() {
			in++
			item.Tokens += e.cost.tokens
		} else {
			out = cmp.Or(out, e.reason)
		}
	}
	switch {
	case in == total && g.kind == "summary":
		item.Decision, item.Reason = Included, "its summary"
	case in == total && g.unread != "":
		item.Decision = Trimmed
		item.Reason = fmt.Sprintf("its last %s; those before were not read: %s", countText(total, "message"), g.unread)
	case in == total:
		item.Decision, item.Reason = Included, fmt.Sprintf("all of its %s", countText(total, "message"))
	case in > 0 && g.unread != "":
		item.Decision = Trimmed
		item.Reason = fmt.Sprintf("%d of its last %d messages; the others: %s; those before were not read: %s",
			in, total, out, g.unread)
	case in > 0:
		item.Decision, item.Reason = Trimmed, fmt.Sprintf("%d of its %d messages; the others: %s", in, total, out)
	default:
		item.Reason = out
	}
	return item
}

// capText says a block's limits in words.
func (b *block) capText() string {
	c := b.slot.Cap
	var words []string
	if c.Items > 0 {
		words = append(words, fmt.Sprintf("%d items", c.Items))
	}
	if c.Chars > 0 {
		words = append(words, fmt.Sprintf("%d characters each", c.Chars))
	}
	if b.maxTokens > 0 {
		tokens := fmt.Sprintf("%d tokens", b.maxTokens)
		if c.FillRest && !b.bounded {
			tokens += " and what the budget leaves"
		}
		words = append(words, tokens)
	}
	return strings.Join(words, ", ")
}
